import { randomBytes } from 'node:crypto';
import type { Keyring } from '../auth/keys.ts';
import { isDatabase } from '../config/values.ts';
import { Refused } from '../core/refused.ts';
import { before } from '../outbound/before.ts';
import type { Administrator } from '../store/administration/administrator.ts';
import { deleteSource, deleteWebsite, holdSource, markRemoved } from '../store/administration/removal.ts';
import {
  insertSource,
  keepInstallation,
  ownOrganization,
  type SourceRecord,
  startSource,
  takeOrganization,
} from '../store/administration/sources.ts';
import { isUnavailable } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { allowsPlain, isLocal, mayBePlain } from '../store/driver/tls.ts';
import { ianaZone } from '../views/zone.ts';
import type { SourceKind } from './kinds.ts';
import { type Change, type Finding, type Installation, OTHER_API } from './source.ts';

/** What the command line and the console need to manage sources. Both call the functions of this file. */
export interface SourceDoor {
  readonly db: Database;
  /** Opens the operator's keys. */
  readonly keys: () => Promise<Keyring>;
  /** Gets the findings of a check, before the source is added or refused. */
  readonly tell: (finding: Finding) => void;
  /** The owner or admin in whose organization the console makes a change. Undefined for the command line. */
  readonly by?: Administrator;
  /** Milliseconds within which the helpdesk must have answered a check. By default 60,000. */
  readonly patience?: number | undefined;
}

export interface NewSourceRequest {
  readonly url: string;
  readonly account: number;
  /** The id or external_id of an organization, or the external_id of a new one. By default, that of the account. */
  readonly organization?: string | undefined;
  readonly mode: 'poll' | 'live';
  readonly period: number;
  readonly timeZone: string;
  readonly storage?: string | undefined;
  readonly apiUrl?: string | undefined;
  readonly apiToken?: string | undefined;
}

/** Seconds between two polls, unless the source has another period. */
export const PERIOD = 15;
/** Seconds for which no gateway may run a new source, so that `addSource` can write its website. */
const ADDING = 30;
/** A command or an owner waits for the check. */
const PATIENCE = 60_000;

export const timeZoneProblem = (value: string): string | undefined =>
  ianaZone(value) ? undefined : 'Expected an IANA time zone, such as Europe/Berlin.';

export const databaseProblem = (value: string): string | undefined =>
  isDatabase(value) && !/[\s,]/.test(value)
    ? undefined
    : 'Expected the address of a PostgreSQL database: postgres://user:password@host:port/database. Percent-encode special characters of the password.';

/** The address to store. Undefined if the data and the password would travel to another machine without encryption. */
export function encryptedAddress(address: string, insecure: boolean): string | undefined {
  const { hostname, search } = new URL(address);
  if (isLocal(decodeURIComponent(hostname)) || !mayBePlain(address)) return address;
  // Without a host in the address, only the driver knows the server. Then driver/foreign.ts judges the connection.
  if (hostname === '' && !insecure) return address;
  if (!insecure) return undefined;
  // `sslmode=disable` lets the gateway accept the connection, too.
  return allowsPlain(address) ? address : `${address.replace(/\?$/, '')}${search === '' ? '?' : '&'}sslmode=disable`;
}

export function apiProblem(value: string): string | undefined {
  const url = /^https?:\/\//.test(value) && URL.canParse(value) ? new URL(value) : undefined;
  return url?.username !== '' || url.password !== '' || url.search !== '' || url.hash !== ''
    ? 'Expected an http or https URL without a password, a query and a fragment.'
    : undefined;
}

export const apiOf = (value: string): string => value.replace(/\/+$/, '');

/** Accepts visible ASCII only, because the token is sent in an HTTP header. */
export const tokenProblem = (value: string): string | undefined =>
  /^[\x21-\x7e]{1,500}$/.test(value) ? undefined : 'Expected 1 to 500 ASCII characters without spaces.';

