import type { DataAccess, Scope } from '../../src/core/scopes.ts';

/** What the credential of a task may do. */
export interface TaskGrant {
  readonly websites: readonly string[];
  readonly scopes: readonly Scope[];
  readonly dataAccess: readonly DataAccess[];
  /** The operator in whose name the credential writes. */
  readonly authors?: readonly string[];
}

/** Column by column what the SQL of a task found. A list stands for several values. */
export type Facts = Readonly<Record<string, string | readonly string[]>>;

/**
 * A task in the form of tau-bench: what the user says, and how an attempt is judged. In every text, `{column}` stands
 * for a fact of the data at the start of the attempt. No answer is written here.
 */
export interface AgentTask {
  readonly id: string;
  readonly kind: 'read' | 'count' | 'hand-over' | 'write' | 'injection';
  readonly grant: keyof typeof GRANTS;
  readonly instructions: string;
  /** SQL for one row of facts. It reads the tables and no view or function of the gateway. */
  readonly facts: string;
  /** A write that the credential makes before the attempt. */
  readonly initial_write?: { readonly path: string; readonly body: Readonly<Record<string, string>> };
  /** Each claim must stand in the answer, or begin it after `^`. `|` separates words that say the same. */
  readonly communicate_info: readonly string[];
  /** Nowhere in the last message. */
  readonly never_communicate?: readonly string[];
  /** The exact difference between the records before and after the attempt. The default is none. */
  readonly db?: readonly string[];
  /** Calls, and bytes of their answers, over MCP. */
  readonly budget: { readonly calls: number; readonly bytes: number };
}

const READS = [
  ...['website_read', 'conversation_read', 'contact_read', 'contact_read_pii', 'message_content_read', 'file_read'],
  ...['visitor_notes_read', 'internal_notes_read', 'directory_read', 'live_read', 'reports_read', 'config_read'],
] as const satisfies readonly Scope[];
const ALL_DATA = ['message_content', 'pii', 'internal_notes'] as const;

export const GRANTS = {
  us: { websites: ['web_1_1'], scopes: READS, dataAccess: ALL_DATA },
  both: { websites: ['web_1_1', 'web_1_2'], scopes: READS, dataAccess: ALL_DATA },
  /** Conversations without the people in them. */
  anonymous: { websites: ['web_1_1'], scopes: ['website_read', 'conversation_read'], dataAccess: [] },
  writer: {
    websites: ['web_1_1'],
    scopes: [...READS, 'visitor_notes_write', 'conversation_update'],
    dataAccess: ALL_DATA,
    authors: ['opr_1_1_3'],
  },
} as const satisfies Record<string, TaskGrant>;
