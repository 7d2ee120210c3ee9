/**
 * Makes import records from rows of Chatwoot. The functions are pure.
 *
 * If a record is rejected, all records that refer to it are rejected too. So a short text that is too long is
 * shortened, and an address or a number that is too long is left out. `unmapped` counts these values. The text of a
 * message, a note or a saved response stays whole, and the import refuses it if it is too long. No other value is
 * changed, so that a reject names the value as Chatwoot has it.
 */
import { brief, country, filled, localeTag, platformOf, shortened, tag, whole } from './attributes.ts';
import type { DeskKind } from './kinds.ts';
import { MAX, RECORDS } from './kinds.ts';
import { unmarked } from './mark.ts';

/** A row of one of the queries. All values are texts. */
export type DeskRow = Readonly<Record<string, string | null>> & { readonly id: string };
export type Made = Readonly<Record<string, unknown>> & { readonly type: string; readonly external_id: string };

export interface Names {
  readonly account: number;
  readonly timeZone: string;
  /** The external id of the organization that owns the website. */
  readonly organization: string;
  /** True when the source makes the organization itself. */
  readonly makesOrganization: boolean;
  /** True when the gateway can read the folder with Chatwoot's files. */
  readonly storage: boolean;
}

/** Makes the external id of a row. */
export const idOf = ({ account }: Pick<Names, 'account'>, kind: DeskKind, id: string | number): string =>
  `cw:${account}:${RECORDS[kind].word}:${id}`;

export const websiteOf = (names: Pick<Names, 'account'>): string => idOf(names, 'accounts', names.account);

/** Makes the external id of the row, or undefined when there is no row. */
export const refTo = (names: Names, kind: DeskKind, id: string | null | undefined): string | undefined =>
  id === null || id === undefined ? undefined : idOf(names, kind, id);

/** Leaves out the members without a value. */
export function record(type: string, external_id: string, members: Readonly<Record<string, unknown>>): Made {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return { type, external_id, ...Object.fromEntries(given) };
}

const ids = (list: string | null | undefined): string[] => (list ? list.split(',') : []);

type Maker = (row: DeskRow, names: Names) => readonly Made[];

const account: Maker = (row, names) => [
  ...(names.makesOrganization
    ? [record('organization', names.organization, { name: brief(row['name'], MAX.name) })]
    : []),
  record('website', idOf(names, 'accounts', row.id), {
    organization: names.organization,
    name: brief(row['name'], MAX.name),
    time_zone: names.timeZone,
  }),
];

/** The maker of a kind whose rows have one record each. */
const one =
  (kind: DeskKind, members: (row: DeskRow, names: Names) => Readonly<Record<string, unknown>>): Maker =>
  (row, names) => [record(RECORDS[kind].of, idOf(names, kind, row.id), members(row, names))];

const inbox = one('inboxes', (row, names) => ({
  website: websiteOf(names),
  name: brief(row['name'], MAX.name),
  platform: platformOf(row['channel_type'] ?? null),
}));

const team = one('teams', (row, names) => ({
  website: websiteOf(names),
  name: brief(row['name'], MAX.name),
  enabled: true,
}));

const user = one('users', (row, names) => ({
  organization: names.organization,
  name: shortened(row['name'] ?? '', MAX.operator),
  role: row['role'] === '1' ? 'admin' : 'operator',
  enabled: row['member'] === 'true',
  websites: [websiteOf(names)],
  // A job removes a former agent from the teams later, and no entry may name the agent then.
  teams: row['member'] === 'true' ? ids(row['teams']).map((id) => idOf(names, 'teams', id)) : [],
}));

const bot = (kind: 'agent_bots' | 'captain_assistants'): Maker =>
  one(kind, (row, names) => ({
    organization: names.organization,
    name: shortened(row['name'] ?? '', MAX.operator),
    role: 'bot',
    enabled: true,
    websites: [websiteOf(names)],
    teams: [],
  }));

