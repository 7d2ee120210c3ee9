import { rmSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { demoRecords } from '../../src/sources/files/demo.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import { openEmbedded } from '../../src/store/embedded/embedded.ts';
import { migrate } from '../../src/store/open/migrate.ts';
import { build } from './build.ts';
import { scratch } from './scratch.ts';

/** The superuser has no password, but only the current user can open the socket folder (mode 0700). */
export interface TestServer {
  readonly host: string;
  readonly port: number;
  readonly version: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    server: TestServer;
    /** A folder for what test processes make once in a run: see template.ts. */
    templates: string;
  }
}

/** The time of the demo's data. A fixed time gives the same rows in every run. */
export const DEMO_NOW = '2026-11-15T12:00:00.000Z';

/**
 * Builds dist/, and starts one PostgreSQL server in its own folder for the whole run: the embedded package, or PATH if
 * TEST_POSTGRES is `path`. Test files clone one of two template databases: `empty_template` has only the schema,
 * `demo_template` also the demo's data. Chromium's package unpacks its binary at the first use on a machine. That
 * happens here, because one worker must not start a binary that another one still writes.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // On a machine without room for it, only the tests of pages fail. They unpack it again and report the reason.
  const unpacked = chromium.executablePath().catch(() => undefined);
  const built = Promise.all([build(), unpacked]);
  built.catch(() => undefined); // it is awaited below
  project.onTestsRerun(build);
  const dataDir = scratch('test');
  const binaries = process.env['TEST_POSTGRES'] === 'path' ? 'path' : 'embedded';
  const store = await openEmbedded({ dataDir, binaries, log: () => undefined });
  const { host, port, version } = store;
  const admin = postgres({ host, port, database: 'postgres', username: 'postgres', max: 1, onnotice: () => undefined });
  await admin`ALTER SYSTEM SET fsync = off`;
  // Reuses files of the write-ahead log. With new files, cloning a database took 500 ms instead of 60 ms.
  await admin`ALTER SYSTEM SET min_wal_size = '1GB'`;
  await admin`SELECT pg_reload_conf()`;
  for (const name of ['empty_template', 'demo_template']) {
    // The migrations run as the store's own role, because they must not need a superuser.
    await admin.unsafe(
      `CREATE DATABASE ${name} OWNER gateway${name === 'demo_template' ? ' TEMPLATE empty_template' : ''}`,
    );
    const db = openDatabase({
      target: { host, port, database: name, username: 'gateway' },
      connections: 2,
      statementTimeout: 60_000,
      name: 'test-setup',
    });
    if (name === 'empty_template') await migrate(db);
    else await importRecords(db, demoRecords(new Date(DEMO_NOW)), {});
    await db.close();
  }
  await admin.end();
  await built;
  process.stderr.write(`PostgreSQL ${version} (${store.origin}) for this run\n`);
  project.provide('server', { host, port, version });
  const templates = scratch('templates');
  project.provide('templates', templates);
  return async () => {
    await store.stop();
    for (const one of [dataDir, templates]) rmSync(one, { recursive: true, force: true });
  };
}
