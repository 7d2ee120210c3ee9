import { newId } from '../auth/issue.ts';
import type { Keyring } from '../auth/keys.ts';
import { sql } from '../core/sql.ts';
import { contactDigests, isErased, type PersonDigest } from '../sources/engine/digests.ts';
import { numberOf } from '../store/driver/answers.ts';
import { sqlState } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { BACKUPS, type Certificate, certificateOf, findErasure, type Kind } from './certificate.ts';
import { makeDigest, openDigest } from './digests.ts';

export interface EraseRequest {
  readonly kind: Kind;
  /** The public id of the contact or the visitor. */
  readonly id: string;
  /** Why the person is erased. It is stored, and must name nobody. */
  readonly reason: string;
  readonly dryRun?: boolean;
  /** The id and the time of an erasure that is repeated in a restored store. */
  readonly as?: { readonly id: string; readonly time: string };
  /** Called after each transaction. */
  readonly onBatch?: () => void;
}

/** How many rows one transaction changes, so that nobody waits long for its locks. */
const NOTES = 200;
const CONVERSATIONS = 200;
const MESSAGES = 500;
/** The most files of one transaction. A file can have 512 pieces. */
const FILES = 50;
/** Rows of the tables in which imports stage records. */
const STAGED = 10_000;

/**
 * Erases a contact with all its visitors, or one visitor. Returns the certificate, or undefined if there is no such person.
 * An erasure that was killed continues with the next call. A second call returns the certificate of the first one.
 */
export async function erase(db: Database, keys: Keyring, request: EraseRequest): Promise<Certificate | undefined> {
  const place = placeOf(request);
  if (place === undefined) return undefined;
  const earlier = await findErasure(db, place.tenant, request.id);
  // A store that was restored from a backup gives the ids after the backup again.
  if (earlier?.finished === true && (await personOf(db, place, request.kind)) === undefined)
    return certificateOf(earlier);
  if (request.dryRun === true) return rehearse(db, keys, place, request);
  const digest = await makeDigest(db, keys);
  const id = earlier?.finished === false ? earlier.id : await begin(db, digest, place, request, earlier?.id);
  if (id === undefined) return undefined;
  const onBatch = request.onBatch ?? (() => undefined);
  do {
    await unstage(db, id, onBatch);
    // An import that had planned the person's records can have written them after the first call.
    await begin(db, digest, place, request);
    await eraseNotes(db, id, onBatch);
    // Once there is no conversation left, no import or source adds to one either.
  } while (await eraseConversations(db, digest, id, onBatch));
  await eraseMessages(db, digest, id, onBatch);
  await eraseElsewhere(db, digest, id, onBatch);
  await again(() => db.query(sql`SELECT gateway.erasure_end(${id})`));
  const ended = await findErasure(db, place.tenant, request.id);
  return ended && certificateOf(ended);
}

interface Place {
  readonly tenant: string;
  readonly site: string;
  readonly native: string;
}

const PREFIXES: Readonly<Record<Kind, string>> = { contact: 'ctc', visitor: 'vis' };

export function placeOf({ kind, id }: Pick<EraseRequest, 'kind' | 'id'>): Place | undefined {
  const [prefix, tenant, site, native, ...rest] = id.split('_');
  const numbers = [tenant, site, native].every((part) => part !== undefined && /^[1-9]\d{0,17}$/.test(part));
  if (prefix !== PREFIXES[kind] || !numbers || rest.length > 0) return undefined;
  return { tenant: tenant ?? '', site: site ?? '', native: native ?? '' };
}

interface ErasedPerson {
  readonly contact: Readonly<Record<string, unknown>> | null;
  readonly visitors: readonly string[];
}

async function personOf(db: Database, { tenant, site, native }: Place, kind: Kind): Promise<ErasedPerson | undefined> {
  const [row] = await db.query<ErasedPerson>(sql`
    SELECT to_jsonb(c) AS contact,
           ARRAY(SELECT v.external_id FROM platform.visitor v
                  WHERE v.tenant = ${tenant} AND v.site = ${site} AND v.id = ANY (
                    gateway.erased_visitors(${kind}, ${tenant}, ${site}, ${native}))) AS visitors
      FROM (SELECT) one LEFT JOIN platform.contact c
        ON ${kind} = 'contact' AND c.tenant = ${tenant} AND c.site = ${site} AND c.id = ${native}`);
  const found = row !== undefined && (kind === 'contact' ? row.contact !== null : row.visitors.length > 0);
  return found ? row : undefined;
}

/** The digest of the person's own external_id comes first. */
function digestsOfPerson(digest: PersonDigest, { contact, visitors }: ErasedPerson): string[] {
  const own =
    contact === null || isErased(String(contact['external_id']))
      ? []
      : [digest('contact', String(contact['external_id'])), ...contactDigests(digest, contact)];
  return [...own, ...visitors.filter((one) => !isErased(one)).map((visitor) => digest('visitor', visitor))];
}

