import { type Command, InvalidArgumentError, Option } from 'commander';
import { DATA_ACCESS, type DataAccess, SCOPES, type Scope } from '../core/scopes.ts';
import type { Tool } from '../core/tool.ts';
import { APPROVAL_BY, type ApprovalBy, type Policy, type PolicyChanges } from '../store/administration/credentials.ts';
import { readPeople } from '../store/administration/people.ts';
import type { BelongingKind } from '../store/administration/references.ts';
import type { Database } from '../store/driver/postgres.ts';
import { allowIp, callback, collect, dataAccess, lifetime, operations, origin, scope, scopeSet } from './options.ts';
import { plain, Refused } from './output.ts';
import { belonging, person, websites } from './references.ts';
import { withoutSecrets } from './secrets.ts';

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
  readonly allowIp?: string[];
  readonly approve?: string[];
  readonly withoutApproval?: string[];
  readonly approvalBy?: ApprovalBy;
  readonly approver?: string[];
  readonly write?: string[];
  readonly expires?: number;
}

/** Adds the options of a policy. With `issue`, a website and at least one scope are required (`credential issue`). */
export const policyOptions = (command: Command, { issue = false } = {}): Command =>
  command
    .option(
      '--website <WEB>',
      `granted website, by id or external_id (repeatable)${issue ? ' (required)' : ''}`,
      collect,
    )
    .addOption(
      new Option('--scope <SCOPE>', `granted scope (repeatable)${issue ? '; --scope or --scopes is required' : ''}`)
        .choices(SCOPES)
        .argParser(scope),
    )
    .addOption(
      new Option('--scopes <SET>', 'set of scopes: read has every scope that does not write')
        .choices(['all', 'read'])
        .argParser(scopeSet),
    )
    .addOption(
      new Option('--data-access <FLAG>', 'data that the credential may see besides its scopes (repeatable)')
        .choices(DATA_ACCESS)
        .argParser(dataAccess),
    )
    .option('--channel <C>', 'restrict to conversations of this channel, by id or external_id (repeatable)', collect)
    .option('--team <T>', 'restrict to conversations of this team, by id or external_id (repeatable)', collect)
    .option('--subsite <S>', 'restrict to conversations of this subsite, by id or external_id (repeatable)', collect)
    .option('--callback <URL>', 'https URL to which the browser returns after consent (repeatable)', callback)
    .option(
      '--origin <ORIGIN>',
      'web origin that can open realtime sessions, such as https://app.example (repeatable)',
      origin,
    )
    .option(
      '--allow-ip <RANGE,...>',
      'IP addresses or CIDR ranges from which the credential may be used, 1 to 20, comma-separated (repeatable)',
      allowIp,
    )
    .option(
      '--approve <OPERATION,...>',
      'writes that a person must approve first, by the name of their operation, comma-separated (repeatable)',
      operations,
    )
    .option(
      '--without-approval <OPERATION,...>',
      'writes that a person need not approve, comma-separated (repeatable); a terminal is asked first',
      operations,
    )
    .option(
      '--write <OPERATION,...>',
      'writes that exist only for credentials that name them, comma-separated (repeatable): conversation_reply, conversation_status_set, conversation_assign',
      operations,
    )
    .addOption(
      new Option(
        '--approval-by <WHO>',
        'who may approve these writes in the console: anyone who is owner or admin, or only others than the person for whom the app writes (default of issue: anyone)',
      ).choices(APPROVAL_BY),
    )
    .option(
      '--approver <PERSON>',
      'person who may decide about these writes in the console, besides owners and admins, by id or e-mail address (repeatable)',
      collect,
    )
    .option(
      '--expires <DURATION>',
      'lifetime from now, such as 15m, 24h or 90d; at most 365d (default of issue: 90d)',
      lifetime,
    );

/** The change to the credential for each value of the option `--clear`. Null removes a restriction. */
const CLEARED = {
  channel: { channel_ids: null },
  team: { team_ids: null },
  subsite: { subsite_ids: null },
  callback: { callbacks: [] },
  origin: { origins: [] },
  'allow-ip': { allow_ip: [] },
  'data-access': { data_access: [] },
  write: { write: [] },
  approver: { approvers: [] },
} as const satisfies Record<string, PolicyChanges>;
export type Clearable = keyof typeof CLEARED;
const CLEARABLE: readonly string[] = Object.keys(CLEARED);

