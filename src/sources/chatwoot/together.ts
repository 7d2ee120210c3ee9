import { type Fragment, raw, sql } from '../../core/sql.ts';
import { type Change, PositionLost } from '../source.ts';
import { type Desk, PAGE_BYTES, PAGE_ROWS, sizesOf, tell } from './desk.ts';
import { type DeskKind, filter, KINDS, RECORDS } from './kinds.ts';
import { fitting } from './load.ts';
import { idOf, type Made, noteIdOf } from './map.ts';

/** Rows to read together. */
export interface Wanted {
  readonly rows: ReadonlyMap<DeskKind, ReadonlySet<string>>;
  /** Users whose membership changed. Their records come even if no row names these users. */
  readonly members: ReadonlySet<string>;
  /** Contents of files that changed. */
  readonly blobs: ReadonlySet<string>;
  /** True to leave out the notes of the visitors, and the saved responses of the account. */
  readonly alone?: boolean;
}

export interface ToldAll {
  readonly changes: readonly Change[];
  readonly records: readonly Made[];
}

const list = (ids: ReadonlySet<string> | undefined): string[] => [...(ids ?? [])];

/** Counts the attachments of each content that has any. */
export async function attachmentCounts(desk: Desk, blobs: readonly string[]): Promise<Map<string, number>> {
  if (blobs.length === 0) return new Map();
  const rows = await desk.db.read<{ id: string; rows: number }>(
    sql`SELECT l.blob_id::text AS id, count(*)::integer AS rows FROM ${raw(desk.table('active_storage_attachments'))} l
         WHERE l.record_type = 'Attachment' AND l.blob_id = ANY(${blobs}::bigint[]) GROUP BY l.blob_id`,
  );
  return new Map(rows.map((row) => [row.id, row.rows]));
}

/** Returns the attachments with these contents. A content with more attachments than a page needs a comparison. */
async function attachmentsOf(desk: Desk, blobs: readonly string[]): Promise<string[]> {
  if (blobs.length === 0) return [];
  const rows = await desk.db.read<{ id: string }>(
    sql`SELECT DISTINCT l.record_id::text AS id FROM ${raw(desk.table('active_storage_attachments'))} l
         WHERE l.record_type = 'Attachment' AND l.blob_id = ANY(${blobs}::bigint[]) LIMIT ${PAGE_ROWS + 1}::integer`,
  );
  if (rows.length > PAGE_ROWS) throw new PositionLost('a content that changed has too many attachments');
  return rows.map(({ id }) => id);
}

/** The notes of the visitors' contacts, by visitor. */
async function notesOf(desk: Desk, visitors: readonly string[]): Promise<{ visitor: string; note: string }[]> {
  if (visitors.length === 0) return [];
  return desk.db.read<{ visitor: string; note: string }>(
    sql`SELECT v.id::text AS visitor, n.id::text AS note FROM ${raw(desk.table('contact_inboxes'))} v
          JOIN ${raw(desk.queries.notes.from)} ON n.contact_id = v.contact_id
         WHERE ${raw(filter(desk.queries.notes.own))} AND v.id = ANY(${visitors}::bigint[]) ORDER BY 1, 2`,
  );
}

