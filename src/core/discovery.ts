import type { GuideName } from './guides.ts';
import type { Requirement } from './scopes.ts';

export interface Discovery {
  /** The operations that the credential can call, without those that have no MCP tool. */
  operations(): OperationSummary[];
  /** Every operation of the gateway, with what the credential lacks for it. */
  access(): OperationAccess[];
  guides(): GuideName[];
  /** Null if the guide does not exist or the caller may not read it. */
  guide(name: string): string | null;
  page(id: string): string;
  /** The app’s quota. Undefined while the store cannot be reached. */
  quota(): { readonly perMinute: number; readonly burst: number } | undefined;
}

export interface OperationSummary {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly kind: 'read' | 'write';
  readonly scopes: readonly string[];
  readonly data_access: readonly string[];
  readonly unrestricted_required: boolean;
  readonly author_required: boolean;
  /** Only of a write that a person must approve first, because the specification lists the members. */
  readonly approval_required?: true | undefined;
}

interface Lack extends Requirement {
  readonly parameter: string;
  readonly unrestricted: boolean;
}

/** What a credential lacks for one operation. Authors are not part of these facts. */
export interface OperationAccess {
  readonly operation: string;
  /** True when the scopes, the flags, the restrictions and the kind of the token permit the operation. */
  readonly granted: boolean;
  /** True if the owner has switched the operation off for the app. */
  readonly switchedOff: boolean;
  readonly lacks: Requirement;
  /** Alternatives of which the operation needs one, such as `kinds=notes`. Empty if one of them is met. */
  readonly alternatives: readonly Lack[];
  /** True if the operation refuses the credential because of its restrictions. */
  readonly unrestricted: boolean;
  /** True if the operation refuses every token from a person's consent. */
  readonly consentRefused: boolean;
  /** True if the token of this call comes from a person's consent. */
  readonly ofConsent: boolean;
  readonly author: boolean;
  /** True if a person must approve the write first. */
  readonly waits: boolean;
  readonly restOnly: boolean;
  /** The parameters that the credential cannot send, such as `kinds=notes`, and what it lacks for each of them. */
  readonly parameters: readonly Lack[];
  /** The parts that answers leave out, such as `notes`, and what the credential lacks for each of them. */
  readonly parts: readonly Lack[];
}