/** Adds a source and writes its website. A running gateway then loads the source. Returns the id of the source. */
export async function addSource(
  { db, keys, tell, by, patience = PATIENCE }: SourceDoor,
  of: SourceKind,
  given: NewSourceRequest,
): Promise<string> {
  const [{ SOURCE_KINDS }, { openReader }, { writePage }, { explainSource, OTHER_INSTALLATION }] = await Promise.all([
    import('./openers.ts'),
    import('./reader/reader.ts'),
    import('./engine/page.ts'),
    import('./follow/explain.ts'),
  ]);
  const id = `src_${randomBytes(16).toString('hex')}`;
  const account = String(given.account);
  const { row, external_id: website } = SOURCE_KINDS[of].website(account);
  const { url: address, mode, period, timeZone, storage = null, apiUrl, apiToken: token } = given;
  const settings = { address, account, mode, period, timeZone, storage, reader: id };
  const api = apiUrl === undefined || token === undefined ? {} : { api: { apiUrl, token } };
  const helpdesk = openReader(of, { ...settings, ...api });
  const changes: Change[] = [];
  let installation: Installation;
  const late = AbortSignal.timeout(patience);
  try {
    const read = async (): Promise<Installation> => {
      requireReadable(await helpdesk.check(), tell, `gateway source grants ${of} --mode ${given.mode}`);
      const found = await helpdesk.installation();
      for await (const page of helpdesk.reread([row])) changes.push(...page);
      return found;
    };
    installation = await before(late, read());
  } catch (error) {
    if (error instanceof Refused) throw error;
    if (error === late.reason)
      throw new Refused(`The database of the helpdesk has not answered within ${patience / 1_000} seconds.`);
    // A source that was not added is not read again.
    throw new Refused(explainSource(error).replace(/ The gateway tries again\.$/, ''), { cause: error });
  } finally {
    await helpdesk.close();
  }
  const rows = changes.flatMap((change) =>
    'prepared' in change && 'row' in change.prepared ? [change.prepared.row] : [],
  );
  if (rows.length < changes.length)
    throw new Refused('The gateway cannot take the account of the helpdesk: its name is empty or not valid.');
  const named = rows.find(({ type }) => type === 'organization');
  const organization = by
    ? await ownOrganization(db, by)
    : await takeOrganization(db, {
        external_id: given.organization ?? String(named?.external_id),
        name: given.organization ?? String(named?.data['name']),
      });
  if (!organization) throw new Refused('You may not add a source to this organization now.');
  if (!(await keepInstallation(db, { tenant: organization.tenant, website }, installation)))
    throw new Refused(OTHER_INSTALLATION);
  const keyring = await keys();
  const added = await insertSource(
    db,
    {
      ...settings,
      id,
      tenant: organization.tenant,
      kind: of,
      address: keyring.seal('source', address),
      apiUrl: apiUrl ?? null,
      apiToken: token === undefined ? null : keyring.seal('source', token),
    },
    ADDING,
    by,
  );
  if (!added)
    throw new Refused(`The organization ${organization.external_id} has a source of this account already.`, {
      command: 'See: gateway source list. For another installation with the same account number, give --organization.',
    });
  const own = rows
    .filter(({ type }) => type === 'website')
    .map((one) => ({ from: row, prepared: { row: { ...one, owner: organization.external_id } } }));
  await writePage(db, { id, tenant: Number(organization.tenant), epoch: 0 }, own, null);
  await keepInstallation(db, { tenant: organization.tenant, website }, installation);
  await startSource(db, id, website);
  return id;
}

/** Tells the findings of a check. Throws when the source cannot be read. */
function requireReadable(findings: readonly Finding[], tell: SourceDoor['tell'], grants: string): void {
  for (const finding of findings) tell(finding);
  if (findings.some(({ about }) => about === OTHER_API))
    throw new Refused('The API and the database are not of one helpdesk: see the reason above. No source was added.', {
      command: 'Give --api-url and --api-token of the helpdesk whose database --url names.',
    });
  const refused = findings.filter(({ level }) => level === 'refused').length;
  if (refused === 0) return;
  // If the address, the account or the server is wrong, missing rights are not the cause.
  const rights = !findings.some(({ about }) => about === 'address' || about === 'account' || about === 'server');
  throw new Refused(
    `The source cannot be read: see the ${refused === 1 ? 'reason' : `${refused} reasons`} above.`,
    rights ? { command: `The SQL that gives all rights: ${grants}` } : {},
  );
}

const GONE = (id: string): string =>
  `Source ${id} is gone, or somebody else has begun to remove it with its records. Look at the list of sources.`;

interface Removal {
  readonly withData: boolean;
  /** Milliseconds for the deletion of the records. By default, until they are gone. */
  readonly within?: number | undefined;
}

export interface Removed {
  /** What the owner still has to do, if the helpdesk could not be told. */
  readonly left?: string;
  /** False: the records go later. A running gateway, or the same call again, continues. */
  readonly finished: boolean;
}

/** Removes a source. Each step can be done again, so a second call finishes what an interrupted one has begun. */
export async function removeSource(
  { db, keys, by }: Pick<SourceDoor, 'db' | 'keys' | 'by'>,
  record: SourceRecord,
  { withData, within = Number.POSITIVE_INFINITY }: Removal,
): Promise<Removed> {
  const missing = (): Refused => new Refused(`There is no source ${record.id}.`);
  if (!(await holdSource(db, record.id, by))) throw missing();
  const { openStoredReader } = await import('./reader/reader.ts');
  let forgotten = true;
  try {
    const helpdesk = openStoredReader(await keys(), record);
    await helpdesk.forget().finally(() => helpdesk.close());
  } catch {
    // A source can be removed while its helpdesk does not answer.
    forgotten = false;
  }
  const remove = withData || record.state === 'removing' ? markRemoved : deleteSource;
  if (!(await remove(db, record.id, by))) throw remove === deleteSource ? new Refused(GONE(record.id)) : missing();
  const finished = remove === deleteSource || (await deleted(db, record.id, within));
  if (forgotten || record.mode !== 'live') return { finished };
  return {
    finished,
    left: 'The helpdesk could not be told. If no other source reads its outbox, run the statements at the end of the grants there.',
  };
}

/** From the mark on, the source is removed. So a store that is busy delays the end, and is no failure within a bound. */
async function deleted(db: Database, id: string, within: number): Promise<boolean> {
  try {
    return await deleteWebsite(db, id, performance.now() + within);
  } catch (error) {
    if (Number.isFinite(within) && isUnavailable(error)) return false;
    throw error;
  }
}
