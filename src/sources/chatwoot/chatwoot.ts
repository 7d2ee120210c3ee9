import { sql } from '../../core/sql.ts';
import { type Database, openDatabase } from '../../store/driver/postgres.ts';
import type { Change, Source } from '../source.ts';
import { check } from './check.ts';
import { missing, unmapped } from './counts.ts';
import { type Desk, openDesk, rowOf, tell } from './desk.ts';
import { CHANNEL } from './grants.ts';
import { KINDS } from './kinds.ts';
import { beginLive, behindLive, changesLive } from './live.ts';
import { load } from './load.ts';
import type { Names } from './map.ts';
import { beginPoll, behindPoll, changesPoll } from './poll.ts';

export interface ChatwootSettings {
  /** The address of Chatwoot's database, for example `postgres://gateway_reader:…@db/chatwoot_production`. */
  readonly address: string;
  /** The number of the account in Chatwoot. */
  readonly account: number;
  readonly mode: 'poll' | 'live';
  /** Seconds between two rounds of polling. */
  readonly period: number;
  /** The IANA time zone of the website. */
  readonly timeZone: string;
  /** The folder of Chatwoot's files. Undefined if the gateway cannot read the files. */
  readonly storage?: string;
  /** The external id of the organization that takes the website. By default, the source makes an organization. */
  readonly organization?: string;
  /** The id of the source. It names the reader of the outbox. */
  readonly reader: string;
}

/** Milliseconds. A statement that reads a page of a large Chatwoot can take long. */
const STATEMENT = 60_000;

async function reread(desk: Desk, from: readonly string[]): Promise<readonly Change[]> {
  const rows = from.flatMap((name) => {
    const row = rowOf(name);
    return row === undefined ? [] : [row];
  });
  const changes: Change[] = [];
  for (const kind of KINDS) {
    const ids = [...new Set(rows.filter(([one]) => one === kind).map(([, id]) => id))];
    if (ids.length > 0) changes.push(...(await tell(desk, kind, ids, { anyUser: true })).changes);
  }
  return changes;
}

/** Opens Chatwoot as a source of records. Nothing is read before the first call. */
export function openChatwoot(settings: ChatwootSettings): Source {
  const { address, account, mode, period, reader, organization } = settings;
  if (!Number.isSafeInteger(account) || account < 1)
    throw new Error('the account of Chatwoot must be a number from 1 on');
  const names: Names = {
    account,
    timeZone: settings.timeZone,
    organization: organization ?? `cw:${account}:organization:${account}`,
    makesOrganization: organization === undefined,
    storage: settings.storage !== undefined,
  };
  const db: Database = openDatabase({
    target: address,
    connections: 2,
    statementTimeout: STATEMENT,
    name: 'gateway-source',
  });
  let known: Promise<Desk> | undefined;
  // A new version of Chatwoot can have other columns. So each check and each start look at the columns again.
  const look = (): Promise<Desk> => {
    const opened = openDesk(db, names);
    known = opened;
    opened.catch(() => {
      if (known === opened) known = undefined;
    });
    return opened;
  };
  const desk = (): Promise<Desk> => known ?? look();
  return {
    check: async () => {
      await look();
      return check(db, account, mode);
    },
    begin: async () => (mode === 'live' ? beginLive(db, reader) : beginPoll(await look())),
    load: async (after) => load(after === null ? await look() : await desk(), after),
    changes: async (after) =>
      mode === 'live' ? changesLive(await desk(), reader, after) : changesPoll(await desk(), period, after),
    reread: async (from) => reread(await desk(), from),
    missing: async (of, externalIds) => missing(await desk(), of, externalIds),
    behind: async (after) => (mode === 'live' ? behindLive(await desk(), after) : behindPoll(await desk(), after)),
    unmapped: async () => unmapped(await desk()),
    listen: (changed) => {
      if (mode === 'poll') return () => Promise.resolve();
      const listening = db.listen(CHANNEL, () => changed());
      return () => listening.close();
    },
    forget: async () => {
      if (mode === 'live') await db.query(sql`DELETE FROM gateway_outbox.reader WHERE name = ${reader}`);
    },
    close: () => db.close(),
  };
}
