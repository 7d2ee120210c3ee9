import { sqlState } from '../../store/driver/errors.ts';
import { type Database, openDatabase } from '../../store/driver/postgres.ts';
import { OtherInstallation } from '../lost.ts';
import type { Installation, Source } from '../source.ts';
import { check } from './check.ts';
import { missing, unmapped } from './counts.ts';
import { type Desk, openDesk, rowOf, sizesOf, tell } from './desk.ts';
import { CHANNEL } from './grants.ts';
import { accountOf, installationOf } from './installation.ts';
import { KINDS, type Kind } from './kinds.ts';
import { beginLive, behindLive, changesLive, forgetLive } from './live.ts';
import { fitting, load } from './load.ts';
import type { Names } from './map.ts';
import { beginPoll, behindPoll, changesPoll } from './poll.ts';
import { Polled } from './poll-known.ts';

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

/** PostgreSQL's code for a text that is not valid in the encoding of the connection. */
const BROKEN = '22021';

/**
 * A database with the encoding SQL_ASCII can hold any bytes. With this address, PostgreSQL sends them as they are, and
 * the driver replaces the broken ones by U+FFFD.
 */
function withoutConversion(address: string): string {
  const url = new URL(address);
  url.searchParams.set('client_encoding', 'SQL_ASCII');
  return url.href;
}

/** The rows in pages: rows of one kind that fit into a page. */
async function pagesOf(desk: Desk, from: readonly string[]): Promise<(readonly [Kind, readonly string[]])[]> {
  const rows = from.flatMap((name) => {
    const row = rowOf(name);
    return row === undefined ? [] : [row];
  });
  const pages: (readonly [Kind, readonly string[]])[] = [];
  for (const kind of KINDS) {
    let ids: readonly string[] = [...new Set(rows.filter(([one]) => one === kind).map(([, id]) => id))];
    const sizes = await sizesOf(desk, kind, ids, { along: false });
    while (ids.length > 0) {
      const page = fitting(ids, (id) => sizes.get(id) ?? 0);
      pages.push([kind, page]);
      ids = ids.slice(page.length);
    }
  }
  return pages;
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
  // One connection: a page and the look at the installation after it come from the same server.
  const connect = (target: string): Database =>
    openDatabase({ target, connections: 1, statementTimeout: STATEMENT, name: 'gateway-source', foreign: true });
  const db = connect(address);
  let unconverted: Database | undefined;
  let known: Promise<Desk> | undefined;
  let told: Installation | undefined;
  // A new version of Chatwoot can have other columns. So each start and each call after an error look at the columns.
  const look = (): Promise<Desk> => {
    known = openDesk(unconverted ?? db, names);
    return known;
  };
  const using = async <Answer>(work: (desk: Desk) => Promise<Answer>, again = false): Promise<Answer> => {
    try {
      const desk = await (again ? look() : (known ?? look()));
      const answer = await work(desk);
      if (told !== undefined && (await accountOf(desk.db, account)) !== told.account)
        throw new OtherInstallation('the address leads to another Chatwoot');
      return answer;
    } catch (error) {
      known = undefined;
      if (unconverted !== undefined || sqlState(error) !== BROKEN) throw error;
      unconverted = connect(withoutConversion(address));
      return using(work);
    }
  };
  const live = mode === 'live';
  const polled = new Polled();
  return {
    check: () => check(db, account, mode),
    installation: async () => {
      const found = await installationOf(db, account);
      if (found === undefined) throw new Error('Chatwoot does not have the account');
      told ??= found;
      return found;
    },
    begin: () => (live ? beginLive(db, reader) : using(beginPoll, true)),
    load: (after) => {
      polled.forget();
      return using((desk) => load(desk, after), after === null);
    },
    changes: async (after) => {
      if (live) return using((desk) => changesLive(desk, reader, after));
      const { page, remember } = await using((desk) => changesPoll(desk, period, polled, after));
      // Only now, because `using` can read the page a second time. If the page is not written, the reader is closed.
      remember();
      return page;
    },
    reread: async function* (from) {
      polled.forget(from);
      for (const [kind, ids] of await using((desk) => pagesOf(desk, from)))
        yield (await using((desk) => tell(desk, kind, ids, { anyUser: true }))).changes;
    },
    missing: (of, externalIds) => using((desk) => missing(desk, of, externalIds)),
    behind: (after) => using((desk) => (live ? behindLive(desk, after) : behindPoll(desk, after))),
    unmapped: () => using(unmapped),
    listen: (changed) => {
      if (!live) return () => Promise.resolve();
      const listening = db.listen(CHANNEL, () => changed());
      return () => listening.close();
    },
    forget: async () => {
      if (mode === 'live') await forgetLive(db, reader);
    },
    close: async () => {
      await Promise.all([db.close(), unconverted?.close()]);
    },
  };
}
