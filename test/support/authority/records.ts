import { ALL_FLAGS, DIRECTORY, type Members, MSG, MSG_PII, type Need, PII } from './grants.ts';
import { at, columns, plain, type Shown } from './row.ts';

/** What several rows say: the members of records, their stored texts, and grants that go together. */
export const CONVERSATION: Members = {
  ...plain('id', 'website_id', 'status', 'platform', 'channel_id', 'team_id', 'subsite_id', 'disposition', 'ai'),
  ...plain('visitor_id', 'message_count', 'created_at', 'updated_at', 'first_response_at', 'last_message_at'),
  ...plain('closed_at', 'access'),
  ...{ language: PII, rating: MSG, operator_id: [...DIRECTORY, ...PII] },
  ...columns(MSG_PII, 'subject', 'subject_truncated'),
};
export const VISITOR: Members = {
  ...plain('id', 'website_id', 'created_at', 'last_seen_at', 'blocked', 'conversation_count', 'contact_linked'),
  ...{ access: [], contact_ids: ['contact_read', ...PII], nickname: PII },
};
export const CONTACT: Members = {
  ...plain('id', 'blocked', 'access'),
  ...columns(PII, 'name', 'first_name', 'last_name', 'email', 'mobile', 'mobile_e164', 'phone', 'phone_e164'),
  ...columns(PII, 'company', 'language', 'country', 'time_zone', 'created_at', 'updated_at'),
};
export const NOTE = plain('id', 'note_id', 'text', 'title', 'author', 'created_at', 'text_truncated');
export const MESSAGE = plain(
  ...['id', 'conversation_id', 'author', 'visibility', 'kind', 'text', 'text_truncated', 'language', 'created_at'],
  ...['edited_at', 'delivery_status', 'in_reply_to', 'ai', 'attachment_count', 'redacted'],
);
export const FILE = plain(
  ...['id', 'website_id', 'conversation_id', 'message_id', 'name', 'media_type', 'size', 'version', 'sha256'],
  ...['chunk_size', 'chunk_count', 'disposition', 'visibility', 'created_at'],
);
export const FEATURE = plain('id', 'name', 'type', 'enabled', 'version');
export const SUBSCRIPTION = plain(
  ...['subscription_id', 'revision', 'status', 'website_ids', 'event_types', 'payload_mode', 'delivery', 'start'],
  ...['created_at', 'updated_at'],
);

export const stored = {
  conversation: (...rows: number[]): Shown => [
    'conversation',
    rows,
    { disposition: [], language: PII, rating_label: MSG, subject: MSG_PII },
  ],
  contact: (...rows: number[]): Shown => [
    'contact',
    rows,
    {
      ...columns(PII, 'name', 'first_name', 'last_name', 'email', 'mobile', 'mobile_e164', 'phone', 'phone_e164'),
      ...columns(PII, 'company', 'language', 'time_zone'),
    },
  ],
  message: (...rows: number[]): Shown => ['message', rows, columns([], 'text', 'language')],
  nickname: (...rows: number[]): Shown => ['visitor', rows, { nickname: PII }],
  staff: (needs: readonly Need[], ...rows: number[]): Shown => ['operator', rows, { name: needs }],
  note: (...rows: number[]): Shown => ['note', rows, columns([], 'title', 'text')],
  file: (...rows: number[]): Shown => ['file', rows, columns([], 'name', 'media_type')],
  feature: (...rows: number[]): Shown => ['ai_feature', rows, { name: [] }],
};
export const said = {
  contact: (pointer: string) => at(pointer, 'name', 'first_name', 'last_name', 'email', 'mobile', 'phone', 'company'),
  conversation: (pointer: string) => at(pointer, 'subject', 'rating/label'),
  message: (pointer: string) => at(pointer, 'text', 'author/name'),
  note: (pointer: string) => at(pointer, 'text', 'title', 'author'),
  // The sender declares the media type, so its quoted parameters can hold whole sentences.
  file: (pointer: string) => at(pointer, 'name', 'media_type'),
};

export const messages = {
  scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
  flags: ['message_content', 'pii'],
  ofConversation: true,
} as const;
export const files = { ...messages, scopes: ['file_read', ...messages.scopes] } as const;
export const INTERNAL = {
  parameter: 'include_internal',
  is: true,
  scopes: ['internal_notes_read'],
  flags: ['internal_notes'],
} as const;
/** What internal messages need of an operation that itself needs no grant for messages. */
export const INTERNAL_MESSAGES = {
  ...INTERNAL,
  scopes: ['message_content_read', 'contact_read_pii', ...INTERNAL.scopes],
  flags: ['message_content', 'pii', ...INTERNAL.flags],
} as const;
export const notes = {
  scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
  flags: ALL_FLAGS,
  unrestricted: true,
} as const;

/**
 * By the contract, all operations on events and their subscriptions need the scopes website_read and event_read, and an
 * unrestricted credential.
 */
export const events = {
  scopes: ['website_read', 'event_read'],
  unrestricted: true,
  noConsent: true,
} as const;
/** The members of the answer to a change of a subscription. */
export const SUBSCRIBED = { '': plain('subscription', 'cursor'), subscription: SUBSCRIPTION } as const;
export const subscription = (website: string) => ({
  website_ids: [website],
  event_types: ['conversation.*'],
  payload_mode: 'thin',
  delivery: { mode: 'pull' },
  start: 'retained',
});
