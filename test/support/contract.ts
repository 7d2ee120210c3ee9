/** The contract's operations, written by hand from its endpoint tables: apart from the declarations that they judge. */
export interface ContractOperation {
  readonly path: string;
  readonly scopes: readonly string[];
  readonly dataAccess?: readonly string[];
  readonly unrestricted?: true;
  /** Of a write: whether it needs a mapped native author, and the members of its body. */
  readonly write?: {
    readonly author: boolean;
    readonly body: readonly string[];
    /** POST and a key that is required, where nothing else is said. */
    readonly method?: 'PATCH' | 'DELETE';
    readonly key?: 'optional';
    /** Status of a success; 200 where nothing else is said. */
    readonly status?: 201 | 204;
    /** Header If-Match. */
    readonly revision?: true;
  };
  /** No token of a person's consent. */
  readonly noConsent?: true;
  readonly when?: [given: string, is: boolean | undefined, scopes: string[], dataAccess: string[]][];
}

const INTERNAL: ContractOperation['when'] = [['include_internal', true, ['internal_notes_read'], ['internal_notes']]];
const MESSAGES = {
  scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
  dataAccess: ['message_content', 'pii'],
  when: INTERNAL,
};
const FILES = { ...MESSAGES, scopes: ['file_read', ...MESSAGES.scopes] };
const ALL_FLAGS = ['message_content', 'pii', 'internal_notes'];

/** "All need scopes website_read and event_read, an unrestricted credential that is not a human-consent OAuth token." */
const EVENTS = { scopes: ['website_read', 'event_read'], unrestricted: true, noConsent: true } as const;
const SUBSCRIPTION = ['delivery', 'event_types', 'payload_mode', 'start', 'website_ids'];

export const CONTRACT_READS: Readonly<Record<string, ContractOperation>> = {
  operation_get: { path: '/api/v1/operations/{operation_id}', scopes: [] },
  websites_list: { path: '/api/v1/websites', scopes: ['website_read'] },
  capabilities_list: { path: '/api/v1/capabilities', scopes: [] },
  health: { path: '/api/v1/health', scopes: ['health_read'] },
  gateway_context: { path: '/api/v1/context', scopes: [] },
  guide_read: { path: '/api/v1/guides/{guide}', scopes: [] },
  conversations_list: {
    path: '/api/v1/conversations',
    scopes: ['conversation_read'],
    when: [
      ['contact_id', undefined, ['contact_read', 'contact_read_pii'], []],
      ['operator_id', undefined, ['contact_read_pii', 'directory_read'], ['pii']],
      ['query', undefined, ['contact_read_pii', 'message_content_read'], ['message_content', 'pii']],
    ],
  },
  conversation: { path: '/api/v1/conversations/{conversation_id}', scopes: ['conversation_read'] },
  conversation_contacts: {
    path: '/api/v1/conversations/{conversation_id}/contacts',
    scopes: ['conversation_read', 'contact_read', 'contact_read_pii'],
    dataAccess: ['pii'],
  },
  conversation_message: { path: '/api/v1/conversations/{conversation_id}/messages/{message_id}', ...MESSAGES },
  conversation_messages: { path: '/api/v1/conversations/{conversation_id}/messages', ...MESSAGES },
  visitor: { path: '/api/v1/dashboard/visitors/{visitor_id}', scopes: ['conversation_read'], unrestricted: true },
  visitor_conversations: {
    path: '/api/v1/dashboard/visitors/{visitor_id}/conversations',
    scopes: ['conversation_read'],
  },
  visitor_notes: {
    path: '/api/v1/visitors/{visitor_id}/notes',
    scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
    dataAccess: ALL_FLAGS,
    unrestricted: true,
  },
  contacts_list: {
    path: '/api/v1/contacts',
    scopes: ['contact_read'],
    unrestricted: true,
    when: [['query', undefined, ['contact_read_pii'], ['pii']]],
  },
  contact_get: { path: '/api/v1/contacts/{contact_id}', scopes: ['contact_read'], unrestricted: true },
  contact_visitors: {
    path: '/api/v1/contacts/{contact_id}/visitors',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read'],
    dataAccess: ['pii'],
  },
  contact_notes: {
    path: '/api/v1/contacts/{contact_id}/notes',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read', 'visitor_notes_read'],
    dataAccess: ALL_FLAGS,
    unrestricted: true,
  },
  file_content: { path: '/api/v1/files/{file_id}/content', ...FILES },
  file_get: { path: '/api/v1/files/{file_id}', ...FILES },
  conversation_message_attachments: {
    path: '/api/v1/conversations/{conversation_id}/messages/{message_id}/attachments',
    ...FILES,
  },
  operators: { path: '/api/v1/operators', scopes: ['directory_read', 'contact_read_pii'], dataAccess: ['pii'] },
  dispositions: { path: '/api/v1/dispositions', scopes: ['conversation_read'] },
  saved_responses: { path: '/api/v1/saved_responses', scopes: ['conversation_read'] },
  saved_links: { path: '/api/v1/saved_links', scopes: ['conversation_read'] },
  offers: { path: '/api/v1/offers', scopes: ['conversation_read'] },
  channels: { path: '/api/v1/channels', scopes: ['live_read'] },
  teams: { path: '/api/v1/teams', scopes: ['live_read'] },
  ai_conversation_summary: {
    path: '/api/v1/analytics/ai-conversations/summary',
    scopes: ['reports_read', 'conversation_read'],
  },
  ai_features_list: { path: '/api/v1/ai/features', scopes: ['ai_features_read'], unrestricted: true },
  ai_feature_get: { path: '/api/v1/ai/features/{feature_id}', scopes: ['ai_features_read'] },
  config_catalog: { path: '/api/v1/settings/catalog', scopes: ['config_read'] },
  config_schema: { path: '/api/v1/settings/schema', scopes: ['config_read'] },
  config_get: { path: '/api/v1/settings/item', scopes: ['config_read'], unrestricted: true },
  config_search: { path: '/api/v1/settings/search', scopes: ['config_read'] },
  subscriptions_list: { path: '/api/v1/subscriptions', ...EVENTS },
  subscription_get: { path: '/api/v1/subscriptions/{subscription_id}', ...EVENTS },
  events_pull: { path: '/api/v1/events', ...EVENTS },
};

