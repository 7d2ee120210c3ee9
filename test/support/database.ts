import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';

export interface TestDatabase {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly db: Database;
  /** A connection as superuser. Tests use it to plant and read data without the gateway. */
  readonly sql: postgres.Sql;
  close(): Promise<void>;
}

export async function freshDatabase(template: 'empty' | 'demo' = 'empty'): Promise<TestDatabase> {
  const { host, port } = inject('server');
  const name = `t_${randomBytes(6).toString('hex')}`;
  const options = { host, port, username: 'postgres', max: 3, onnotice: () => undefined };
  const admin = postgres({ ...options, database: 'postgres', max: 1 });
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}_template STRATEGY FILE_COPY`);
  const target = { host, port, database: name, username: 'postgres' };
  const db = openDatabase({ target, connections: 4, statementTimeout: 5_000, name: 'test' });
  const sql = postgres({ ...options, database: name });
  return {
    name,
    host,
    port,
    db,
    sql,
    close: async () => {
      await Promise.all([db.close(), sql.end()]);
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    },
  };
}
