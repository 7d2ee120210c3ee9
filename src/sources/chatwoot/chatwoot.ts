import { sqlState } from '../../store/driver/errors.ts';
import { type Database, openDatabase } from '../../store/driver/postgres.ts';
import type { SourceSettings } from '../kinds.ts';
import { type Finding, type Installation, OtherInstallation, type Source } from '../source.ts';
import { check } from './check.ts';
import { missing, unmapped } from './counts.ts';
import { type Desk, openDesk, rowOf, sizesOf, tell } from './desk.ts';
import { CHANNEL } from './grants.ts';
import { accountOf, creationOf, installationOf } from './installation.ts';
import { type DeskKind, KINDS } from './kinds.ts';
import { beginLive, behindLive, changesLive, forgetLive } from './live.ts';
import { fitting, load } from './load.ts';
import type { Names } from './map.ts';
import { apiFindings } from './pair.ts';
import { beginPoll, behindPoll, changesPoll } from './poll.ts';
import { Polled } from './poll-known.ts';

/** Timeout of a statement in milliseconds. Reading a page of a large Chatwoot can take long. */
const STATEMENT = 60_000;

/** PostgreSQL's code for a text that is not valid in the encoding of the connection. */
const BROKEN = '22021';

/** With SQL_ASCII, PostgreSQL sends texts as they are, and the driver replaces invalid bytes by U+FFFD. */
function withoutConversion(address: string): string {
  const url = new URL(address);
  url.searchParams.set('client_encoding', 'SQL_ASCII');
  return url.href;
}

const isReadable = (findings: readonly Finding[]): boolean => !findings.some(({ level }) => level === 'refused');

/** The rows in pages: rows of one kind that fit into a page. */
async function pagesOf(desk: Desk, from: readonly string[]): Promise<(readonly [DeskKind, readonly string[]])[]> {
  const rows = from.flatMap((name) => {
    const row = rowOf(name);
    return row === undefined ? [] : [row];
  });
  const pages: (readonly [DeskKind, readonly string[]])[] = [];
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
export function openChatwoot(settings: SourceSettings): Source {
  const { address, mode, period, reader, organization, api } = settings;
  const account = Number(settings.account);
  if (!Number.isSafeInteger(account) || account < 1)
    throw new Error('the account of Chatwoot must be a number from 1 on');
  const names: Names = {
    account,
    timeZone: settings.timeZone,
    organization: organization ?? `cw:${account}:organization:${account}`,
    makesOrganization: organization === undefined,
    storage: settings.storage !== null,
  };
  // With one connection, a page and the following check of the installation come from the same server.
  const connect = (target: string): Database =>
    openDatabase({ target, connections: 1, statementTimeout: STATEMENT, name: 'gateway-source', foreign: true });
  const db = connect(address);
  let unconverted: Database | undefined;
  let known: Promise<Desk> | undefined;
  let told: Installation | undefined;
  // A new version of Chatwoot can have other columns. So read the columns at each start and after each error.
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
    check: async () => {
      const findings = await check(db, account, mode);
      const at = isReadable(findings) && api !== undefined ? await creationOf(db, account) : undefined;
      if (api === undefined || at === undefined) return findings;
      return [...findings, ...(await apiFindings({ ...api, account: settings.account }, at))];
    },
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
      // Remember only now: `using` can read the page again. If writing the page fails, the reader is closed.
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
