import { migrations } from '../../src/store/open/migrate.ts';
import { freshDatabase, type TestDatabase } from './database.ts';

/** An empty store of an earlier version of the schema. */
export async function olderDatabase(version: number): Promise<TestDatabase> {
  const database = await freshDatabase();
  const { db, sql } = database;
  await sql`DROP SCHEMA platform CASCADE`;
  await sql`DROP SCHEMA gateway CASCADE`;
  await sql`DELETE FROM public.gateway_migration`;
  for (const one of (await migrations()).filter((migration) => migration.version <= version))
    await db.script(
      `INSERT INTO public.gateway_migration (version, name) VALUES (${one.version}, '${one.name}'); ${one.text}`,
    );
  return database;
}