/** All rows of a kind. Only for kinds with few rows. */
export async function allOf(desk: Desk, kind: DeskKind): Promise<string[]> {
  const { key, from, own } = desk.queries[kind];
  const rows = await desk.db.read<{ id: string }>(
    sql`SELECT ${raw(`${key}::text AS id FROM ${from} WHERE ${own} ORDER BY ${key}`)}`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Returns the saved responses, which must change with the language of the account. At most one page: the next
 * comparison brings the rest.
 */
async function responsesAlong(desk: Desk): Promise<readonly string[]> {
  const ids = await allOf(desk, 'canned_responses');
  const sizes = await sizesOf(desk, 'canned_responses', ids);
  return fitting(ids, (id) => sizes.get(id) ?? 0);
}

/** Reads rows, and the rows whose records depend on them. */
export async function tellAll(desk: Desk, wanted: Wanted): Promise<ToldAll> {
  const { names } = desk;
  const rows = new Map([...wanted.rows].map(([kind, ids]) => [kind, new Set(ids)]));
  const add = (kind: DeskKind, ids: readonly string[]): void => {
    rows.set(kind, new Set([...(rows.get(kind) ?? []), ...ids]));
  };
  add('attachments', await attachmentsOf(desk, list(wanted.blobs)));
  if (wanted.alone !== true && rows.get('accounts')?.size) add('canned_responses', await responsesAlong(desk));
  const visitors = wanted.alone === true ? [] : list(rows.get('contact_inboxes'));
  const notes = await notesOf(desk, visitors);
  const along = new Map<string, string[]>();
  for (const { note, visitor } of notes) {
    if (!rows.get('notes')?.has(note)) along.set(note, [...(along.get(note) ?? []), visitor]);
  }

  const changes: Change[] = [];
  const records: Made[] = [];
  const former = new Set<string>();
  const read = async (kind: DeskKind, ids: readonly string[], options = {}): Promise<void> => {
    if (ids.length === 0) return;
    const told = await tell(desk, kind, ids, options);
    changes.push(...told.changes);
    records.push(...told.records);
    for (const id of told.former) former.add(id);
  };
  for (const kind of KINDS) {
    await read(
      kind,
      list(rows.get(kind)).filter((id) => kind !== 'users' || !wanted.members.has(id)),
    );
  }
  // The other visitors of the same contacts keep their notes.
  await read('notes', [...along.keys()], { visitors: along });
  // A bot becomes an operator with its first message.
  const bots = new Map<DeskKind, Set<string>>();
  for (const { author } of records) {
    const [kind, id] = (typeof author === 'string' && parsedId(names.account, author)) || [];
    if ((kind === 'agent_bots' || kind === 'captain_assistants') && id !== undefined && !rows.get(kind)?.has(id))
      bots.set(kind, (bots.get(kind) ?? new Set()).add(id));
  }
  for (const [kind, ids] of bots) changes.push(...(await tell(desk, kind, [...ids])).changes);
  await read('users', [...new Set([...wanted.members, ...former])], { anyUser: true });
  const present = new Set(records.map(({ external_id }) => external_id));
  for (const visitor of visitors.filter((id) => present.has(idOf(names, 'contact_inboxes', id)))) {
    // A visitor whose contact changed keeps only the notes of the new contact.
    changes.push({
      from: `contact_inboxes/${visitor}`,
      only: { of: 'note', prefix: idOf(names, 'notes', ''), owner: idOf(names, 'contact_inboxes', visitor) },
      keep: notes.filter((one) => one.visitor === visitor).map(({ note }) => noteIdOf(names, note, visitor)),
    });
  }
  return { changes, records };
}

const WORDS = new Map(KINDS.map((kind) => [RECORDS[kind].word, kind]));

/** Reads an external id of this account. */
export function parsedId(account: number, externalId: string): readonly [DeskKind, string] | undefined {
  const [, owner, word = '', id = ''] = /^cw:(\d+):([a-z_]+):(\d{1,18})(?::\d{1,18})?$/.exec(externalId) ?? [];
  const kind = WORDS.get(word);
  return owner === String(account) && kind !== undefined ? [kind, id] : undefined;
}

/** The rows that a record names. */
function parents(record: Made, account: number): (readonly [DeskKind, string])[] {
  const { visitor, contacts, channel, team, operator, conversation, author, in_reply_to, message, teams } = record;
  return [visitor, channel, team, operator, conversation, author, in_reply_to, message, contacts, teams]
    .flat()
    .flatMap((one) => {
      const parsed = typeof one === 'string' ? parsedId(account, one) : undefined;
      return parsed === undefined ? [] : [parsed];
    });
}

/** How many references follow each other: file, message, conversation, visitor, contact. */
const DEPTH = 5;

/**
 * Adds the rows to which records refer, if the outbox has unread entries about them. At most one page. A record whose
 * parent is not added waits for it.
 */
export async function pendingParents(desk: Desk, told: ToldAll, unread: Fragment): Promise<readonly Change[]> {
  const changes = [...told.changes];
  const done = new Set(changes.map(({ from }) => from));
  let records = told.records;
  let left = PAGE_BYTES;
  for (let depth = 0; depth < DEPTH && records.length > 0 && left > 0; depth += 1) {
    const named = new Map(
      records
        .flatMap((record) => parents(record, desk.names.account))
        .map(([kind, id]) => [`${kind}/${id}`, [kind, id] as const]),
    );
    const open = [...named].filter(([name]) => !done.has(name)).map(([, parent]) => parent);
    if (open.length === 0) break;
    const found = await desk.db.read<{ kind: DeskKind; id: string }>(
      sql`SELECT DISTINCT w.kind, x.id::text AS id FROM gateway_outbox.change x
            JOIN unnest(${open.map(([kind]) => kind)}::text[], ${open.map(([, id]) => id)}::bigint[]) AS w (kind, id)
              ON w.id = x.id AND (x.kind = w.kind OR (x.kind = 'members' AND w.kind = 'users')) WHERE ${unread}`,
    );
    const sizes = new Map<string, number>();
    for (const kind of KINDS) {
      const ids = found.filter((one) => one.kind === kind).map(({ id }) => id);
      for (const [id, bytes] of await sizesOf(desk, kind, ids, { along: false })) sizes.set(`${kind}/${id}`, bytes);
    }
    const sizeOf = ({ kind, id }: { kind: DeskKind; id: string }): number => sizes.get(`${kind}/${id}`) ?? 0;
    const rows = new Map<DeskKind, Set<string>>();
    for (const one of fitting(found, sizeOf, left)) {
      rows.set(one.kind, (rows.get(one.kind) ?? new Set()).add(one.id));
      left -= sizeOf(one);
    }
    const more = await tellAll(desk, { rows, members: new Set(), blobs: new Set(), alone: true });
    changes.push(...more.changes);
    for (const { from } of more.changes) done.add(from);
    records = more.records;
  }
  return changes;
}
