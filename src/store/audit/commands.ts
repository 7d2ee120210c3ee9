import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** The organization of the first of these ids that a stored app, credential, person or other object has. */
export async function organizationOf(db: Database, ids: readonly string[]): Promise<string | undefined> {
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
       UNION SELECT w.tenant FROM given JOIN platform.website w ON given.id = 'web_' || w.tenant || '_' || w.site)
    SELECT o.public_id AS id FROM tenant JOIN platform.organization o USING (tenant) LIMIT 1`);
  return row?.id;
}

/** Inserts the record of a command that has changed something. A serving process seals it. */
export async function insertCommandRecord(
  db: Database,
  {
    organization,
    operation,
    targets,
    ms,
  }: { organization: string; operation: string; targets: readonly string[]; ms: number },
): Promise<void> {
  await db.query(sql`SELECT gateway.audit_command(${organization}, ${operation}, ${targets}::text[], ${ms}::float8)`);
}