export const CONTRACT_WRITES: Readonly<Record<string, ContractOperation>> = {
  conversation_disposition_set: {
    path: '/api/v1/conversations/{conversation_id}/disposition',
    scopes: ['conversation_read', 'conversation_update'],
    write: { author: true, body: ['disposition'] },
  },
  visitor_note_add: {
    path: '/api/v1/visitors/{visitor_id}/notes',
    scopes: ['conversation_read', 'visitor_notes_write', 'message_content_read', 'contact_read_pii'],
    dataAccess: ALL_FLAGS,
    unrestricted: true,
    write: { author: true, body: ['text'] },
  },
  ai_feature_execute: {
    path: '/api/v1/ai/features/{feature_id}/execute',
    scopes: ['ai_features_read', 'ai_execute'],
    unrestricted: true,
    write: { author: false, body: ['context', 'expected_version'] },
  },
  config_plan: {
    path: '/api/v1/settings/plans',
    scopes: ['config_read', 'config_plan'],
    unrestricted: true,
    write: { author: false, body: ['changes', 'expected_version', 'path'] },
  },
  subscription_create: {
    path: '/api/v1/subscriptions',
    ...EVENTS,
    write: { author: false, body: SUBSCRIPTION, key: 'optional', status: 201 },
  },
  subscription_replace: {
    path: '/api/v1/subscriptions/{subscription_id}',
    ...EVENTS,
    write: { author: false, body: SUBSCRIPTION, method: 'PATCH', key: 'optional', revision: true },
  },
  subscription_delete: {
    path: '/api/v1/subscriptions/{subscription_id}',
    ...EVENTS,
    write: { author: false, body: [], method: 'DELETE', key: 'optional', status: 204, revision: true },
  },
};

export const CONTRACT: Readonly<Record<string, ContractOperation>> = { ...CONTRACT_READS, ...CONTRACT_WRITES };

/** The contract's realtime operations: "All four need website_read and event_read and have no MCP tool." */
export const CONTRACT_REALTIME: Readonly<
  Record<string, { readonly method: string; readonly path: string; readonly status: number; readonly body: boolean }>
> = {
  realtime_session_create: { method: 'POST', path: '/api/v1/realtime/sessions', status: 201, body: true },
  realtime_ticket_create: {
    method: 'POST',
    path: '/api/v1/realtime/sessions/{session_id}/tickets',
    status: 201,
    body: true,
  },
  realtime_session_close: {
    method: 'DELETE',
    path: '/api/v1/realtime/sessions/{session_id}',
    status: 204,
    body: false,
  },
  realtime_socket: { method: 'GET', path: '/api/v1/realtime/sessions/{session_id}/socket', status: 101, body: false },
};

/** The contract's table of A2A skills, by hand, with the operation that each one's artifact is the body of. */
export const CONTRACT_SKILLS: Readonly<
  Record<string, { runs: string; arguments: string; required: string; scopes: string; dataAccess: string }>
> = {
  support_insights: {
    runs: 'ai_conversation_summary',
    arguments: 'website_id range start end timezone',
    required: 'website_id range',
    scopes: 'reports_read conversation_read',
    dataAccess: '',
  },
  conversation_evidence: {
    runs: 'conversation_messages',
    arguments: 'conversation_id limit cursor',
    required: 'conversation_id',
    scopes: 'conversation_read message_content_read contact_read_pii',
    dataAccess: 'message_content pii',
  },
  configuration_inspection: {
    runs: 'config_get',
    arguments: 'website_id path limit cursor',
    required: 'website_id path',
    scopes: 'config_read',
    dataAccess: '',
  },
  contact_inspection: {
    runs: 'contact_get',
    arguments: 'contact_id',
    required: 'contact_id',
    scopes: 'contact_read',
    dataAccess: '',
  },
  offline_language_detection: {
    runs: 'ai_feature_execute',
    arguments: 'feature_id expected_version context',
    required: 'feature_id expected_version context',
    scopes: 'ai_features_read ai_execute',
    dataAccess: '',
  },
};