const contact = one('contacts', (row, names) => {
  const first = filled(row['name']);
  const last = filled(row['last_name']);
  // Older versions of Chatwoot keep the full name in `name`. Only a family name shows that the name is split.
  const split = last !== undefined;
  return {
    website: websiteOf(names),
    name: brief(split && first !== undefined ? `${first} ${last}` : (first ?? last), MAX.name),
    first_name: split ? brief(first, MAX.namePart) : undefined,
    last_name: brief(last, MAX.namePart),
    email: whole(row['email'], MAX.email),
    mobile: whole(row['phone_number'], MAX.phone),
    company: brief(row['company'], MAX.company),
    country: country(row['country_code'] ?? null, row['country_attribute'] ?? null),
    blocked: row['blocked'] === 'true',
    created_at: row['created_at'],
  };
});

const visitor = one('contact_inboxes', (row, names) => ({
  website: websiteOf(names),
  contacts: row['contact'] ? [idOf(names, 'contacts', row['contact'])] : [],
  created_at: row['created_at'],
  last_seen_at: row['last_seen_at'],
}));

const savedResponse = one('canned_responses', (row, names) => ({
  website: websiteOf(names),
  language: localeTag(row['locale'] ?? null),
  label: shortened(row['short_code'] ?? '', MAX.label),
  // Leave a shortcut out if it is too long: a cut shortcut would insert nothing.
  shortcut: whole(row['short_code'], MAX.shortcut),
  content: row['content'] ?? '',
  category_name: 'Chatwoot',
  scope: 'global',
}));

const STATUSES: Readonly<Record<string, string>> = { 1: 'closed', 2: 'pending', 3: 'snoozed' };

function ratingOf(row: DeskRow): { label: string; score: number } | undefined {
  const score = row['rating'];
  if (score === null || score === undefined) return undefined;
  return { label: brief(row['feedback'], MAX.rating) ?? score, score: Number(score) };
}

const conversation = one('conversations', (row, names) => {
  const status = row['status'] ?? '';
  return {
    website: websiteOf(names),
    visitor: refTo(names, 'contact_inboxes', row['visitor']),
    contacts: row['contact'] ? [idOf(names, 'contacts', row['contact'])] : [],
    channel: refTo(names, 'inboxes', row['channel']),
    team: refTo(names, 'teams', row['team']),
    operator: refTo(names, 'users', row['operator']),
    // The import refuses a status that this mapping does not know.
    status: status === '0' ? (row['assigned'] === 'true' ? 'assigned' : 'unassigned') : (STATUSES[status] ?? status),
    platform: platformOf(row['channel_type'] ?? null),
    language: tag(row['language'] ?? null),
    subject: brief(row['subject'], MAX.subject),
    rating: ratingOf(row),
    created_at: row['created_at'],
    updated_at: row['updated_at'],
    first_response_at: row['first_response_at'],
    closed_at: row['closed_at'],
  };
});

const file = one('attachments', (row, names) => {
  const { key } = row;
  // Services other than `local` keep the content elsewhere. `size` without a path means: content not available.
  const local = names.storage && key && (row['service'] ?? 'local') === 'local';
  return {
    message: refTo(names, 'messages', row['message']),
    name: brief(row['name'], MAX.fileName) ?? 'file',
    media_type: filled(row['media_type']) ?? 'application/octet-stream',
    created_at: row['created_at'],
    size: Number(row['size'] ?? 0),
    ...(local && { path: `${key.slice(0, 2)}/${key.slice(2, 4)}/${key}` }),
  };
});

export const noteIdOf = (names: Pick<Names, 'account'>, id: string, visitorId: string): string =>
  `${idOf(names, 'notes', id)}:${visitorId}`;

/** Chatwoot's notes belong to a contact. The gateway's notes belong to a visitor, so each visitor gets the note. */
const note: Maker = (row, names) =>
  ids(row['visitors']).map((visitorId) =>
    record('note', noteIdOf(names, row.id, visitorId), {
      visitor: idOf(names, 'contact_inboxes', visitorId),
      operator: refTo(names, 'users', row['operator']),
      text: unmarked(row['content'] ?? ''),
      created_at: row['created_at'],
    }),
  );

export const MAKERS: Readonly<Record<Exclude<DeskKind, 'messages'>, Maker>> = {
  accounts: account,
  inboxes: inbox,
  teams: team,
  users: user,
  agent_bots: bot('agent_bots'),
  captain_assistants: bot('captain_assistants'),
  contacts: contact,
  contact_inboxes: visitor,
  canned_responses: savedResponse,
  conversations: conversation,
  attachments: file,
  notes: note,
};
