import { InvalidArgumentError, Option } from 'commander';
import { DATA_ACCESS, SCOPES } from '../core/scopes.js';
import { APPROVAL_BY } from '../store/administration/credentials.js';
import { readPeople } from '../store/administration/people.js';
import { allowIp, callback, collect, dataAccess, lifetime, operations, origin, scope, scopeSet } from './options.js';
import { plain, Refused } from './output.js';
import { belonging, person, websites } from './references.js';
/** Adds the options of a policy. With `issue`, a website and at least one scope are required (`credential issue`). */
export const policyOptions = (command, { issue = false } = {}) => command
    .option('--website <WEB>', `granted website, by id or external_id (repeatable)${issue ? ' (required)' : ''}`, collect)
    .addOption(new Option('--scope <SCOPE>', `granted scope (repeatable)${issue ? '; --scope or --scopes is required' : ''}`)
    .choices(SCOPES)
    .argParser(scope))
    .addOption(new Option('--scopes <SET>', 'set of scopes: read has every scope that does not write')
    .choices(['all', 'read'])
    .argParser(scopeSet))
    .addOption(new Option('--data-access <FLAG>', 'data that the credential may see besides its scopes (repeatable)')
    .choices(DATA_ACCESS)
    .argParser(dataAccess))
    .option('--channel <C>', 'restrict to conversations of this channel, by id or external_id (repeatable)', collect)
    .option('--team <T>', 'restrict to conversations of this team, by id or external_id (repeatable)', collect)
    .option('--subsite <S>', 'restrict to conversations of this subsite, by id or external_id (repeatable)', collect)
    .option('--callback <URL>', 'https URL to which the browser returns after consent (repeatable)', callback)
    .option('--origin <ORIGIN>', 'web origin that can open realtime sessions, such as https://app.example (repeatable)', origin)
    .option('--allow-ip <RANGE,...>', 'IP addresses or CIDR ranges from which the credential may be used, 1 to 20, comma-separated (repeatable)', allowIp)
    .option('--approve <OPERATION,...>', 'writes that a person must approve first, by the name of their operation, comma-separated (repeatable)', operations)
    .option('--without-approval <OPERATION,...>', 'writes that a person need not approve, comma-separated (repeatable); a terminal is asked first', operations)
    .option('--write <OPERATION,...>', 'writes that exist only for credentials that name them, comma-separated (repeatable): conversation_reply, conversation_status_set, conversation_assign', operations)
    .addOption(new Option('--approval-by <WHO>', 'who may approve these writes in the console: anyone who is owner or admin, or only others than the person for whom the app writes (default of issue: anyone)').choices(APPROVAL_BY))
    .option('--approver <PERSON>', 'person who may decide about these writes in the console, besides owners and admins, by id or e-mail address (repeatable)', collect)
    .option('--expires <DURATION>', 'lifetime from now, such as 15m, 24h or 90d; at most 365d (default of issue: 90d)', lifetime);
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
};
const CLEARABLE = Object.keys(CLEARED);
const isClearable = (name) => CLEARABLE.includes(name);
export function clearable(value, before) {
    if (!isClearable(value))
        throw new InvalidArgumentError(`Expected one of ${CLEARABLE.join(', ')}.`);
    return [...(before ?? []), value];
}
export function cleared(names) {
    let changes = {};
    for (const name of names)
        changes = { ...changes, ...CLEARED[name] };
    return changes;
}
export const contradiction = (options, names) => names.find((name) => {
    if (name === 'data-access')
        return options.dataAccess !== undefined;
    return (name === 'allow-ip' ? options.allowIp : options[name]) !== undefined;
});
export async function resolvePolicy(db, options, now) {
    const { tenant } = now;
    const sites = options.website && (await websites(db, options.website, tenant)).map(({ site }) => site).sort(byNumber);
    const on = { tenant, sites: sites ?? now.sites };
    const ids = async (kind, refs) => refs && (await belonging(db, kind, refs, on)).map(({ id }) => id).sort();
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
        approve: options.approve && (await named(options.approve, (tool) => tool.performs !== undefined)),
        without_approval: options.withoutApproval && (await named(options.withoutApproval, (tool) => tool.performs !== undefined)),
        write: options.write && (await named(options.write, (tool) => tool.byPolicy)),
        approval_by: options.approvalBy,
        approvers: options.approver && (await approvers(db, options.approver, tenant)),
        lifetime: options.expires,
    };
}
/** The ids of people of the organization who can sign in. */
async function approvers(db, refs, tenant) {
    const ids = new Set();
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
async function named(names, takes) {
    // Only these options need the declarations of all operations.
    const registry = await (await import('../gateway/load.js')).loadTools();
    const accepted = registry.all.filter(takes).map(({ name }) => name);
    const known = names.map((name) => registry.get(name)?.name ?? name);
    const other = known.filter((name) => !accepted.includes(name));
    if (other.length > 0)
        throw new Refused(`The option takes ${accepted.join(', ')}. There is no such write ${other.join(', ')}.`);
    return [...new Set(known)].sort();
}
export function scopesOf({ scope: single, scopes }) {
    if (!single && !scopes)
        return undefined;
    const all = new Set([...(single ?? []), ...(scopes ?? [])]);
    return SCOPES.filter((one) => all.has(one));
}
const byNumber = (a, b) => Number(a) - Number(b);
//# sourceMappingURL=credential-policy.js.map