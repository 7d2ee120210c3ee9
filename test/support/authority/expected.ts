import { cursorOf, subscriptionId } from './planted.ts';
import { ASIDE, ECHO, PHONE } from './world.ts';

/**
 * For each read: its arguments and the members of its answer. The tables are written by hand from the contract and do
 * not use the declarations that they check.
 */
export const ALL_SCOPES = [
  'website_read',
  'health_read',
  'conversation_read',
  'contact_read',
  'contact_read_pii',
  'visitor_notes_read',
  'config_read',
  'config_plan',
  'ai_features_read',
  'ai_execute',
  'reports_read',
  'file_read',
  'message_content_read',
  'visitor_notes_write',
  'conversation_update',
  'directory_read',
  'live_read',
  'event_read',
  'internal_notes_read',
] as const;
export type Scope = (typeof ALL_SCOPES)[number];
export const ALL_FLAGS = ['message_content', 'pii', 'internal_notes'] as const;
export type Flag = (typeof ALL_FLAGS)[number];
export const DIMENSIONS = ['channel_ids', 'team_ids', 'subsite_ids'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export interface Grants {
  readonly scopes: readonly Scope[];
  readonly flags: readonly Flag[];
}
export const FULL: Grants = { scopes: ALL_SCOPES, flags: ALL_FLAGS };

/**
 * A grant that a member needs in addition to the grants of its operation. `!ai_execute` means that the member exists
 * only without the grant `ai_execute`. `unrestricted` means that restricted credentials do not get the member.
 */
export type Need = Scope | Flag | '!ai_execute' | 'unrestricted';
const PII: readonly Need[] = ['contact_read_pii', 'pii'];
const MSG: readonly Need[] = ['message_content_read', 'message_content'];
const DIRECTORY: readonly Need[] = ['directory_read'];

export const holdsAll = (grants: Grants, needs: readonly Need[]): boolean => {
  const held: readonly string[] = [...grants.scopes, ...grants.flags];
  return needs.every((need) => {
    if (need === 'unrestricted') return true;
    return need === '!ai_execute' ? !held.includes('ai_execute') : held.includes(need);
  });
};

/** The members of an object. Each member names the grants that it needs in addition to those of the operation. */
export type Members = Readonly<Record<string, readonly Need[]>>;

const plain = (...names: string[]): Members => Object.fromEntries(names.map((name) => [name, []]));

const CONVERSATION: Members = {
  ...plain('id', 'website_id', 'status', 'platform', 'channel_id', 'team_id', 'subsite_id', 'disposition', 'ai'),
  ...plain('visitor_id', 'message_count', 'created_at', 'updated_at', 'first_response_at', 'last_message_at'),
  ...plain('closed_at', 'access'),
  language: PII,
  rating: MSG,
  operator_id: [...DIRECTORY, ...PII],
  subject: [...MSG, ...PII],
  subject_truncated: [...MSG, ...PII],
};
const VISITOR: Members = {
  ...plain(
    'id',
    'website_id',
    'created_at',
    'last_seen_at',
    'blocked',
    'conversation_count',
    'contact_linked',
    'access',
  ),
  contact_ids: ['contact_read', ...PII],
  nickname: PII,
};
const CONTACT: Members = {
  ...plain('id', 'blocked', 'access'),
  name: PII,
  first_name: PII,
  last_name: PII,
  email: PII,
  mobile: PII,
  mobile_e164: PII,
  phone: PII,
  phone_e164: PII,
  company: PII,
  language: PII,
  country: PII,
  time_zone: PII,
  created_at: PII,
  updated_at: PII,
};
const NOTE = plain('id', 'note_id', 'text', 'title', 'author', 'created_at', 'text_truncated');
const MESSAGE = plain(
  ...['id', 'conversation_id', 'author', 'visibility', 'kind', 'text', 'text_truncated', 'language', 'created_at'],
  ...['edited_at', 'delivery_status', 'in_reply_to', 'ai', 'attachment_count', 'redacted'],
);
const STAFF: Members = { type: [], id: DIRECTORY, name: DIRECTORY };
const FILE = plain(
  ...['id', 'website_id', 'conversation_id', 'message_id', 'name', 'media_type', 'size', 'version', 'sha256'],
  ...['chunk_size', 'chunk_count', 'disposition', 'visibility', 'created_at'],
);
const FEATURE = plain('id', 'name', 'type', 'enabled', 'version');
const page = (member: string): Members => plain(member, 'next_cursor', 'coverage');
/**
 * The members of an AI feature that can be executed. A caller with the scope sees the context types. A caller without
 * the scope sees `reason` instead.
 */
const EXECUTION: Members = { available: [], context_types: ['ai_execute'], reason: ['!ai_execute'] };

export interface Restricted {
  readonly dimension: Dimension;
  /**
   * The numbers of the permitted channels, teams or subsites. Each channel, team or subsite with number 1 contains
   * conversations 1 and 3. Number 9 contains no conversation. An empty list permits nothing.
   */
  readonly ids: readonly number[];
}

/** The native ids of the rows that a list shows, in the list's order. */
type Rows = (restricted: Restricted | undefined) => readonly number[];

/**
 * The rows of a list of conversations or their parts. `all` is for an unrestricted caller. `inFirst` is for a caller
 * who may see only place 1, which is one channel, team or subsite.
 */
const through =
  (all: readonly number[], inFirst: readonly number[]): Rows =>
  (restricted) =>
    restricted === undefined ? all : restricted.ids.includes(1) ? inFirst : [];
const always =
  (...ids: number[]): Rows =>
  () =>
    ids;
/**
 * The rows of a directory, for example of all teams. A restriction to one team hides the other teams, but a restriction
 * to a channel does not.
 */
const directory =
  (dimension: Dimension): Rows =>
  (restricted) =>
    restricted?.dimension === dimension ? [2, 1].filter((id) => restricted.ids.includes(id)) : [2, 1];

/**
 * The rows of one table that an answer shows. Each column names the grants that it needs in addition to those of the
 * operation.
 */
type Shown = readonly [table: string, rows: readonly number[], columns: Readonly<Record<string, readonly Need[]>>];

export interface Operation {
  /** The operation's name in the contract. `variant` distinguishes several cases of one operation. */
  readonly tool: string;
  readonly variant?: string;
  /** The path with the names of its parameters. Absent when the ids in `path` already tell the names. */
  readonly template?: string;
  /**
   * The path under /api/v1. `{web}` stands for the website's id, and `{xyz:1}` for the id of record 1 with the prefix
   * xyz.
   */
  readonly path: string;
  readonly scopes: readonly Scope[];
  readonly flags: readonly Flag[];
  /**
   * The operation has alternatives, such as several kinds of ids. The scopes, flags and `unrestricted` of this case hold
   * for this alternative, and other cases have the other alternatives.
   */
  readonly kind?: string;
  /** The grants that a parameter of this case needs in addition. With `is`, only the value `true` needs them. */
  readonly given?: {
    readonly parameter: string;
    readonly is?: true;
    /** Only comma-separated lists with this entry need the grants. */
    readonly has?: string;
    readonly scopes: readonly Scope[];
    readonly flags: readonly Flag[];
  };
  /** True when the contract says "unrestricted policy". */
  readonly unrestricted?: true;
  /** True when the contract says "no human-consent OAuth token". */
  readonly noConsent?: true;
  /**
   * required: the call has a website_id parameter. optional: the id of the resource names the website, and website_id can
   * repeat the website. byId: only the id names the website. none: the call does not concern one website.
   */
  readonly website: 'required' | 'optional' | 'byId' | 'none';
  readonly members: Readonly<Record<string, Members>>;
  /**
   * Describes the rows of a list: the JSON pointer to the rows, the member with the id of a row, and the expected rows.
   */
  readonly list?: readonly [pointer: string, idMember: string, rows: Rows];
  /** True when the record belongs to conversation 1. A caller who cannot see this conversation gets `not_found`. */
  readonly ofConversation?: true;
  /**
   * A caller without these grants gets `not_found` instead of `not_permitted`. With `unrestricted`, a restricted
   * credential gets `not_found` as well.
   */
  readonly hidden?: { readonly scopes: readonly Scope[]; readonly unrestricted: true };
  /** Members that are null for a caller without the grant. They are present in every answer. */
  readonly nulls?: Members;
  /** For a list: the prefix of the ids in its cursors. Empty when a cursor contains only a number. */
  readonly cursor?: string;
  /** The stored texts that the answer shows. Absent if the answer shows no stored text. */
  readonly shows?: readonly Shown[];
  /** JSON pointers to the texts that visitors, contacts, operators or bots wrote. `*` stands for any index. */
  readonly outsiders?: readonly string[];
  /** JSON pointers to names from an administrator's settings. Such names are labels and not messages of people. */
  readonly configured?: readonly string[];
}

const columns = (needs: readonly Need[], ...names: string[]) => Object.fromEntries(names.map((name) => [name, needs]));
const stored = {
  conversation: (...rows: number[]): Shown => [
    'conversation',
    rows,
    { disposition: [], language: PII, rating_label: MSG, subject: [...MSG, ...PII] },
  ],
  contact: (...rows: number[]): Shown => [
    'contact',
    rows,
    columns(
      PII,
      ...['name', 'first_name', 'last_name', 'email', 'mobile', 'mobile_e164', 'phone', 'phone_e164', 'company'],
      ...['language', 'time_zone'],
    ),
  ],
  message: (...rows: number[]): Shown => ['message', rows, columns([], 'text', 'language')],
  nickname: (...rows: number[]): Shown => ['visitor', rows, { nickname: PII }],
  staff: (needs: readonly Need[], ...rows: number[]): Shown => ['operator', rows, { name: needs }],
  note: (...rows: number[]): Shown => ['note', rows, columns([], 'title', 'text')],
  file: (...rows: number[]): Shown => ['file', rows, columns([], 'name', 'media_type')],
  feature: (...rows: number[]): Shown => ['ai_feature', rows, { name: [] }],
};
// Message 5 is redacted. Its text is hidden, but its language is visible.
const publicMessages: readonly Shown[] = [
  stored.message(1, 2, 3, 6),
  ['message', [5], { language: [] }],
  stored.nickname(1),
];

export const at = (pointer: string, ...names: string[]): string[] => names.map((name) => `${pointer}/${name}`);
const said = {
  contact: (pointer: string) => at(pointer, 'name', 'first_name', 'last_name', 'email', 'mobile', 'phone', 'company'),
  conversation: (pointer: string) => at(pointer, 'subject', 'rating/label'),
  message: (pointer: string) => at(pointer, 'text', 'author/name'),
  note: (pointer: string) => at(pointer, 'text', 'title', 'author'),
  // The sender declares the media type, so its quoted parameters can hold whole sentences.
  file: (pointer: string) => at(pointer, 'name', 'media_type'),
};

const none = { scopes: [], flags: [] } as const;
const one = (...scopes: Scope[]) => ({ scopes, flags: [] }) as const;
const messages = {
  scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
  flags: ['message_content', 'pii'],
  website: 'optional',
  ofConversation: true,
} as const;
const files = { ...messages, scopes: ['file_read', ...messages.scopes] } as const;
const INTERNAL = {
  parameter: 'include_internal',
  is: true,
  scopes: ['internal_notes_read'],
  flags: ['internal_notes'],
} as const;
/** For an operation that a caller without the grants for messages can call. */
const INTERNAL_MESSAGES = {
  ...INTERNAL,
  scopes: ['message_content_read', 'contact_read_pii', ...INTERNAL.scopes],
  flags: ['message_content', 'pii', ...INTERNAL.flags],
} as const;
const notes = {
  scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
  flags: ALL_FLAGS,
  unrestricted: true,
  website: 'optional',
} as const;
const conversations = {
  tool: 'conversations_list',
  ...one('conversation_read'),
  website: 'required',
  members: { '': plain('data'), data: page('conversations'), 'data.conversations.*': CONVERSATION },
} as const;
const contacts = {
  tool: 'contacts_list',
  ...one('contact_read'),
  unrestricted: true,
  website: 'required',
  members: { '': plain('data'), data: page('data'), 'data.data.*': CONTACT, 'data.data.*.access': plain('pii') },
} as const;
const customers = {
  tool: 'customer_find',
  scopes: ['contact_read', 'contact_read_pii'],
  flags: ['pii'],
  unrestricted: true,
  website: 'required',
  members: {
    '': plain('data'),
    data: plain('customers', 'next_cursor'),
    'data.customers.*': {
      ...plain('contact_id', 'website_id', 'name', 'email', 'phone'),
      ...columns(['conversation_read'], 'visitor_ids', 'conversation_count', 'last_conversation'),
    },
    'data.customers.*.last_conversation': {
      ...columns(['conversation_read'], 'id', 'created_at', 'status'),
      subject: ['conversation_read', ...MSG],
    },
  },
  list: ['data.customers', 'contact_id', always(2, 1)],
  cursor: 'ctc',
  shows: [
    ['contact', [1, 2], columns([], 'name', 'email')],
    ['conversation', [3, 5], { subject: ['conversation_read', ...MSG] }],
  ],
} as const;
/** The grants for notes beside the scope conversation_read. */
const NOTES: readonly Need[] = ['visitor_notes_read', 'contact_read_pii', ...ALL_FLAGS];
const record = {
  tool: 'fetch',
  template: '/records/{id}',
  website: 'byId',
  members: {
    '': plain('id', 'title', 'text', 'url', 'metadata'),
    metadata: plain('kind', 'website_id', 'created_at', 'truncated', 'left_out'),
  },
} as const;
const found = (...more: string[]) => ({
  '': plain('results', 'left_out', 'next_cursor'),
  'results.*': plain('id', 'title', 'url', 'kind', 'website_id', 'created_at', ...more),
});
const SPOKEN = {
  scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
  flags: ['message_content', 'pii'],
} as const;
const searched = (kind: string, more = '&order=newest') => ({
  ...({ tool: 'search', website: 'required', cursor: '' } as const),
  variant: `${kind}${more}`,
  kind: `kinds=${kind}`,
  path: `/search?query=${ECHO}&kinds=${kind}&website_id={web}${more}`,
});
const searchedMessages = (more?: string) =>
  ({
    ...searched('messages', more),
    ...SPOKEN,
    members: found('conversation_id', 'message_id', 'snippet'),
    list: ['results', 'message_id', through([11, 10, 7, 6], [7, 6])],
    shows: [
      ['message', [6, 7, 10, 11], columns([], 'text')],
      ['conversation', [1, 2, 3, 5], columns([], 'subject')],
    ],
  }) as const;
const searchedAside = (more: string) => ({
  ...searchedMessages(more),
  variant: `words of internal messages${more}`,
  path: `/search?query=${ASIDE}&kinds=messages&website_id={web}${more}`,
});
const messagesPage = {
  '': plain('data'),
  data: plain('conversation_id', 'messages', 'next_cursor', 'include_internal', 'coverage'),
  'data.messages.*': MESSAGE,
} as const;
const chunk = plain(
  ...['file_id', 'version', 'chunk', 'chunk_count', 'offset', 'length', 'total_size', 'sha256', 'encoding', 'content'],
  'next_chunk',
);
const attachments = {
  '': plain('data'),
  data: plain('conversation_id', 'message_id', 'attachments', 'next_cursor', 'coverage'),
  'data.attachments.*': FILE,
} as const;
const guide = (name: string): Operation => ({
  tool: 'guide_read',
  variant: name,
  path: `/guides/${name}`,
  template: '/guides/{guide}',
  // A guide outside the grants does not exist for the caller, so the failure is `not_found` and not `not_permitted`.
  ...none,
  website: 'none',
  members: { '': plain('guide', 'mime_type', 'content', 'coverage') },
});

/**
 * By the contract, all operations on events and their subscriptions need the scopes website_read and event_read, and an
 * unrestricted credential.
 */
export const events = {
  ...one('website_read', 'event_read'),
  unrestricted: true,
  noConsent: true,
  website: 'none',
} as const;
export const SUBSCRIPTION = plain(
  ...['subscription_id', 'revision', 'status', 'website_ids', 'event_types', 'payload_mode', 'delivery', 'start'],
  ...['created_at', 'updated_at'],
);

const counted = {
  tool: 'conversations_count',
  ...one('conversation_read'),
  website: 'required',
  members: { '': plain('data'), data: plain('total', 'groups', 'other', 'timezone') },
} as const;
const countedBy = (group: string): string => `/conversations/count?website_id={web}&group_by=${group}`;
const group_by = (has: string, scopes: readonly Scope[], flags: readonly Flag[]) =>
  ({ parameter: 'group_by', has, scopes, flags }) as const;

const SAID: readonly Need[] = [...MSG, ...PII];
const NOTED: readonly Need[] = ['visitor_notes_read', 'contact_read_pii', ...ALL_FLAGS, 'unrestricted'];
const brief: Readonly<Record<string, Members>> = {
  '': plain('data'),
  data: {
    ...plain('conversation', 'left_out'),
    contacts: ['contact_read', ...PII],
    operator: [...DIRECTORY, ...PII],
    ...{ team: ['live_read'], channel: ['live_read'], messages: SAID, notes: NOTED },
  },
  'data.conversation': CONVERSATION,
};

export const OPERATIONS: readonly Operation[] = [
  {
    tool: 'operation_get',
    path: '/operations/{receipt}?website_id={web}',
    ...none,
    // The planted receipt comes from a call of config_plan. A caller without the grants for config_plan gets
    // `not_found`.
    hidden: { scopes: ['config_read', 'config_plan'], unrestricted: true },
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('operation_id', 'website_id', 'operation', 'status', 'coverage'),
    },
  },
  {
    tool: 'websites_list',
    path: '/websites',
    ...one('website_read'),
    website: 'none',
    members: { '': plain('websites'), 'websites.*': plain('website_id', 'name', 'time_zone', 'environment') },
    shows: [['website', [1], { name: [] }]],
    configured: ['/websites/*/name'],
  },
  {
    tool: 'capabilities_list',
    path: '/capabilities?website_id={web}',
    ...none,
    website: 'required',
    members: { '': plain('data'), data: plain('website_id', 'operations', 'authority_revision', 'coverage') },
  },
  {
    tool: 'health',
    path: '/health?website_id={web}',
    ...one('health_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('website_id', 'status', 'components', 'families', 'coverage'),
      'data.components.*': plain('name', 'status', 'checked_at'),
      'data.families.*': plain('family', 'status', 'last_event_at'),
    },
  },
  {
    tool: 'gateway_context',
    path: '/context',
    ...none,
    website: 'none',
    members: {
      '': plain(
        ...['principal', 'environment', 'organization_id', 'app_id', 'installation_id', 'scopes', 'website_ids'],
        ...['data_access', 'restrictions', 'authority_expires_at', 'guides'],
      ),
      data_access: plain('message_content', 'pii', 'internal_notes'),
    },
  },
  {
    tool: 'access_explain',
    path: '/access',
    ...none,
    website: 'none',
    members: {
      '': plain('data'),
      data: plain('operations'),
      'data.operations.*': plain('operation', 'allowed', 'lacks', 'sentence'),
    },
  },
  guide('overview'),
  guide('investigation'),
  guide('contacts'),
  guide('reporting'),
  guide('configuration'),
  guide('event_recovery'),
  guide('agent_tasks'),
  {
    ...conversations,
    path: '/conversations?website_id={web}',
    list: ['data.conversations', 'id', through([5, 3, 2, 1], [3, 1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
    outsiders: said.conversation('/data/conversations/*'),
    configured: ['/data/conversations/*/disposition'],
  },
  {
    ...conversations,
    variant: 'updated_asc',
    path: '/conversations?website_id={web}&order=updated_asc',
    list: ['data.conversations', 'id', through([1, 2, 3, 5], [1, 3])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
  },
  {
    ...conversations,
    variant: 'by channel, team and subsite',
    path: '/conversations?website_id={web}&channel_id={chn:2}&team_id={tem:2}&subsite_id={sst:2}',
    list: ['data.conversations', 'id', through([2], [])],
    cursor: 'cnv',
    shows: [stored.conversation(2)],
  },
  {
    ...conversations,
    variant: 'contact_id',
    path: '/conversations?website_id={web}&contact_id={ctc:1}',
    given: { parameter: 'contact_id', scopes: ['contact_read', 'contact_read_pii'], flags: [] },
    list: ['data.conversations', 'id', through([5, 1], [1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 5)],
  },
  {
    ...conversations,
    variant: 'query',
    path: '/conversations?website_id={web}&query=Zq',
    given: {
      parameter: 'query',
      scopes: ['message_content_read', 'contact_read_pii'],
      flags: ['message_content', 'pii'],
    },
    list: ['data.conversations', 'id', through([5, 3, 2, 1], [3, 1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2, 3, 5)],
  },
  {
    ...conversations,
    variant: 'operator_id',
    path: '/conversations?website_id={web}&operator_id={opr:2}',
    given: { parameter: 'operator_id', scopes: ['directory_read', 'contact_read_pii'], flags: ['pii'] },
    list: ['data.conversations', 'id', through([2], [])],
    cursor: 'cnv',
    shows: [stored.conversation(2)],
  },
  {
    ...counted,
    path: '/conversations/count?website_id={web}',
    configured: ['/data/groups/*/key/disposition'],
  },
  {
    ...counted,
    variant: 'by disposition and day',
    path: countedBy('disposition,day'),
    shows: [['conversation', [1, 2, 3, 5], { disposition: [] }]],
  },
  {
    ...counted,
    variant: 'by team',
    path: countedBy('team'),
    list: ['data.groups', 'key.team_id', through([1, 2, Number.NaN], [1])],
  },
  {
    ...counted,
    variant: 'by operator',
    path: countedBy('operator'),
    given: group_by('operator', ['directory_read', 'contact_read_pii'], ['pii']),
    list: ['data.groups', 'key.operator_id', through([Number.NaN, 1, 2], [1, Number.NaN])],
  },
  {
    ...counted,
    variant: 'by contact',
    path: countedBy('contact'),
    given: group_by('contact', ['contact_read', 'contact_read_pii'], []),
    list: ['data.groups', 'key.contact_id', through([1, 2], [1, 2])],
  },
  {
    ...counted,
    variant: 'by language',
    path: countedBy('status,language'),
    given: group_by('language', ['contact_read_pii'], ['pii']),
    shows: [['conversation', [1, 2, 3, 5], { language: [] }]],
  },
  {
    ...counted,
    variant: 'contact_id',
    path: '/conversations/count?website_id={web}&contact_id={ctc:1}',
    given: { parameter: 'contact_id', scopes: ['contact_read', 'contact_read_pii'], flags: [] },
  },
  {
    ...counted,
    variant: 'operator_id',
    path: '/conversations/count?website_id={web}&operator_id={opr:2}',
    given: { parameter: 'operator_id', scopes: ['directory_read', 'contact_read_pii'], flags: ['pii'] },
  },
  {
    tool: 'conversation',
    path: '/conversations/{cnv:1}',
    ...one('conversation_read'),
    website: 'optional',
    ofConversation: true,
    members: {
      '': plain('data'),
      data: plain('conversation', 'coverage'),
      'data.conversation': CONVERSATION,
      'data.conversation.access': plain('pii', 'message_content'),
    },
    shows: [stored.conversation(1)],
    outsiders: said.conversation('/data/conversation'),
    configured: ['/data/conversation/disposition'],
  },
  {
    tool: 'conversation_brief',
    path: '/conversations/{cnv:1}/brief',
    ...one('conversation_read'),
    website: 'optional',
    ofConversation: true,
    members: { ...brief, 'data.conversation.access': plain('pii', 'message_content') },
    shows: [
      stored.conversation(1),
      ['contact', [1], columns(['contact_read', ...PII], 'name', 'email')],
      stored.staff([...DIRECTORY, ...PII], 1),
      ['team', [1], { name: ['live_read'] }],
      ['channel', [1], { name: ['live_read'] }],
      ['message', [1, 2, 3, 6], columns(SAID, 'text', 'language')],
      ['message', [5], { language: SAID }],
      ['visitor', [1], { nickname: SAID }],
      stored.staff([...DIRECTORY, ...SAID], 1, 2),
      ['note', [1, 2], columns(NOTED, 'title', 'text')],
      stored.staff(NOTED, 1, 2),
    ],
    outsiders: [
      ...said.conversation('/data/conversation'),
      ...at('/data/contacts/*', 'name', 'email'),
      '/data/operator/name',
      ...said.message('/data/messages/*'),
      ...said.note('/data/notes/*'),
    ],
    configured: at('/data', 'conversation/disposition', 'team/name', 'channel/name'),
  },
  {
    tool: 'conversation_brief',
    variant: 'include_internal',
    path: '/conversations/{cnv:1}/brief?include_internal=true&messages=3',
    ...one('conversation_read'),
    website: 'optional',
    ofConversation: true,
    given: INTERNAL_MESSAGES,
    members: brief,
    shows: [
      stored.conversation(1),
      ['contact', [1], columns(['contact_read', ...PII], 'name', 'email')],
      stored.staff([...DIRECTORY, ...PII], 1),
      ['channel', [1], { name: ['live_read'] }],
      ['team', [1], { name: ['live_read'] }],
      ['message', [4, 6], columns(SAID, 'text', 'language')],
      ['message', [5], { language: SAID }],
      ['visitor', [1], { nickname: SAID }],
      ['note', [1, 2], columns(NOTED, 'title', 'text')],
      stored.staff(NOTED, 1, 2),
    ],
  },
  {
    tool: 'conversation_contacts',
    path: '/conversations/{cnv:1}/contacts',
    scopes: ['conversation_read', 'contact_read', 'contact_read_pii'],
    flags: ['pii'],
    website: 'optional',
    ofConversation: true,
    members: {
      '': plain('data'),
      data: plain('conversation_id', 'contacts', 'next_cursor', 'coverage'),
      'data.contacts.*': CONTACT,
    },
    list: ['data.contacts', 'id', always(1)],
    cursor: 'ctc',
    shows: [stored.contact(1)],
    outsiders: said.contact('/data/contacts/*'),
  },
  {
    tool: 'conversation_message',
    variant: 'of an operator',
    path: '/conversations/{cnv:1}/messages/{msg:2}',
    ...messages,
    members: {
      '': plain('data'),
      data: plain('message', 'coverage'),
      'data.message': MESSAGE,
      'data.message.author': STAFF,
    },
    shows: [stored.message(2), stored.staff(DIRECTORY, 1)],
    outsiders: said.message('/data/message'),
  },
  {
    tool: 'conversation_message',
    variant: 'of a visitor',
    path: '/conversations/{cnv:1}/messages/{msg:1}',
    ...messages,
    members: { 'data.message': MESSAGE, 'data.message.author': plain('type', 'id', 'name') },
    shows: [stored.message(1), stored.nickname(1)],
  },
  {
    tool: 'conversation_message',
    variant: 'internal',
    path: '/conversations/{cnv:1}/messages/{msg:4}?include_internal=true',
    ...messages,
    given: INTERNAL,
    members: { 'data.message': MESSAGE, 'data.message.author': STAFF },
    shows: [stored.message(4), stored.staff(DIRECTORY, 1)],
  },
  {
    tool: 'conversation_messages',
    path: '/conversations/{cnv:1}/messages',
    ...messages,
    members: messagesPage,
    list: ['data.messages', 'id', always(6, 5, 3, 2, 1)],
    cursor: 'msg',
    shows: [...publicMessages, stored.staff(DIRECTORY, 1, 2)],
    outsiders: said.message('/data/messages/*'),
  },
  {
    tool: 'conversation_messages',
    variant: 'include_internal, asc',
    path: '/conversations/{cnv:1}/messages?include_internal=true&order=asc',
    ...messages,
    given: INTERNAL,
    members: messagesPage,
    list: ['data.messages', 'id', always(1, 2, 3, 4, 5, 6)],
    cursor: 'msg',
    shows: [...publicMessages, stored.message(4), stored.staff(DIRECTORY, 1, 2)],
  },
  {
    tool: 'visitor',
    path: '/dashboard/visitors/{vis:1}',
    ...one('conversation_read'),
    unrestricted: true,
    website: 'optional',
    members: {
      '': plain('data'),
      data: plain('visitor', 'coverage'),
      'data.visitor': VISITOR,
      'data.visitor.access': plain('pii'),
    },
    shows: [stored.nickname(1)],
    outsiders: ['/data/visitor/nickname'],
  },
  {
    tool: 'visitor_conversations',
    path: '/dashboard/visitors/{vis:1}/conversations',
    ...one('conversation_read'),
    website: 'optional',
    ofConversation: true,
    members: {
      '': plain('data'),
      data: plain('visitor_id', 'conversations', 'next_cursor', 'coverage'),
      'data.conversations.*': CONVERSATION,
    },
    list: ['data.conversations', 'id', through([2, 1], [1])],
    cursor: 'cnv',
    shows: [stored.conversation(1, 2)],
    outsiders: said.conversation('/data/conversations/*'),
    configured: ['/data/conversations/*/disposition'],
  },
  {
    tool: 'visitor_notes',
    path: '/visitors/{vis:1}/notes',
    ...notes,
    members: {
      '': plain('data'),
      data: plain('visitor_id', 'notes', 'next_cursor', 'coverage'),
      'data.notes.*': NOTE,
    },
    list: ['data.notes', 'id', always(2, 1)],
    cursor: '',
    shows: [stored.note(1, 2), stored.staff([], 1, 2)],
    outsiders: said.note('/data/notes/*'),
  },
  {
    ...contacts,
    path: '/contacts?website_id={web}',
    list: ['data.data', 'id', always(2, 1)],
    cursor: 'ctc',
    shows: [stored.contact(1, 2)],
    outsiders: said.contact('/data/data/*'),
  },
  {
    ...contacts,
    variant: 'query',
    path: '/contacts?website_id={web}&query=Zq',
    given: { parameter: 'query', scopes: ['contact_read_pii'], flags: ['pii'] },
    list: ['data.data', 'id', always(2, 1)],
    cursor: 'ctc',
    shows: [stored.contact(1, 2)],
  },
  {
    tool: 'contact_get',
    path: '/contacts/{ctc:1}',
    ...one('contact_read'),
    unrestricted: true,
    website: 'optional',
    members: {
      '': plain('data'),
      data: plain('contact'),
      'data.contact': CONTACT,
      'data.contact.access': plain('pii'),
    },
    shows: [stored.contact(1)],
    outsiders: said.contact('/data/contact'),
  },
  {
    tool: 'contact_visitors',
    path: '/contacts/{ctc:1}/visitors',
    scopes: ['contact_read', 'contact_read_pii', 'conversation_read'],
    flags: ['pii'],
    website: 'optional',
    ofConversation: true,
    members: {
      '': plain('data'),
      data: plain('contact_id', 'visitors', 'next_cursor', 'coverage'),
      'data.visitors.*': VISITOR,
    },
    // Place 1 (a channel, team or subsite) contains conversations of visitors 1 and 2. The only conversation of visitor
    // 4 is in no place.
    list: ['data.visitors', 'id', through([4, 2, 1], [2, 1])],
    cursor: 'vis',
    shows: [stored.nickname(1, 2, 4)],
    outsiders: ['/data/visitors/*/nickname'],
  },
  {
    tool: 'contact_notes',
    path: '/contacts/{ctc:1}/notes',
    ...notes,
    scopes: ['contact_read', ...notes.scopes],
    members: {
      '': plain('data'),
      data: plain('contact_id', 'notes', 'next_cursor', 'coverage'),
      'data.notes.*': NOTE,
    },
    list: ['data.notes', 'id', always(2, 1)],
    cursor: '',
    shows: [stored.note(1, 2), stored.staff([], 1, 2)],
    outsiders: said.note('/data/notes/*'),
  },
  {
    ...customers,
    path: `/customers?website_id={web}&phone=${PHONE}`,
    // The answer shows the number that was searched.
    shows: [...customers.shows, ['contact', [1, 2], { phone_e164: [] }]],
    outsiders: at('/data/customers/*', 'name', 'email', 'phone', 'last_conversation/subject'),
  },
  {
    ...customers,
    variant: 'name',
    path: '/customers?website_id={web}&name=Zq',
    shows: [...customers.shows, ['contact', [1], { mobile_e164: [] }], ['contact', [2], { phone_e164: [] }]],
  },
  { ...searchedMessages(), outsiders: ['/results/*/title', '/results/*/snippet'] },
  searchedMessages('&order=best'),
  // Only internal messages have the word. A caller that does not ask for internal messages finds nothing.
  { ...searchedAside(''), list: ['results', 'message_id', always()], shows: [] },
  {
    ...searchedAside('&include_internal=true'),
    given: { ...INTERNAL_MESSAGES, scopes: ['conversation_read', ...INTERNAL_MESSAGES.scopes] },
    list: ['results', 'message_id', through([9, 4], [4])],
    shows: [
      ['message', [4, 9], columns([], 'text')],
      ['conversation', [1, 2], columns([], 'subject')],
    ],
  },
  {
    ...searched('subjects'),
    ...SPOKEN,
    members: found('conversation_id'),
    list: ['results', 'id', through([5, 3, 2, 1], [3, 1])],
    shows: [['conversation', [1, 2, 3, 5], columns([], 'subject')]],
  },
  {
    ...searched('notes'),
    scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
    flags: ['message_content', 'pii', 'internal_notes'],
    unrestricted: true,
    members: found('snippet'),
    list: ['results', 'id', always(3, 2, 1)],
    shows: [stored.note(1, 2, 3), ['visitor', [1, 2, 3], columns([], 'nickname')]],
  },
  {
    ...searched('contacts'),
    scopes: ['contact_read', 'contact_read_pii'],
    flags: ['pii'],
    unrestricted: true,
    members: found(),
    list: ['results', 'id', always(2, 1)],
    shows: [['contact', [1, 2], columns([], 'name')]],
  },
  {
    ...record,
    variant: 'conversation',
    kind: 'id=cnv_…',
    path: '/records/{cnv:1}',
    ...one('conversation_read'),
    ofConversation: true,
    shows: [
      ['conversation', [1], { disposition: [], language: PII, rating_label: MSG, subject: [...MSG, ...PII] }],
      stored.staff([...DIRECTORY, ...PII], 1),
      ['contact', [1], columns(['contact_read', ...PII], 'name', 'email', 'mobile_e164')],
      ['message', [1, 2, 3, 6], { text: [...MSG, ...PII] }],
      ['message', [4], { text: [...MSG, ...PII, ...INTERNAL.scopes, ...INTERNAL.flags] }],
      ['visitor', [1], { nickname: [...MSG, ...PII] }],
      stored.staff([...DIRECTORY, ...MSG, ...PII], 1, 2),
      ['file', [1], columns(['file_read', ...MSG, ...PII], 'name', 'media_type')],
      [
        'file',
        [2],
        columns(['file_read', ...MSG, ...PII, ...INTERNAL.scopes, ...INTERNAL.flags], 'name', 'media_type'),
      ],
      ['note', [1, 2], columns(NOTES, 'title', 'text')],
      stored.staff(NOTES, 1, 2),
    ],
    outsiders: ['/title', '/text'],
  },
  {
    ...record,
    variant: 'contact',
    kind: 'id=ctc_…',
    path: '/records/{ctc:1}',
    ...one('contact_read'),
    unrestricted: true,
    shows: [
      ['contact', [1], columns(PII, 'name', 'email', 'mobile_e164', 'phone_e164', 'company', 'language', 'time_zone')],
      ['visitor', [1, 2, 4], { nickname: ['conversation_read', ...PII] }],
      ['conversation', [1, 5], { subject: ['conversation_read', ...MSG, ...PII] }],
      ['note', [1, 2], columns(['conversation_read', ...NOTES], 'title', 'text')],
      stored.staff(['conversation_read', ...NOTES], 1, 2),
    ],
  },
  {
    ...record,
    variant: 'visitor',
    kind: 'id=vis_…',
    path: '/records/{vis:1}',
    ...one('conversation_read'),
    unrestricted: true,
    shows: [
      stored.nickname(1),
      ['contact', [1, 2], columns(['contact_read', ...PII], 'name', 'email')],
      ['contact', [1], { mobile_e164: ['contact_read', ...PII] }],
      ['contact', [2], { mobile: ['contact_read', ...PII] }],
      ['conversation', [1, 2], { subject: [...MSG, ...PII] }],
      ['note', [1, 2], columns(NOTES, 'title', 'text')],
      stored.staff(NOTES, 1, 2),
    ],
  },
  {
    tool: 'file_get',
    path: '/files/{fil:1}',
    ...files,
    members: { '': plain('data'), data: plain('file', 'coverage'), 'data.file': FILE },
    shows: [stored.file(1)],
    outsiders: said.file('/data/file'),
  },
  {
    tool: 'file_get',
    variant: 'internal',
    path: '/files/{fil:2}?include_internal=true',
    ...files,
    given: INTERNAL,
    members: { 'data.file': FILE },
    shows: [stored.file(2)],
  },
  {
    tool: 'file_content',
    path: '/files/{fil:1}/content',
    ...files,
    members: { '': plain('data'), data: chunk },
    shows: [['file_chunk', [1], { bytes: [] }]],
    outsiders: ['/data/content'],
  },
  {
    tool: 'file_content',
    variant: 'internal',
    path: '/files/{fil:2}/content?include_internal=true',
    ...files,
    given: INTERNAL,
    members: { data: chunk },
    shows: [['file_chunk', [2], { bytes: [] }]],
  },
  {
    tool: 'conversation_message_attachments',
    path: '/conversations/{cnv:1}/messages/{msg:1}/attachments',
    ...files,
    members: attachments,
    list: ['data.attachments', 'id', always(1)],
    cursor: 'fil',
    shows: [stored.file(1)],
    outsiders: said.file('/data/attachments/*'),
  },
  {
    tool: 'conversation_message_attachments',
    variant: 'internal',
    path: '/conversations/{cnv:1}/messages/{msg:4}/attachments?include_internal=true',
    ...files,
    given: INTERNAL,
    members: attachments,
    list: ['data.attachments', 'id', always(2)],
    cursor: 'fil',
    shows: [stored.file(2)],
  },
  {
    tool: 'operators',
    path: '/operators?website_id={web}',
    scopes: ['directory_read', 'contact_read_pii'],
    flags: ['pii'],
    website: 'required',
    members: {
      '': plain('data'),
      data: page('operators'),
      'data.operators.*': plain('id', 'name', 'email', 'role', 'enabled', 'team_ids'),
    },
    list: ['data.operators', 'id', always(3, 2, 1)],
    cursor: 'opr',
    shows: [stored.staff([], 1, 2, 3), ['operator', [1, 2], { email: [] }]],
    outsiders: at('/data/operators/*', 'name', 'email'),
  },
  {
    tool: 'dispositions',
    path: '/dispositions?website_id={web}',
    ...one('conversation_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: page('dispositions'),
      'data.dispositions.*': plain('value', 'label', 'group', 'enabled', 'position'),
    },
    cursor: 'dsp',
    shows: [
      ['disposition', [1, 2], columns([], 'value', 'label')],
      ['disposition', [1], { group_name: [] }],
    ],
    configured: at('/data/dispositions/*', 'value', 'label', 'group'),
  },
  {
    tool: 'saved_responses',
    path: '/saved_responses?website_id={web}',
    ...one('conversation_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('language', 'scope', 'saved_responses', 'next_cursor', 'coverage'),
      'data.saved_responses.*': plain(
        ...['id', 'label', 'content', 'content_truncated', 'category_name', 'shortcut', 'platform_id'],
      ),
    },
    list: ['data.saved_responses', 'id', always(1)],
    cursor: '',
    shows: [['saved_response', [1], columns([], 'label', 'content', 'category_name', 'shortcut')]],
    outsiders: at('/data/saved_responses/*', 'label', 'content', 'category_name', 'shortcut'),
  },
  {
    tool: 'saved_links',
    path: '/saved_links?website_id={web}',
    ...one('conversation_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('scope', 'saved_links', 'next_cursor', 'coverage'),
      'data.saved_links.*': plain('id', 'label', 'url'),
    },
    list: ['data.saved_links', 'id', always(1)],
    cursor: '',
    shows: [['saved_link', [1], columns([], 'label', 'url')]],
    configured: at('/data/saved_links/*', 'label', 'url'),
  },
  {
    tool: 'offers',
    path: '/offers?website_id={web}',
    ...one('conversation_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: page('offers'),
      'data.offers.*': plain('id', 'name', 'type', 'status', 'url', 'starts_at', 'ends_at'),
    },
    list: ['data.offers', 'id', always(2, 1)],
    cursor: 'ofr',
    shows: [['offer', [1, 2], columns([], 'name', 'url')]],
    configured: at('/data/offers/*', 'name', 'url'),
  },
  {
    tool: 'channels',
    path: '/channels?website_id={web}',
    ...one('live_read'),
    website: 'required',
    members: { '': plain('data'), data: page('channels'), 'data.channels.*': plain('id', 'name') },
    list: ['data.channels', 'id', directory('channel_ids')],
    cursor: 'chn',
    shows: [['channel', [1, 2], { name: [] }]],
    configured: ['/data/channels/*/name'],
  },
  {
    tool: 'teams',
    path: '/teams?website_id={web}',
    ...one('live_read'),
    website: 'required',
    members: { '': plain('data'), data: page('teams'), 'data.teams.*': plain('id', 'name', 'enabled') },
    list: ['data.teams', 'id', directory('team_ids')],
    cursor: 'tem',
    shows: [['team', [1, 2], { name: [] }]],
    configured: ['/data/teams/*/name'],
  },
  {
    tool: 'ai_conversation_summary',
    path: '/analytics/ai-conversations/summary?website_id={web}&range=date&start=2026-11-10&end=2026-11-10',
    ...one('reports_read', 'conversation_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('meta', 'headline', 'summary'),
      'data.headline': plain(
        ...['ai_conversations', 'ai_touched_visitors', 'ai_assisted_conversations'],
        ...['ai_customer_facing_conversations', 'human_escalations'],
      ),
      'data.summary': plain('series', 'metrics', 'ratings', 'outcomes', 'duration_by_platform'),
      'data.summary.series': plain(
        ...['volume', 'volume_hourly', 'platform', 'topics', 'language', 'sentiment', 'resolution', 'operators'],
      ),
    },
    nulls: {
      'data.summary.series.topics': MSG,
      'data.summary.series.language': PII,
      'data.summary.series.sentiment': MSG,
      'data.summary.series.resolution': MSG,
      'data.summary.series.operators': [...DIRECTORY, ...PII],
      'data.summary.metrics.classified_count': MSG,
      'data.summary.metrics.resolved_count': MSG,
      'data.summary.metrics.first_contact_count': MSG,
      'data.summary.metrics.first_contact_resolved': MSG,
      'data.summary.metrics.sentiment_average': MSG,
      'data.summary.metrics.confidence_average': MSG,
      'data.summary.metrics.confidence_count': MSG,
      'data.summary.ratings': MSG,
      'data.summary.outcomes': MSG,
    },
    shows: [
      ['website', [1], { name: [] }],
      ['conversation', [1, 2], { language: PII, rating_label: MSG }],
      ['ai_result', [1, 2], columns(MSG, 'topics', 'resolution', 'outcome')],
      stored.staff([...DIRECTORY, ...PII], 1, 2),
    ],
    outsiders: [
      ...at('/data/summary/series', 'topics/*/0', 'resolution/*/0', 'operators/*/0'),
      ...at('/data/summary', 'ratings/*/0', 'outcomes/*/0'),
    ],
    configured: ['/data/meta/website/name'],
  },
  {
    tool: 'ai_features_list',
    path: '/ai/features?website_id={web}',
    ...one('ai_features_read'),
    unrestricted: true,
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('features', 'truncated', 'next_cursor'),
      'data.features.*': { ...FEATURE, application_execution: [] },
      'data.features.0.application_execution': EXECUTION,
      'data.features.1.application_execution': plain('available', 'reason'),
    },
    list: ['data.features', 'id', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/features/*/name'],
  },
  {
    tool: 'ai_feature_get',
    path: '/ai/features/{aif:1}',
    ...one('ai_features_read'),
    website: 'optional',
    members: { '': plain('data'), data: plain('feature', 'coverage'), 'data.feature': FEATURE },
    shows: [stored.feature(1)],
    configured: ['/data/feature/name'],
  },
  {
    tool: 'config_catalog',
    path: '/settings/catalog?website_id={web}',
    ...one('config_read'),
    website: 'required',
    members: { '': plain('data'), data: plain('areas', 'platforms', 'coverage') },
  },
  {
    tool: 'config_schema',
    path: '/settings/schema?website_id={web}&path=/ai/features',
    ...one('config_read'),
    website: 'required',
    members: { '': plain('data'), data: plain('path', 'schema', 'plan_schema', 'coverage') },
  },
  {
    tool: 'config_schema',
    variant: 'of an item',
    path: '/settings/schema?website_id={web}&path=/ai/features/{aif:1}',
    ...one('config_read'),
    website: 'required',
    members: { data: plain('path', 'schema', 'plan_schema', 'coverage') },
  },
  {
    tool: 'config_get',
    path: '/settings/item?website_id={web}&path=/ai/features',
    ...one('config_read'),
    unrestricted: true,
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('path', 'items', 'truncated', 'next_cursor', 'coverage'),
      'data.items.*': FEATURE,
    },
    list: ['data.items', 'id', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/items/*/name', '/data/item/name'],
  },
  {
    tool: 'config_get',
    variant: 'of an item',
    path: '/settings/item?website_id={web}&path=/ai/features/{aif:1}',
    ...one('config_read'),
    unrestricted: true,
    website: 'required',
    members: { data: plain('path', 'item', 'coverage'), 'data.item': FEATURE },
    shows: [stored.feature(1)],
  },
  {
    tool: 'config_search',
    path: '/settings/search?website_id={web}&query=Zq',
    ...one('config_read'),
    website: 'required',
    members: {
      '': plain('data'),
      data: plain('matches', 'truncated', 'next_cursor'),
      'data.matches.*': plain('path', 'label', 'type', 'version'),
    },
    list: ['data.matches', 'path', always(1, 3)],
    cursor: 'aif',
    shows: [stored.feature(1, 3)],
    configured: ['/data/matches/*/label'],
  },
  {
    tool: 'subscriptions_list',
    path: '/subscriptions',
    ...events,
    members: {
      '': plain('subscriptions'),
      'subscriptions.*': SUBSCRIPTION,
      'subscriptions.*.delivery': plain('mode'),
    },
  },
  {
    tool: 'subscription_get',
    path: '/subscriptions/{sub}',
    ...events,
    members: { '': plain('subscription'), subscription: SUBSCRIPTION, 'subscription.delivery': plain('mode') },
  },
  {
    tool: 'events_pull',
    path: '/events?subscription_id={sub}&after={after}',
    ...events,
    members: {
      '': plain('subscription_id', 'revision', 'events', 'next_cursor', 'has_more', 'retention', 'coverage'),
      'retention.*': plain('website_id', 'retained_from', 'accepted_cursor'),
      'coverage.*': plain('website_id', 'coverage'),
    },
  },
];

/** The scope that each guide needs. The guide `agent_tasks` needs the grants of any A2A skill instead. */
const GUIDE_SCOPES: Readonly<Record<string, Scope>> = {
  investigation: 'conversation_read',
  contacts: 'contact_read',
  reporting: 'reports_read',
  configuration: 'config_read',
  event_recovery: 'event_read',
};
const SKILLS: readonly (readonly Need[])[] = [
  ['reports_read', 'conversation_read'],
  ['conversation_read', 'message_content_read', 'contact_read_pii', 'message_content', 'pii'],
  ['config_read'],
  ['contact_read'],
  ['ai_features_read', 'ai_execute'],
];

export function givesGuide(name: string, grants: Grants): boolean {
  if (name === 'agent_tasks') return SKILLS.some((skill) => holdsAll(grants, skill));
  const scope = GUIDE_SCOPES[name];
  return scope === undefined || grants.scopes.includes(scope);
}

export const nameOf = ({ tool, variant }: Operation): string => (variant === undefined ? tool : `${tool} (${variant})`);

/** Returns the path of an operation, filled with ids of the website's records. */
export function pathOf(operation: Operation, website: string, receipt = `op_${'0'.repeat(64)}`): string {
  const tail = website.slice('web_'.length);
  const path = operation.path
    .replace('{web}', website)
    .replace('{receipt}', receipt)
    .replace('{sub}', subscriptionId(`crd_${receipt.slice(3, 35)}`))
    .replace('{after}', () => cursorOf(`crd_${receipt.slice(3, 35)}`))
    .replace(/\{([a-z]{3}):(\d+)\}/g, (_, prefix, id) => `${prefix}_${tail}_${id}`);
  return `/api/v1${path}`;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly required?: { scopes: readonly string[]; data_access: readonly string[]; unrestricted: boolean };
}

/**
 * The refusal of a valid credential with these grants and restrictions, for a website that the credential holds.
 * Undefined when the call must succeed.
 */
export function refusalOf(
  operation: Operation,
  grants: Grants,
  restricted: Restricted | undefined,
): Refusal | undefined {
  const missing = ({ scopes, flags }: { scopes: readonly Scope[]; flags: readonly Flag[] }) => ({
    scopes: scopes.filter((scope) => !grants.scopes.includes(scope)),
    data_access: flags.filter((flag) => !grants.flags.includes(flag)),
    unrestricted: operation.unrestricted === true && restricted !== undefined,
  });
  const denied = ({ scopes, data_access, unrestricted }: ReturnType<typeof missing>): boolean =>
    scopes.length > 0 || data_access.length > 0 || unrestricted;
  for (const asked of [operation, ...(operation.given ? [operation.given] : [])]) {
    const required = missing(asked);
    if (denied(required)) return { status: 404, code: 'not_permitted', required };
  }
  if (operation.tool === 'guide_read' && !givesGuide(operation.variant ?? '', grants)) return NOT_FOUND;
  const { hidden } = operation;
  if (hidden && (restricted || hidden.scopes.some((scope) => !grants.scopes.includes(scope)))) return NOT_FOUND;
  if (operation.ofConversation && restricted && !restricted.ids.includes(1)) return NOT_FOUND;
  return undefined;
}

export const NOT_FOUND: Refusal = { status: 404, code: 'not_found' };

/** Returns every value at a pointer of member names. `*` stands for each element of a list. */
export function valuesAt(body: unknown, pointer: string): unknown[] {
  return pointer
    .split('.')
    .filter((step) => step !== '')
    .reduce<unknown[]>(
      (values, step) =>
        values.flatMap((value) => {
          if (step === '*') return Array.isArray(value) ? value : [];
          return value !== null && typeof value === 'object' ? [Reflect.get(value, step)] : [];
        }),
      [body],
    );
}

export const granted = (members: Members, grants: Grants, restricted?: Restricted): string[] =>
  Object.keys(members)
    .filter((name) => holdsAll(grants, members[name] ?? []))
    .filter((name) => !(restricted && members[name]?.includes('unrestricted')))
    .sort();
