import { type Command, InvalidArgumentError } from 'commander';
import { DATA_ACCESS, type DataAccess, SCOPES, type Scope } from '../core/scopes.ts';
import type { PolicyChanges } from '../store/administration/credentials.ts';
import type { BelongingKind } from '../store/administration/references.ts';
import type { Database } from '../store/driver/postgres.ts';
import { callback, collect, dataAccess, lifetime, origin, scope, scopeSet } from './options.ts';
import { belonging, websites } from './references.ts';

/** Options of `credential issue` and `credential update` that say what a credential permits. */
export interface PolicyOptions {
  readonly website?: string[];
  readonly scope?: Scope[];
  readonly scopes?: readonly Scope[];
  readonly dataAccess?: DataAccess[];
  readonly channel?: string[];
  readonly team?: string[];
  readonly subsite?: string[];
  readonly callback?: string[];
  readonly origin?: string[];
  readonly expires?: number;
}

/** Adds them; each may be repeated but `--scopes` and `--expires`. */
export const policyOptions = (command: Command): Command =>
  command
    .option('--website <WEB>', 'a granted website, by id or external_id; may be repeated, as all that follow', collect)
    .option('--scope <SCOPE>', 'a granted scope', scope)
    .option('--scopes <SET>', 'all, or read: every scope but the writing ones', scopeSet)
    .option('--data-access <FLAG>', DATA_ACCESS.join(', '), dataAccess)
    .option('--channel <C>', 'only conversations of this channel', collect)
    .option('--team <T>', 'only conversations of this team', collect)
    .option('--subsite <S>', 'only conversations of this subsite', collect)
    .option('--callback <URL>', 'https address to which a person who consents is sent back', callback)
    .option('--origin <ORIGIN>', 'origin that may open realtime sessions', origin)
    .option('--expires <DURATION>', 'life from now on: 30s, 15m, 24h or 90d', lifetime);

/** What `--clear` empties: a dimension of restriction becomes unrestricted, a list empty. */
const CLEARED = {
  channel: { channel_ids: null },
  team: { team_ids: null },
  subsite: { subsite_ids: null },
  callback: { callbacks: [] },
  origin: { origins: [] },
  'data-access': { data_access: [] },
} as const satisfies Record<string, PolicyChanges>;
export type Clearable = keyof typeof CLEARED;
const CLEARABLE: readonly string[] = Object.keys(CLEARED);

const isClearable = (name: string): name is Clearable => CLEARABLE.includes(name);

export function clearable(value: string, before: readonly Clearable[] | undefined): Clearable[] {
  if (!isClearable(value)) throw new InvalidArgumentError(`What can be cleared is ${CLEARABLE.join(', ')}.`);
  return [...(before ?? []), value];
}

export function cleared(names: readonly Clearable[]): PolicyChanges {
  let changes: PolicyChanges = {};
  for (const name of names) changes = { ...changes, ...CLEARED[name] };
  return changes;
}

/** The one that is both set and cleared, if any. */
export const contradiction = (options: PolicyOptions, names: readonly Clearable[]): Clearable | undefined =>
  names.find((name) => (name === 'data-access' ? options.dataAccess : options[name]) !== undefined);

/** Options -> changes: names become records of the organization, lists lose order and repetition. */
export async function resolvePolicy(
  db: Database,
  options: PolicyOptions,
  now: { tenant: string; sites: readonly string[] },
): Promise<PolicyChanges> {
  const { tenant } = now;
  const sites = options.website && (await websites(db, options.website, tenant)).map(({ site }) => site).sort(byNumber);
  const on = { tenant, sites: sites ?? now.sites };
  const ids = async (kind: BelongingKind, refs: readonly string[] | undefined): Promise<string[] | undefined> =>
    refs && (await belonging(db, kind, refs, on)).map(({ id }) => id).sort();
  const scopes = scopesOf(options);
  const flags = options.dataAccess;
  return {
    sites,
    scopes,
    data_access: flags && DATA_ACCESS.filter((flag) => flags.includes(flag)),
    channel_ids: await ids('channel', options.channel),
    team_ids: await ids('team', options.team),
    subsite_ids: await ids('subsite', options.subsite),
    callbacks: options.callback?.toSorted(),
    origins: options.origin?.toSorted(),
    lifetime: options.expires,
  };
}

/** `--scopes` and every `--scope` together; undefined when none is given. */
export function scopesOf({ scope: single, scopes }: PolicyOptions): Scope[] | undefined {
  if (!single && !scopes) return undefined;
  const all = new Set<Scope>([...(single ?? []), ...(scopes ?? [])]);
  return SCOPES.filter((one) => all.has(one));
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);
