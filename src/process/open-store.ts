import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoLink, isEmpty, loadDemo } from '../cli/demo.ts';
import type { Config } from '../config/config.ts';
import type { Tracing } from '../observe/tracing.ts';
import { openStore, type Store } from '../store/open/open.ts';
import type { DemoAccess } from './welcome.ts';

/** Milliseconds that the store may still take to open after a signal. Then the process ends without the store. */
const OPENING = 8_000;

interface ServedStoreOptions {
  readonly tracing: Tracing | undefined;
  readonly supervises: boolean;
  readonly stop: AbortSignal;
  readonly log: (message: string) => void;
  readonly warn: ((message: string) => void) | undefined;
}

/** Opens the store of a serving process. A supervisor uses one connection and no replica. */
export async function openServedStore(
  config: Config,
  { tracing, supervises, stop, ...told }: ServedStoreOptions,
): Promise<Store> {
  let opened = false;
  stop.addEventListener('abort', () => setTimeout(() => opened || process.exit(1), OPENING).unref(), { once: true });
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    directUrl: config.directUrl,
    replicaUrl: supervises ? undefined : config.replicaUrl,
    dataDir: config.dataDir,
    cell: config.cell,
    connections: supervises ? 1 : config.dbConnections,
    fenced: !supervises,
    onStatement: tracing?.onStatement,
    ...told,
  });
  opened = true;
  return store;
}

const tokenFile = (dataDir: string): string => join(dataDir, 'demo-token.json');

/** The file with the token of the demo, if there is one. */
export const keptToken = (dataDir: string): string | undefined =>
  existsSync(tokenFile(dataDir)) ? tokenFile(dataDir) : undefined;

/** The one-time link of the demo's owner. Undefined without such an owner, or when the store does not answer. */
export const ownerLink = ({ db }: Store, baseUrl: string): Promise<string | undefined> =>
  demoLink(db, baseUrl).then(
    (link) => link?.url,
    () => undefined,
  );

/**
 * Loads the demo into an empty store. Writes the demo's token beside the data, to a file that only its owner can read.
 */
export async function prepareDemo(store: Store, dataDir: string): Promise<DemoAccess | undefined> {
  const file = tokenFile(dataDir);
  if (!(await isEmpty(store.db))) return undefined;
  const demo = await loadDemo(store, {});
  const access = { token: demo.full.token, website: demo.website_ids[0] ?? '' };
  // Delete an existing file first. Other users could be able to read the existing file, or the existing file could be a
  // link.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify(access)}\n`, { mode: 0o600, flag: 'wx' });
  return access;
}
