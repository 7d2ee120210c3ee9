/** The groups of commands that manage objects of an organization. */
const GROUPS = [
    'app',
    'author',
    'consent',
    'credential',
    'erase',
    'family',
    'organization',
    'person',
    'source',
    'webhook',
];
/** Commands of these groups that change nothing. */
const READS = ['list', 'show', 'check', 'grants', 'deliveries', 'test'];
/** The full name of a command that changes something, such as `credential issue`. Undefined for all others. */
function changeOf(command) {
    const [group, name] = [command.parent?.name() ?? '', command.name()];
    return GROUPS.includes(group) && !READS.includes(name) ? `${group} ${name}` : undefined;
}
/** Runs a command. One that changes something leaves an audit record. */
export async function audited(command, context, run) {
    const operation = changeOf(command);
    if (operation === undefined)
        return run(context);
    const { recorded } = await import('./recorded.js');
    return recorded(operation, command, context, run);
}
//# sourceMappingURL=audited.js.map