/** The digest of a stored person's external_id. Undefined if there is no such person. */
export async function identityOf(
  db: Database,
  digest: PersonDigest,
  request: Pick<EraseRequest, 'kind' | 'id'>,
): Promise<string | undefined> {
  const place = placeOf(request);
  const person = place && (await personOf(db, place, request.kind));
  return person && digestsOfPerson(digest, person)[0];
}

async function begin(
  db: Database,
  digest: PersonDigest,
  place: Place,
  { kind, id: subject, reason, as }: EraseRequest,
  earlier?: string,
): Promise<string | undefined> {
  const { tenant, site, native } = place;
  const person = await personOf(db, place, kind);
  if (person === undefined) return undefined;
  const digests = digestsOfPerson(digest, person);
  const id = as === undefined || as.id === earlier ? newId('era') : as.id;
  const [row] = await again(() =>
    db.query<{ id: string }>(sql`
      SELECT gateway.erasure_begin(${id}, ${kind}, ${tenant}, ${site}, ${native}, ${subject}, ${digest('subject', subject)},
        ${reason}, ${digests}::text[], ${as?.time ?? null}::text::timestamptz) AS id`),
  );
  return row?.id;
}

/** Removes the person from what imports and sources have read. */
async function unstage(db: Database, id: string, onBatch: () => void): Promise<void> {
  for (let source: string | null = ''; source !== null; ) {
    const after: string = source;
    const [row] = await again(() =>
      db.query<{ id: string | null }>(sql`SELECT gateway.erasure_await(${id}, ${after}) AS id`),
    );
    source = row?.id ?? null;
  }
  for (let slot: number | null = 0; slot !== null; onBatch()) {
    const after: number = slot;
    const [row] = await again(() =>
      db.query<{ slot: number | null }>(sql`SELECT gateway.erasure_unstage(${id}, ${after}, ${STAGED}) AS slot`),
    );
    slot = row?.slot ?? null;
  }
}

async function eraseNotes(db: Database, id: string, onBatch: () => void): Promise<void> {
  for (let erased = NOTES; erased === NOTES; onBatch())
    erased = await numberOf(again(() => db.query(sql`SELECT gateway.erase_notes(${id}, ${NOTES}) AS n`)));
}

/** Returns true if there were conversations. */
async function eraseConversations(
  db: Database,
  digest: PersonDigest,
  id: string,
  onBatch: () => void,
): Promise<boolean> {
  for (let any = false; ; any = true) {
    const found = await db.query<{ id: string; external_id: string | null }>(sql`
      SELECT w.conversation_id AS id, c.external_id FROM gateway.erasure_work w
        LEFT JOIN platform.conversation c ON c.tenant = w.tenant AND c.site = w.site AND c.id = w.conversation_id
       WHERE w.erasure_id = ${id} AND NOT w.shell ORDER BY w.conversation_id LIMIT ${CONVERSATIONS}`);
    if (found.length === 0) return any;
    const digests = found.flatMap(({ external_id: name }) => (name === null ? [] : [digest('conversation', name)]));
    await again(() =>
      db.query(
        sql`SELECT gateway.erase_conversations(${id}, ${found.map((one) => one.id)}::bigint[], ${digests}::text[])`,
      ),
    );
    onBatch();
  }
}

interface FoundMessage {
  readonly id: string | null;
  readonly external_id: string;
  readonly attachments: number;
}

async function eraseMessages(db: Database, digest: PersonDigest, id: string, onBatch: () => void): Promise<void> {
  for (;;) {
    const found = await db.query<FoundMessage & { conversation: string }>(sql`
      SELECT w.conversation_id AS conversation, m.id, m.external_id, m.attachment_count AS attachments
        FROM (SELECT * FROM gateway.erasure_work WHERE erasure_id = ${id} ORDER BY conversation_id LIMIT ${CONVERSATIONS}) w
        LEFT JOIN LATERAL (
          SELECT x.id, x.external_id, x.attachment_count FROM platform.message x
           WHERE x.tenant = w.tenant AND x.site = w.site AND x.conversation_id = w.conversation_id AND x.id > w.done_to
           ORDER BY x.id LIMIT ${MESSAGES}) m ON true
       ORDER BY w.conversation_id, m.id LIMIT ${MESSAGES}`);
    if (found.length === 0) return;
    const batch = withinFiles(found);
    // The last conversation of a full batch can have more messages.
    const last = batch.length === MESSAGES || batch.length < found.length ? batch.at(-1) : undefined;
    const conversations = [...new Set(batch.map(({ conversation }) => conversation))];
    const doneTo = conversations.map((one) => (one === last?.conversation ? last.id : null));
    await clear(db, digest, id, batch, { conversations, doneTo });
    onBatch();
  }
}

