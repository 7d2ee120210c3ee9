import type { AuditDraft } from '../../core/audit.ts';
import { Fragment, sql } from '../../core/sql.ts';
import { audited } from '../calls/audited.ts';
import type { Database } from '../driver/postgres.ts';
import { readUnsealed } from './records.ts';

/**
 * The organization of the first of these ids that a stored app, credential, person or other object has. `ref`: the
 * organization itself, by id or external_id.
 */
export async function organizationOf(
  db: Database,
  ids: readonly string[],
  ref: string | undefined,
): Promise<string | undefined> {
  const [row] = await db.read<{ id: string }>(sql`
    WITH given AS (SELECT id FROM unnest(${ids}::text[]) AS g (id)),
    credential AS (
      SELECT id FROM given UNION SELECT e.credential_id FROM given JOIN gateway.webhook_endpoint e USING (id)
       UNION SELECT c.credential_id FROM given JOIN gateway.consent c USING (id)),
    installation AS (SELECT id FROM given UNION SELECT c.installation_id FROM credential JOIN gateway.credential c USING (id)),
    app AS (SELECT id FROM given UNION SELECT i.app_id FROM installation JOIN gateway.installation i USING (id)),
    tenant AS (
      SELECT a.tenant FROM app JOIN gateway.app a USING (id)
       UNION SELECT p.tenant FROM given JOIN gateway.person p USING (id)
       UNION SELECT s.tenant FROM given JOIN gateway.source s USING (id)
       UNION SELECT w.tenant FROM given JOIN platform.website w ON given.id = 'web_' || w.tenant || '_' || w.site
       UNION SELECT o.tenant FROM platform.organization o WHERE ${ref ?? null}::text IN (o.external_id, o.public_id))
    SELECT o.public_id AS id FROM tenant JOIN platform.organization o USING (tenant) LIMIT 1`);
  return row?.id;
}

/** Inserts the record of a change that has none. A serving process seals it. */
export async function insertRecord(db: Database, draft: AuditDraft): Promise<void> {
  const entry = sql`'[{"state": "new", "outcome": {}}]'::json`;
  await db.query(sql`SELECT ${audited([draft], 1, entry)}`);
}

const ID = /^(app|ins|crd|prs|cns|whk|src|era)_[0-9a-f]{32}$/;
const STATEMENT = /^\s*(?:(WITH(?:\s+RECURSIVE)?)\s|(?=(?:SELECT|INSERT|UPDATE|DELETE)\s))/;

/** The same statement with a draft, which becomes the record of its first changed row (27_console.sql). */
function carrying(draft: AuditDraft, { texts, values, app }: Fragment): Fragment | undefined {
  const [first = '', ...rest] = texts;
  const start = STATEMENT.exec(first);
  if (!start) return undefined;
  // PostgreSQL always runs an INSERT of a WITH list, even if nothing reads it. This one inserts no row.
  const before = `${start[1] ?? 'WITH'} noted AS (INSERT INTO gateway.sign_in_link (digest) SELECT NULL::bytea
   WHERE set_config('gateway.change', `;
  const after = `::text, true) IS NULL)${start[1] === undefined ? ' ' : ', '}${first.slice(start[0].length)}`;
  return new Fragment([before, after, ...rest], [JSON.stringify(draft.members), ...values], app);
}

/**
 * The same database for one change with its audit record. The statement that changes a row first inserts the record in
 * its own transaction: both are there, or none. `draftOf` gets the ids among the values of a statement. The draft says
 * afterwards whether it was inserted. Later statements carry none.
 */
export function recording(
  db: Database,
  draftOf: (ids: readonly string[]) => Promise<AuditDraft | undefined> | AuditDraft | undefined,
): Database {
  let recorded = false;
  return {
    ...db,
    query: async <Row extends object>(statement: Fragment): Promise<Row[]> => {
      // What the statement concerns comes before its lists, such as the approvers of a credential.
      const values = [
        ...statement.values.filter((one) => !Array.isArray(one)),
        ...statement.values.filter(Array.isArray).flat(),
      ];
      const ids = values.filter((one): one is string => typeof one === 'string' && ID.test(one));
      const draft = recorded ? undefined : await draftOf([...new Set(ids)]);
      const noted = draft && carrying(draft, statement);
      if (!noted) return db.query<Row>(statement);
      const rows = await db.query<Row>(noted);
      // The change is done. If nobody can look now, the record counts as inserted: a command must still tell what it has
      // made, such as a secret that is shown once.
      const kept = await readUnsealed(db, [draft.id]).then(
        (found) => found.length > 0,
        () => true,
      );
      recorded ||= kept;
      draft.inserted ||= kept;
      return rows;
    },
  };
}
