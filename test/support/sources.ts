import { newId } from '../../src/auth/issue.ts';
import { Keyring } from '../../src/auth/keys.ts';
import { writePage } from '../../src/sources/engine/page.ts';
import { explainSource } from '../../src/sources/follow/explain.ts';
import { type StoredSource, settingsOf } from '../../src/sources/follow/open.ts';
import { startSources } from '../../src/sources/follow/runner.ts';
import { SOURCE_KINDS } from '../../src/sources/openers.ts';
import { openStoredReader } from '../../src/sources/reader/reader.ts';
import type { Source } from '../../src/sources/source.ts';
import {
  insertSource,
  readSources,
  type SourceRecord,
  startSource,
  takeOrganization,
} from '../../src/store/administration/sources.ts';
import type { TestDatabase } from './database.ts';

export const keys = new Keyring([{ kid: '1', secret: new Uint8Array(32).fill(7) }]);

export interface AddedSource {
  readonly id: string;
  readonly tenant: number;
  state(): Promise<SourceRecord>;
}

/** Node 20 has no Array.fromAsync. */
export async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function addSource(
  { db }: Pick<TestDatabase, 'db'>,
  given: {
    address: string;
    account?: number;
    mode: 'poll' | 'live';
    period?: number;
    organization?: string;
    api?: { readonly url: string; readonly token: string };
  },
): Promise<AddedSource> {
  const { address, account = 1, mode, period = 1 } = given;
  const organization = given.organization ?? `cw:${account}:organization:${account}`;
  const id = newId('src');
  const settings = { account: String(account), mode, period, timeZone: 'UTC', storage: null };
  const helpdesk = SOURCE_KINDS.chatwoot.open({ ...settings, address, organization, reader: id });
  const { row, external_id } = SOURCE_KINDS.chatwoot.website(String(account));
  const changes = (await collected(helpdesk.reread([row]))).flat();
  await helpdesk.close();
  const [name] = changes.flatMap((change) => ('record' in change ? [String(change.record['name'])] : []));
  const { tenant } = await takeOrganization(db, { external_id: organization, name: name ?? '' });
  const added = await insertSource(
    db,
    {
      ...settings,
      id,
      tenant,
      kind: 'chatwoot',
      address: keys.seal('source', address),
      apiUrl: given.api?.url ?? null,
      apiToken: given.api === undefined ? null : keys.seal('source', given.api.token),
    },
    30,
  );
  if (!added) throw new Error('the organization has this source');
  await writePage(db, { id, tenant: Number(tenant), epoch: 0 }, changes, null);
  await startSource(db, id, external_id);
  return {
    id,
    tenant: Number(tenant),
    state: async () => {
      const [record] = await readSources(db, id);
      if (!record) throw new Error('the source is gone');
      return record;
    },
  };
}

/** Opens a stored source in this thread, for tests that stand between the gateway and the helpdesk. */
export function openStored(stored: StoredSource): Source {
  const { kind, settings } = settingsOf(keys, stored);
  return SOURCE_KINDS[kind].open(settings);
}

/** Runs a store's sources as a gateway does, each in its own thread. `errors` collects what the gateway would log. */
export function runSources(
  { db }: Pick<TestDatabase, 'db'>,
  checkEvery?: number,
): { readonly errors: unknown[]; stop(): Promise<void> } {
  const errors: unknown[] = [];
  const running = startSources({
    db,
    writer: db,
    checkEvery,
    open: (row) => openStoredReader(keys, row),
    explain: explainSource,
    onError: (error) => errors.push(error),
  });
  return { errors, stop: () => running.stop() };
}
