import { createHash, randomUUID } from 'node:crypto';
import type { TestDatabase } from './database.ts';

/** A record as a test plants it. Each member has a default. */
export interface PlantedRecord {
  readonly time?: string;
  readonly organization_id?: string;
  readonly website_id?: string | null;
  readonly app_id?: string | null;
  readonly installation_id?: string | null;
  readonly credential_id?: string | null;
  readonly person_id?: string | null;
  readonly client_name?: string | null;
  readonly client_version?: string | null;
  readonly address?: string | null;
  readonly surface?: string;
  readonly operation?: string;
  readonly targets?: readonly string[];
  readonly count?: number | null;
  readonly outcome?: string;
  readonly status?: number;
  readonly units?: number;
  readonly duration_ms?: number;
  readonly request_id?: string | null;
  readonly trace_id?: string | null;
  readonly operation_id?: string | null;
  readonly replayed?: boolean;
}

/** The digest of the arguments, which no reader gets. */
export const PLANTED_DIGEST = createHash('sha256').update('arguments').digest();

/** Inserts audit records by SQL, with the partitions that they need. Returns their ids in the order of `records`. */
export async function plantAudit(
  { sql }: Pick<TestDatabase, 'sql'>,
  records: readonly PlantedRecord[],
): Promise<string[]> {
  const planted = records.map((record, i) => ({
    id: randomUUID(),
    time: new Date(Date.now() - i).toISOString(),
    organization_id: 'org_1',
    surface: 'rest',
    operation: 'contact_get',
    targets: [],
    outcome: 'ok',
    status: 200,
    units: 1,
    duration_ms: 2.5,
    replayed: false,
    input_digest: `\\x${PLANTED_DIGEST.toString('hex')}`,
    ...record,
  }));
  for (const day of new Set(planted.map(({ time }) => time.slice(0, 10)))) {
    await sql.unsafe(`CREATE TABLE IF NOT EXISTS gateway."audit_${day.replaceAll('-', '')}" PARTITION OF gateway.audit
      FOR VALUES FROM ('${day}T00:00:00Z') TO (('${day}'::date + 1)::timestamp AT TIME ZONE 'UTC')`);
  }
  await sql`INSERT INTO gateway.audit
    SELECT * FROM jsonb_populate_recordset(NULL::gateway.audit, ${JSON.stringify(planted)}::text::jsonb)`;
  return planted.map(({ id }) => `aud_${id.replaceAll('-', '')}`);
}
