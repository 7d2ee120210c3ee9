/**
 * The import format (decisions 24): one closed schema a record type. The published JSON Schemas, the importer's
 * types and the reject codes all come from here. Lengths count UTF-16 units, as everywhere else in the contract.
 */
import { z } from 'zod';

const recordType = z.enum([
  'organization',
  'website',
  'subsite',
  'channel',
  'team',
  'operator',
  'contact',
  'visitor',
  'ai_feature',
  'disposition',
  'saved_response',
  'saved_link',
  'offer',
  'conversation',
  'message',
  'file',
  'note',
  'ai_result',
  'delete',
]);
export type RecordType = z.infer<typeof recordType>;

/** In dependency order: a record refers to earlier types only (or, as a message's in_reply_to, to its own). */
export const RECORD_TYPES: readonly RecordType[] = recordType.options;

const INT_MAX = 2_147_483_647;
/** 32 MiB as base64; anything larger comes by `path`. */
const INLINE_FILE_MAX = Math.ceil((32 * 1024 * 1024) / 3) * 4;

// \p{Surrogate} matches a surrogate without its partner only. PostgreSQL stores neither it nor U+0000.
const isStorable = (value: string): boolean => !value.includes('\0') && !/\p{Surrogate}/u.test(value);

const zones = new Set<string>();
function isTimeZone(name: string): boolean {
  if (zones.has(name)) return true;
  // Newer engines take UTC offsets such as +01:00 for a zone; IANA names begin with a letter.
  if (!/^[A-Za-z][A-Za-z0-9+_/-]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch {
    return false;
  }
  // Names are case-insensitive, so that their spellings have to be bounded.
  if (zones.size < 2000) zones.add(name);
  return true;
}

// Years 1900 to 2999, so that no offset leads out of the years PostgreSQL and RFC 3339 share. No leap seconds.
const RFC3339 =
  /^((?:19|2\d)\d\d)-(0[1-9]|1[0-2])-([0-2]\d|3[01])[Tt](?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
function isTime(value: string): boolean {
  const [, year = '', month = '', day = '00'] = RFC3339.exec(value) ?? [];
  if (day === '00' || day <= '28') return day !== '00';
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}

function isWebAddress(value: string): boolean {
  return /^https?:\/\/[^\s\\]+$/i.test(value) && URL.canParse(value);
}

function isInsideFolder(path: string): boolean {
  return !/^[/\\]|^[A-Za-z]:/.test(path) && !path.split(/[/\\]/).includes('..');
}

const isBase64 = (value: string): boolean => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);

/** One check instead of zod's three: half the time of an import's parsing (25,777 records) went into running checks. */
const text = (max: number, min = 0) =>
  z
    .string()
    .check(({ value, issues }) => {
      if (value.length > max) issues.push({ code: 'too_big', origin: 'string', maximum: max, input: value });
      if (value.length < min) issues.push({ code: 'too_small', origin: 'string', minimum: min, input: value });
      if (!isStorable(value)) issues.push({ code: 'custom', message: 'invalid_text', input: value });
    })
    .meta(min > 0 ? { minLength: min, maxLength: max } : { maxLength: max });
const required = (max: number, description: string) => text(max, 1).describe(description);
const optional = (max: number, description: string) => text(max).optional().describe(description);
const ref = (description: string) => text(200, 1).describe(`external_id of ${description}`);
const optionalRef = (description: string) => text(200, 1).optional().describe(`external_id of ${description}`);
const refs = (description: string) => z.array(text(200, 1)).max(1000).describe(`external_ids of ${description}`);
const optionalRefs = (description: string) =>
  z.array(text(200, 1)).max(1000).default([]).describe(`external_ids of ${description}`);
const flag = (absent: boolean, description: string) => z.boolean().default(absent).describe(description);
const int = (min: number) => z.int().min(min).max(INT_MAX);

const instant = z.string().max(64).refine(isTime, 'invalid_time').meta({ format: 'date-time' });
const time = (description: string) => instant.describe(`${description} (RFC 3339, any offset)`);
const optionalTime = (description: string) => instant.optional().describe(`${description} (RFC 3339, any offset)`);
const languageTag = z.string().regex(/^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}$/);
const language = (description: string) => languageTag.optional().describe(`${description} (BCP 47 tag)`);
const zone = z.string().max(64).refine(isTimeZone, 'invalid_time_zone');
const address = z.string().max(2048).refine(isStorable, 'invalid_text').refine(isWebAddress, 'invalid_url');
const webAddress = address.meta({ format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://' });

const platform = z
  .enum(['chat', 'email', 'voice', 'sms', 'whatsapp', 'messenger', 'instagram', 'telegram', 'line', 'api', 'unknown'])
  .describe('Where the conversation takes place');
const scope = z
  .enum(['global', 'operator', 'team', 'subsite'])
  .default('global')
  .describe('Who may use it; only global ones are listed by the API');

const externalId = required(200, 'Id of this record in the system it comes from, unique by organization and type');
const website = ref('the website it belongs to');

/** A closed object that begins with its type and external_id; every further member says what it is. */
function record<const T extends RecordType, const S extends z.core.$ZodShape>(type: T, description: string, shape: S) {
  const literal = z.literal(type).describe('Type of the record');
  return z.strictObject({ type: literal, external_id: externalId, ...shape }).meta({ title: type, description });
}

export const recordSchemas = {
  organization: record('organization', 'The owner of everything else', { name: required(240, 'Display name') }),
  website: record('website', 'A website whose support data is stored', {
    organization: ref('its organization'),
    name: required(240, 'Display name'),
    time_zone: zone.describe('IANA time zone of its reports'),
    crm_integrated: flag(false, 'Whether a third-party CRM owns its dispositions, so that they cannot be set here'),
  }),
  subsite: record('subsite', 'A part of a website', { website, name: required(240, 'Display name') }),
  channel: record('channel', 'A way by which conversations reach a website', {
    website,
    name: optional(240, 'Display name'),
    platform,
  }),
  team: record('team', 'A team of operators', {
    website,
    name: optional(240, 'Display name'),
    enabled: flag(true, 'Whether the team takes conversations'),
  }),
  operator: record('operator', 'A person or bot who answers', {
    organization: ref('its organization'),
    name: required(120, 'Display name'),
    email: optional(320, 'E-mail address'),
    role: z.enum(['owner', 'admin', 'operator', 'bot']).describe('Role in the organization'),
    enabled: flag(true, 'Whether the account is in use'),
    websites: refs('the websites it works on').min(1),
    teams: optionalRefs('the teams it is in'),
  }),
  contact: record('contact', 'A known customer', {
    website,
    name: optional(240, 'Full name'),
    first_name: optional(120, 'Given name'),
    last_name: optional(120, 'Family name'),
    email: optional(320, 'Primary e-mail address'),
    mobile: optional(40, 'Mobile number as stored, in any notation'),
    phone: optional(40, 'Phone number as stored, in any notation'),
    company: optional(240, 'Company'),
    language: language('Language of the contact'),
    country: z
      .string()
      .regex(/^[A-Z]{2}$/)
      .optional()
      .describe('Country (ISO 3166-1 alpha-2, upper case)'),
    time_zone: zone.optional().describe('IANA time zone'),
    blocked: flag(false, 'Whether the contact is blocked'),
    deleted: flag(false, 'Whether the contact is deleted: kept, but never shown'),
    created_at: time('Creation'),
    updated_at: optionalTime('Last change'),
  }),
  visitor: record('visitor', 'A browser or device that wrote to a website', {
    website,
    nickname: optional(120, 'Nickname'),
    blocked: flag(false, 'Whether the visitor is blocked'),
    contacts: optionalRefs('the contacts it is actively linked to'),
    created_at: time('First visit'),
    last_seen_at: optionalTime('Last visit'),
  }),
  ai_feature: record('ai_feature', 'An AI feature of a website', {
    website,
    name: required(200, 'Display name'),
    ai_type: z
      .enum([
        'autopilot',
        'ask_ai',
        'copilot',
        'translation',
        'language_detection',
        'spam_checker',
        'spelling_grammar_check',
        'rephrase',
        'chat_summary',
        'metrics',
        'scoring',
        'product_recommendation',
        'email_autopilot',
        'voice_autopilot',
        'citation_summary',
        'unsupported',
      ])
      .describe('What the feature does'),
    enabled: flag(true, 'Whether the feature is switched on'),
    versions: z
      .array(
        z.strictObject({
          version: int(1).describe('Version number'),
          active: flag(false, 'Whether this version is active'),
        }),
      )
      .min(1)
      .max(1000)
      .refine((all) => new Set(all.map((one) => one.version)).size === all.length, 'duplicate')
      .describe('Its versions, each number once; the highest active one is shown, without one the feature is not'),
  }),
  disposition: record('disposition', 'A value with which conversations can be concluded', {
    website,
    value: required(200, 'The value itself'),
    label: required(240, 'Display name'),
    group: optional(120, 'Heading under which it is offered'),
    enabled: flag(true, 'Whether it can be set'),
    position: int(-INT_MAX).default(0).describe('Place in the list, ascending'),
  }),
  saved_response: record('saved_response', 'A prepared answer', {
    website,
    language: languageTag.describe('Its language (BCP 47 tag)'),
    label: required(240, 'Display name'),
    content: text(200_000).describe('The answer; the API shows its first 32,768 characters'),
    category_name: required(240, 'Category'),
    shortcut: optional(120, 'What an operator types to insert it'),
    platform_id: int(-1).default(-1).describe('Platform on which it is offered, -1 for all'),
    scope,
  }),
  saved_link: record('saved_link', 'A prepared link', {
    website,
    label: required(240, 'Display name'),
    url: webAddress.describe('Address (http or https)'),
    kind: z
      .enum(['static', 'dynamic', 'scripted'])
      .default('static')
      .describe('How the address is made; only static ones are listed by the API'),
    scope,
  }),
  offer: record('offer', 'An offer shown to visitors', {
    website,
    name: required(240, 'Display name'),
    offer_type: z.enum(['banner', 'popup', 'proactive_chat', 'link', 'other']).describe('How it is shown'),
    status: z.enum(['draft', 'active', 'paused', 'ended']).describe('Where it stands'),
    url: webAddress.optional().describe('Address it leads to (http or https)'),
    starts_at: optionalTime('Start'),
    ends_at: optionalTime('End'),
  }),
  conversation: record('conversation', 'A conversation; its totals are derived from its messages', {
    website,
    visitor: optionalRef('the visitor who wrote'),
    contacts: optionalRefs('the contacts taking part'),
    channel: optionalRef('the channel it came by'),
    team: optionalRef('the team it is with'),
    subsite: optionalRef('the subsite it belongs to'),
    operator: optionalRef('the operator it is assigned to'),
    status: z
      .enum(['unassigned', 'assigned', 'pending', 'snoozed', 'closed', 'missed', 'spam'])
      .describe('Where it stands'),
    platform,
    language: language('Language of the conversation'),
    subject: optional(2000, 'Subject; the API shows its first 500 characters'),
    disposition: optional(200, 'Value of its disposition'),
    rating: z
      .strictObject({
        label: required(120, 'Rating in words'),
        score: int(-INT_MAX).optional().describe('Rating as a number'),
      })
      .optional()
      .describe('What the visitor thought of it'),
    created_at: time('Creation'),
    updated_at: time('Last change'),
    first_response_at: optionalTime('First reply of an operator or bot'),
    closed_at: optionalTime('Closing'),
  }),
  message: record('message', 'A message in a conversation', {
    conversation: ref('its conversation'),
    author_type: z.enum(['visitor', 'operator', 'bot', 'system']).describe('Kind of author'),
    author: optionalRef('the author: a visitor if author_type is visitor, otherwise an operator'),
    visibility: z.enum(['public', 'internal']).describe('Internal messages are notes that the visitor never sees'),
    kind: z
      .enum(['text', 'html', 'event', 'form', 'voice_transcript', 'attachment_only'])
      .describe('What the text is; html is converted to plain text on the way in'),
    text: optional(1_000_000, 'Text; the API shows its first 32,768 characters'),
    language: language('Language of the text'),
    created_at: time('Creation'),
    edited_at: optionalTime('Last edit'),
    delivery_status: z
      .enum(['sent', 'delivered', 'read', 'failed', 'unknown'])
      .default('unknown')
      .describe('How far it got'),
    in_reply_to: optionalRef('the message it answers'),
    ai_generated: flag(false, 'Whether AI wrote it'),
    ai_feature: optionalRef('the AI feature that wrote it'),
    redacted: flag(false, 'Whether its text was removed; the API then shows none'),
  }),
  file: record('file', 'A file attached to a message; exactly one of content_base64 and path', {
    message: ref('the message it is attached to'),
    name: required(1024, 'File name; folders and control characters are removed, 255 characters are kept'),
    media_type: z
      .string()
      .max(127)
      .regex(
        /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: ?; ?[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ -!#-[\]-~]*"))*$/,
      )
      .describe('Media type (RFC 9110)'),
    content_base64: z
      .string()
      .max(INLINE_FILE_MAX)
      .refine(isBase64, 'invalid_base64')
      .meta({ contentEncoding: 'base64' })
      .optional()
      .describe('Content in base64, at most 32 MiB of bytes'),
    path: text(1024, 1)
      .refine(isInsideFolder, 'invalid_path')
      .optional()
      .describe('Where the content is, relative to the folder of the NDJSON file and never outside it'),
    disposition: z
      .enum(['inline', 'attachment'])
      .default('attachment')
      .describe('How it was shown in the conversation'),
    created_at: time('Creation'),
    width: int(0).optional().describe('Width in pixels'),
    height: int(0).optional().describe('Height in pixels'),
    duration_ms: int(0).optional().describe('Duration in milliseconds'),
  })
    .refine((file) => file.content_base64 !== undefined || file.path !== undefined, {
      path: ['content_base64'],
      error: 'missing',
    })
    .refine((file) => file.content_base64 === undefined || file.path === undefined, {
      path: ['path'],
      error: 'conflicting_members',
    })
    .meta({ oneOf: [{ required: ['content_base64'] }, { required: ['path'] }] }),
  note: record('note', "An operator's note on a visitor", {
    visitor: ref('the visitor'),
    operator: optionalRef('the operator who wrote it'),
    title: optional(240, 'Title'),
    text: required(200_000, 'Text; the API shows its first 32,768 characters'),
    created_at: time('Creation'),
  }),
  ai_result: record('ai_result', 'What an AI session found out about a conversation', {
    conversation: ref('its conversation'),
    topics: z.array(text(120, 1)).max(100).default([]).describe('Topics'),
    sentiment: z.number().min(-1).max(1).optional().describe('Mood of the visitor, -1 (bad) to 1 (good)'),
    confidence: z.number().min(0).max(1).optional().describe('How sure the classification is, 0 to 1'),
    resolution: optional(120, 'How the request was resolved'),
    first_contact_resolved: z.boolean().optional().describe('Whether the first contact resolved it'),
    outcome: optional(120, 'How the AI session ended'),
  }),
  delete: z
    .strictObject({
      type: z.literal('delete').describe('Type of the record'),
      of: recordType.exclude(['delete']).describe('Type of the record to remove'),
      external_id: text(200, 1).describe('external_id of the record to remove'),
    })
    .meta({ title: 'delete', description: 'Removes a record and what depends on it' }),
};

/** A checked record: optional members may be absent, members with a default never are. Times are still strings. */
export type ImportRecord = z.infer<(typeof recordSchemas)[RecordType]>;
/** A record as a source writes it. */
export type ImportRecordInput = z.input<(typeof recordSchemas)[RecordType]>;

/** The published JSON Schema (draft 2020-12) of a record type: what `gateway import --schema TYPE` prints. */
export function recordJsonSchema(type: RecordType): z.core.JSONSchema.JSONSchema {
  return z.toJSONSchema(recordSchemas[type], { target: 'draft-2020-12', io: 'input' });
}

export interface Reference {
  /** Member that holds an external_id, or a list of them when `many`. */
  readonly member: string;
  readonly to: RecordType;
  readonly many: boolean;
  /** Only for records whose author_type is one of these: a message's author is a visitor or an operator. */
  readonly authorTypes?: readonly string[];
}

const one = (member: string, to: RecordType): Reference => ({ member, to, many: false });
const many = (member: string, to: RecordType): Reference => ({ member, to, many: true });
const ofWebsite = one('website', 'website');

/** Which member of a record refers to which type. `delete` names its target itself (of, external_id). */
export const REFERENCES: Readonly<Record<RecordType, readonly Reference[]>> = {
  organization: [],
  website: [one('organization', 'organization')],
  subsite: [ofWebsite],
  channel: [ofWebsite],
  team: [ofWebsite],
  operator: [one('organization', 'organization'), many('websites', 'website'), many('teams', 'team')],
  contact: [ofWebsite],
  visitor: [ofWebsite, many('contacts', 'contact')],
  ai_feature: [ofWebsite],
  disposition: [ofWebsite],
  saved_response: [ofWebsite],
  saved_link: [ofWebsite],
  offer: [ofWebsite],
  conversation: [
    ofWebsite,
    one('visitor', 'visitor'),
    many('contacts', 'contact'),
    one('channel', 'channel'),
    one('team', 'team'),
    one('subsite', 'subsite'),
    one('operator', 'operator'),
  ],
  message: [
    one('conversation', 'conversation'),
    { member: 'author', to: 'visitor', many: false, authorTypes: ['visitor'] },
    { member: 'author', to: 'operator', many: false, authorTypes: ['operator', 'bot', 'system'] },
    one('in_reply_to', 'message'),
    one('ai_feature', 'ai_feature'),
  ],
  file: [one('message', 'message')],
  note: [one('visitor', 'visitor'), one('operator', 'operator')],
  ai_result: [one('conversation', 'conversation')],
  delete: [],
};

const problemCode = z.enum([
  'conflicting_members',
  'duplicate',
  'invalid_base64',
  'invalid_path',
  'invalid_text',
  'invalid_time',
  'invalid_time_zone',
  'invalid_type',
  'invalid_url',
  'invalid_value',
  'missing',
  'out_of_range',
  'too_long',
  'too_short',
  'unknown_member',
  'unknown_type',
]);
/** What can be wrong with a record: closed, and it never carries a value of the record. */
export type ProblemCode = z.infer<typeof problemCode>;

export interface Problem {
  /** JSON Pointer (RFC 6901) into the record; empty for the record itself. */
  readonly pointer: string;
  readonly code: ProblemCode;
}

export type ParsedRecord =
  | { readonly ok: true; readonly record: ImportRecord }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const PROBLEMS_MAX = 20;
/** A member name comes from the file and may be anything, also very long. */
const SEGMENT_MAX = 100;

const parsers: Readonly<Record<RecordType, z.ZodType<ImportRecord>>> = recordSchemas;
const types = new Map<unknown, RecordType>(RECORD_TYPES.map((type) => [type, type]));

/** Checks one decoded line. Never throws; at most 20 problems, in the order of the schema. */
export function parseRecord(json: unknown): ParsedRecord {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return failed('', 'invalid_type');
  const named = 'type' in json ? json.type : undefined;
  if (named === undefined) return failed('/type', 'missing');
  const type = types.get(named);
  if (type === undefined) return failed('/type', typeof named === 'string' ? 'unknown_type' : 'invalid_type');
  const result = parsers[type].safeParse(json);
  if (result.success) return { ok: true, record: result.data };
  const problems = result.error.issues.flatMap((issue) => explain(issue, json));
  return { ok: false, problems: problems.slice(0, PROBLEMS_MAX) };
}

const failed = (pointer: string, code: ProblemCode): ParsedRecord => ({ ok: false, problems: [{ pointer, code }] });

function explain(issue: z.core.$ZodIssue, json: unknown): Problem[] {
  const pointer = pointerTo(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ pointer: pointerTo([...issue.path, key]), code: 'unknown_member' }));
    case 'invalid_type':
    case 'invalid_value':
      if (valueAt(json, issue.path) === undefined) return [{ pointer, code: 'missing' }];
      return [{ pointer, code: issue.code }];
    case 'too_big':
      return [{ pointer, code: isSized(issue.origin) ? 'too_long' : 'out_of_range' }];
    case 'too_small':
      return [{ pointer, code: isSized(issue.origin) ? 'too_short' : 'out_of_range' }];
    case 'custom':
      return [{ pointer, code: problemCode.options.find((code) => code === issue.message) ?? 'invalid_value' }];
    default:
      return [{ pointer, code: 'invalid_value' }];
  }
}

const isSized = (origin: string): boolean => origin === 'string' || origin === 'array';

function pointerTo(path: readonly PropertyKey[]): string {
  return path
    .map(
      (part) =>
        `/${String(part)
          .slice(0, SEGMENT_MAX)
          .replaceAll(/[\p{Surrogate}\p{Cc}]/gu, '\u{fffd}')
          .replaceAll('~', '~0')
          .replaceAll('/', '~1')}`,
    )
    .join('');
}

function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.getOwnPropertyDescriptor(value, part)?.value;
  }
  return value;
}
