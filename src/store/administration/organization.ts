import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { type Administrator, readPage, within } from './administrator.ts';

/** The public id of the administrator's organization. Undefined while the administrator does not have the role. */
export async function organizationOf(db: Database, by: Administrator): Promise<string | undefined> {
  const own = sql`SELECT o.public_id AS id, o.tenant AS created_at FROM platform.organization o WHERE ${within(by, sql`o.tenant`)}`;
  const { rows } = await readPage<{ id: string }>(db, by, own, { limit: 1, offset: 0 });
  return rows[0]?.id;
}
