import { ALL_FLAGS, at, events, type Operation, SUBSCRIPTION } from './expected.ts';

/** The four reviewed writes. The table is written by hand from the contract and uses no product code. */
export interface Write extends Operation {
  /** The body of a call that succeeds on a website with the disposition `settled`. */
  readonly body: (website: string) => Readonly<Record<string, unknown>>;
  /** The name of the MCP argument for the record in the REST path, and the prefix of the record's id. */
  readonly subject?: readonly [argument: string, prefix: string];
  /** True when the credential must have an author: an operator in whose name it writes. */
  readonly author: boolean;
  /** The event types of the receipts that one successful write adds to the journal. */
  readonly receipts: readonly string[];
  readonly notes: number;
}

const plain = (...names: string[]) => Object.fromEntries(names.map((name) => [name, []]));
const tail = (website: string): string => website.slice('web_'.length);

export const WRITES: readonly Write[] = [
  {
    tool: 'visitor_note_add',
    path: '/visitors/{vis:1}/notes',
    scopes: ['conversation_read', 'visitor_notes_write', 'message_content_read', 'contact_read_pii'],
    flags: ALL_FLAGS,
    unrestricted: true,
    website: 'optional',
    subject: ['visitor_id', 'vis'],
    body: () => ({ text: 'Asked for an invoice copy by post.' }),
    author: true,
    receipts: ['visitor.changed'],
    notes: 1,
    members: {
      '': plain('data'),
      data: plain('success', 'visitor_id', 'note'),
      'data.note': plain('id', 'note_id', 'text', 'title', 'author', 'created_at'),
    },
    outsiders: at('/data/note', 'text', 'author'),
  },
  {
    tool: 'conversation_disposition_set',
    path: '/conversations/{cnv:1}/disposition',
    scopes: ['conversation_read', 'conversation_update'],
    flags: [],
    website: 'optional',
    ofConversation: true,
    subject: ['conversation_id', 'cnv'],
    body: () => ({ disposition: 'settled' }),
    author: true,
    receipts: ['conversation.changed'],
    notes: 0,
    members: { '': plain('data'), data: plain('success') },
  },
  {
    tool: 'ai_feature_execute',
    path: '/ai/features/{aif:1}/execute',
    scopes: ['ai_features_read', 'ai_execute'],
    flags: [],
    unrestricted: true,
    website: 'optional',
    subject: ['feature_id', 'aif'],
    body: () => ({
      expected_version: 2,
      context: { type: 'text', text: 'Wo ist mein Paket geblieben?', default_language: 'de' },
    }),
    author: false,
    receipts: [],
    notes: 0,
    members: {
      '': plain('data'),
      data: plain('feature_id', 'version', 'type', 'output'),
      'data.output': plain('language'),
    },
  },
  {
    tool: 'config_plan',
    path: '/settings/plans?website_id={web}',
    scopes: ['config_read', 'config_plan'],
    flags: [],
    unrestricted: true,
    website: 'required',
    body: (website) => ({
      path: `/ai/features/aif_${tail(website)}_1`,
      expected_version: 2,
      changes: { name: 'Renamed', enabled: false },
    }),
    author: false,
    receipts: [],
    notes: 0,
    members: {
      '': plain('data'),
      data: plain('preview'),
      'data.preview': plain('path', 'version', 'changes', 'approval_required', 'apply_available', 'status'),
      'data.preview.changes.*': plain('field', 'from', 'to'),
    },
    outsiders: at('/data/preview/changes/*', 'from', 'to'),
  },
];

/** A write on a subscription. The idempotency key is optional. The write needs no author and leaves no receipt. */
export interface SubscriptionWrite extends Operation {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  readonly status: number;
  readonly body?: (website: string) => Readonly<Record<string, unknown>>;
  readonly revision?: true;
}

const definition = (website: string) => ({
  website_ids: [website],
  event_types: ['conversation.*'],
  payload_mode: 'thin',
  delivery: { mode: 'pull' },
  start: 'retained',
});
const answer = { '': plain('subscription', 'cursor'), subscription: SUBSCRIPTION };

/** The writes, in an order in which one credential can send them all. The last write deletes the subscription. */
export const SUBSCRIPTION_WRITES: readonly SubscriptionWrite[] = [
  {
    tool: 'subscription_create',
    ...{ method: 'POST', path: '/subscriptions', status: 201, body: definition, members: answer },
    ...events,
  },
  {
    tool: 'subscription_replace',
    ...{
      method: 'PATCH',
      path: '/subscriptions/{sub}',
      status: 200,
      body: definition,
      revision: true,
      members: answer,
    },
    ...events,
  },
  {
    tool: 'subscription_delete',
    ...{ method: 'DELETE', path: '/subscriptions/{sub}', status: 204, revision: true, members: {} },
    ...events,
  },
];