const isClearable = (name: string): name is Clearable => CLEARABLE.includes(name);

export function clearable(value: string, before: readonly Clearable[] | undefined): Clearable[] {
  if (!isClearable(value)) throw new InvalidArgumentError(`Expected one of ${CLEARABLE.join(', ')}.`);
  return [...(before ?? []), value];
}

export function cleared(names: readonly Clearable[]): PolicyChanges {
  let changes: PolicyChanges = {};
  for (const name of names) changes = { ...changes, ...CLEARED[name] };
  return changes;
}

export const contradiction = (options: PolicyOptions, names: readonly Clearable[]): Clearable | undefined =>
  names.find((name) => {
    if (name === 'data-access') return options.dataAccess !== undefined;
    return (name === 'allow-ip' ? options.allowIp : options[name]) !== undefined;
  });

export async function resolvePolicy(
  db: Database,
  options: PolicyOptions,
  now: { tenant: string; sites: readonly string[] },
  /** Ends the command as wrong usage. */
  refuse: (complaint: string) => never,
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
    allow_ip: options.allowIp,
    approve:
      options.approve && (await named('--approve', options.approve, (tool) => tool.performs !== undefined, refuse)),
    without_approval:
      options.withoutApproval &&
      (await named('--without-approval', options.withoutApproval, (tool) => tool.performs !== undefined, refuse)),
    write: options.write && (await named('--write', options.write, (tool) => tool.byPolicy, refuse)),
    approval_by: options.approvalBy,
    approvers: options.approver && (await approvers(db, options.approver, tenant)),
    lifetime: options.expires,
  };
}

/** The whole policy of a new credential. */
export const completePolicy = (given: PolicyChanges): Policy => ({
  sites: given.sites ?? [],
  scopes: given.scopes ?? [],
  data_access: given.data_access ?? [],
  channel_ids: given.channel_ids ?? null,
  team_ids: given.team_ids ?? null,
  subsite_ids: given.subsite_ids ?? null,
  callbacks: given.callbacks ?? [],
  origins: given.origins ?? [],
  allow_ip: given.allow_ip ?? [],
  approve: given.approve ?? [],
  approval_by: given.approval_by ?? 'anyone',
  approvers: given.approvers ?? [],
  write: given.write ?? [],
  without_approval: given.without_approval ?? [],
  lifetime: given.lifetime ?? 7_776_000, // 90 days
});

/** The ids of people of the organization who can sign in. */
async function approvers(db: Database, refs: readonly string[], tenant: string): Promise<string[]> {
  const ids = new Set<string>();
  for (const ref of refs) {
    const { id } = await person(db, ref, tenant);
    const [found] = await readPeople(db, { id });
    if (found?.state !== 'active')
      throw new Refused(`${plain(ref)} is disabled and cannot sign in: person enable ${id}`);
    ids.add(id);
  }
  return [...ids].sort();
}

/** The names of operations that an option takes. An alias stands for the name. */
async function named(
  option: string,
  names: readonly string[],
  takes: (tool: Tool) => boolean,
  refuse: (complaint: string) => never,
): Promise<string[]> {
  // Only these options need the declarations of all operations.
  const registry = await (await import('../gateway/load.ts')).loadTools();
  const accepted = registry.all.filter(takes).map(({ name }) => name);
  const known = names.map((name) => registry.get(name)?.name ?? name);
  const other = known.filter((name) => !accepted.includes(name));
  if (other.length > 0)
    refuse(
      `error: option ${option} takes ${accepted.join(', ')}. There is no such write ${withoutSecrets(other.join(', '), other)}.`,
    );
  return [...new Set(known)].sort();
}

export function scopesOf({ scope: single, scopes }: PolicyOptions): Scope[] | undefined {
  if (!single && !scopes) return undefined;
  const all = new Set<Scope>([...(single ?? []), ...(scopes ?? [])]);
  return SCOPES.filter((one) => all.has(one));
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b);
