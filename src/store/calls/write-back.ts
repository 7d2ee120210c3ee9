import { websiteKey } from '../../core/ids.ts';
import { sql } from '../../core/sql.ts';
import type { Ending, RemoteCommand } from '../../core/writes.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';
import { LEASE } from './ledger.ts';

/** The source that gets a write. The address and the token are encrypted. */
export interface WriteBackSource {
  readonly source: string;
  readonly kind: string;
  readonly account: string;
  readonly address: string;
  readonly api_url: string;
  readonly api_token: string;
  /** The account of the helpdesk whose records the website has: a digest. Null if no gateway has read it yet. */
  readonly installation: string | null;
  /** The external_id of the contact or the conversation. */
  readonly target: string;
}

/** A write that was sent, and whose outcome is not known yet. */
export interface SentWrite extends WriteBackSource {
  /** The name of the write, for example `visitor_note_add`. */
  readonly operation: string;
}

export interface PreparedWrite extends WriteBackSource {
  /** The name of the operator who is the author. */
  readonly author: string;
  /** The external_id of the operator or the team that gets the conversation. Null if nobody gets it. */
  readonly given: string | null;
}

/** Prepares a reserved write. `busy`: another write changes the conversation. An ending: the write does not start. */
export async function prepareWriteBack(
  db: Database,
  { operationId, website, author, command }: RemoteCommand,
): Promise<PreparedWrite | { readonly busy: true } | Exclude<Ending, { done: unknown }>> {
  const [, tenant = '', site = ''] = website.split('_');
  const key = websiteKey(tenant, site);
  const [row] = await repeated(() =>
    db.query<{ prepared: Omit<PreparedWrite, 'installation'>; installation: string | null }>(sql`
      SELECT gateway.write_back_begin(${operationId}, ${key.tenant}, ${key.site}, ${command.operation},
        ${JSON.stringify(command)}::text::jsonb, ${author}::bigint, ${LEASE}::integer * interval '1 millisecond') AS prepared,
        (SELECT i.account FROM gateway.source_installation i
          WHERE i.tenant = ${key.tenant} AND i.site = ${key.site}) AS installation`),
  );
  if (!row) throw new Error('the store did not prepare a write');
  return { ...row.prepared, installation: row.installation };
}

/** Reads where to look for the effect of a write. Undefined if it never started, or if its source is paused or gone. */
export async function sentWriteBack(db: Database, operationId: string): Promise<SentWrite | undefined> {
  const [row] = await db.read<SentWrite>(sql`
    SELECT w.source, s.kind, s.account, s.address, s.api_url, s.api_token, i.account AS installation, w.target, o.operation
      FROM gateway.write_back w JOIN gateway.operation o USING (operation_id) JOIN gateway.source s ON s.id = w.source
      LEFT JOIN gateway.source_installation i ON i.tenant = w.tenant AND i.site = w.site
     WHERE w.operation_id = ${operationId} AND s.api_token IS NOT NULL AND NOT s.paused`);
  return row;
}

type Done = Readonly<Record<string, unknown>>;

/** Stores a note that the helpdesk has accepted. Returns the result of the write. */
export const storeSentNote = (
  db: Database,
  operationId: string,
  { prefix, text, at }: { readonly prefix: string; readonly text: string; readonly at: string },
): Promise<Done> => stored(db, sql`gateway.write_back_note(${operationId}, ${prefix}, ${text}, ${at}::timestamptz)`);

/** Stores a message that the helpdesk has accepted. Returns the result of the write. */
export const storeSentReply = (
  db: Database,
  operationId: string,
  sent: Readonly<Record<'id' | 'at' | 'text', string>> & {
    readonly author: string | undefined;
    readonly internal: boolean;
  },
): Promise<Done> =>
  stored(
    db,
    sql`gateway.write_back_reply(${operationId}, ${sent.id}, ${sent.author ?? null}::text, ${sent.at}::timestamptz,
                                 ${sent.text}, ${sent.internal})`,
  );

/** Stores a conversation as the helpdesk has it after a status or an assignment. Returns the result of the write. */
export const storeSentChange = (
  db: Database,
  operationId: string,
  sent: { readonly status: string; readonly at: string | undefined; readonly reassigned: boolean } & Readonly<
    Record<'operator' | 'team', string | undefined>
  >,
): Promise<Done> =>
  stored(
    db,
    sql`gateway.write_back_change(${operationId}, ${sent.status}, ${sent.operator ?? null}::text,
                                  ${sent.team ?? null}::text, ${sent.at ?? null}::timestamptz, ${sent.reassigned})`,
  );

/** Stores the current disposition of a conversation in the helpdesk. Returns the result of the write. */
export const storeSentDisposition = (db: Database, operationId: string, value: string): Promise<Done> =>
  stored(db, sql`gateway.write_back_disposition(${operationId}, ${value})`);

async function stored(db: Database, call: ReturnType<typeof sql>): Promise<Done> {
  const [row] = await repeated(() => db.query<{ done: Done | null }>(sql`SELECT ${call} AS done`));
  if (!row?.done) throw new Error('the record of a write is gone');
  return row.done;
}

/** Deletes the record of a write that had no effect. So the next write to the conversation need not wait. */
export async function forgetWriteBack(db: Database, operationId: string): Promise<void> {
  await db.query(sql`DELETE FROM gateway.write_back WHERE operation_id = ${operationId}`);
}