/** Clears what the person wrote in conversations of others. */
async function eraseElsewhere(db: Database, digest: PersonDigest, id: string, onBatch: () => void): Promise<void> {
  for (;;) {
    const found = await db.query<FoundMessage>(sql`
      SELECT m.id, m.external_id, m.attachments FROM gateway.erasure e
       CROSS JOIN LATERAL gateway.erased_elsewhere(e, ${MESSAGES}) AS m WHERE e.id = ${id}`);
    if (found.length === 0) return;
    await clear(db, digest, id, withinFiles(found), { conversations: [], doneTo: [] });
    onBatch();
  }
}

async function clear(
  db: Database,
  digest: PersonDigest,
  erasure: string,
  batch: readonly FoundMessage[],
  { conversations, doneTo }: { readonly conversations: string[]; readonly doneTo: (string | null)[] },
): Promise<void> {
  const ids = batch.flatMap(({ id }) => (id === null ? [] : [id]));
  // A file names its message.
  const digests = batch.flatMap((one) => (one.attachments > 0 ? [digest('message', one.external_id)] : []));
  await again(() =>
    db.query(sql`SELECT gateway.erase_messages(${erasure}, ${ids}::bigint[], ${digests}::text[],
      ${conversations}::bigint[], ${doneTo}::bigint[])`),
  );
}

/** The first messages that together have at most FILES files, at least one message. */
function withinFiles<Message extends FoundMessage>(found: readonly Message[]): Message[] {
  let files = 0;
  const end = found.findIndex(({ attachments }, i) => {
    files += attachments;
    return i > 0 && files > FILES;
  });
  return found.slice(0, end === -1 ? found.length : end);
}

/** Counts what an erasure would clear, and changes nothing. */
async function rehearse(
  db: Database,
  keys: Keyring,
  place: Place,
  { kind, id }: EraseRequest,
): Promise<Certificate | undefined> {
  const { tenant, site, native } = place;
  const person = await personOf(db, place, kind);
  if (person === undefined) return undefined;
  const digest = await openDigest(db, () => Promise.resolve(keys), { renews: false });
  const visitors = sql`gateway.erased_visitors(${kind}, ${tenant}, ${site}, ${native})`;
  const [row] = await db.query<{ time: string; organization: string; counts: Record<string, string> }>(sql`
    WITH own AS MATERIALIZED (
      SELECT c.id FROM platform.conversation c
       WHERE c.tenant = ${tenant} AND c.site = ${site} AND c.visitor_id = ANY (${visitors})
       UNION
      SELECT c.id FROM platform.conversation_contact l
        JOIN platform.conversation c ON c.tenant = l.tenant AND c.site = l.site AND c.id = l.conversation_id AND c.visitor_id IS NULL
       WHERE ${kind} = 'contact' AND l.tenant = ${tenant} AND l.site = ${site} AND l.contact_id = ${native}
    ), elsewhere AS MATERIALIZED (
      SELECT m.attachment_count FROM platform.message m
       WHERE m.tenant = ${tenant} AND m.site = ${site} AND m.author_type = 'visitor' AND m.author_id = ANY (${visitors})
         AND m.conversation_id NOT IN (SELECT own.id FROM own)
    )
    SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time,
           (SELECT o.public_id FROM platform.organization o WHERE o.tenant = ${tenant}) AS organization,
           jsonb_build_object(
             'contacts', ${person.contact === null ? 0 : 1}::integer, 'visitors', ${person.visitors.length}::integer,
             'conversations', (SELECT count(*) FROM own),
             'messages', (SELECT count(*) FROM own JOIN platform.message m
                           ON m.tenant = ${tenant} AND m.site = ${site} AND m.conversation_id = own.id)
                       + (SELECT count(*) FROM elsewhere),
             'files', (SELECT count(*) FROM own JOIN platform.file f
                        ON f.tenant = ${tenant} AND f.site = ${site} AND f.conversation_id = own.id)
                    + (SELECT coalesce(sum(attachment_count), 0) FROM elsewhere),
             'notes', (SELECT count(*) FROM platform.note n
                        WHERE n.tenant = ${tenant} AND n.site = ${site} AND n.visitor_id = ANY (${visitors}))) AS counts`);
  if (row === undefined) return undefined;
  const counts = Object.entries(row.counts).map(([table, n]) => [table, Number(n)] as const);
  return {
    erasure_id: null,
    time: row.time,
    kind,
    organization_id: row.organization,
    subject_digest: digest === undefined ? null : digest('subject', id),
    counts: Object.fromEntries(counts.filter(([, n]) => n > 0)),
    backups: BACKUPS,
    dry_run: true,
  };
}

/** How often a statement waits for a lock, which an import or a source holds. Each time takes at most 2 s. */
const PATIENCE = 60;

/** Repeats a statement that PostgreSQL rolled back, because another transaction was in its way. */
async function again<Result>(statement: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await statement();
    } catch (error) {
      const state = sqlState(error);
      const most = state === '55P03' ? PATIENCE : /^40(001|P01)$/.test(state) ? 10 : 0;
      if (attempt >= most) throw error;
    }
  }
}
