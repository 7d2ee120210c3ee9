import { switchOperations } from '../store/administration/apps.js';
/** No operation has one of the names. */
export class UnknownOperations extends Error {
    names;
    name = 'UnknownOperations';
    constructor(names) {
        super('no operation has one of the names');
        this.names = names;
    }
}
/**
 * Switches operations off and on for an app of the organization `tenant`. The next call sees the change, over every
 * interface. Returns the operations that are off now. Undefined if the organization has no such app. Throws
 * UnknownOperations and then changes nothing. Without an administrator, the command line calls.
 */
export async function switchTools(db, registry, app, { off, on }, by) {
    // The realtime operations are no tools, so `get` does not know them. An alias stands for the tool.
    const known = (name) => registry.get(name) ?? registry.operations.find((one) => one.name === name);
    const unknown = [...off, ...on].filter((name) => !known(name));
    if (unknown.length > 0)
        throw new UnknownOperations(unknown);
    const named = (names) => names.flatMap((name) => known(name)?.name ?? []);
    return switchOperations(db, app, { off: named(off), on: named(on) }, by);
}
//# sourceMappingURL=switches.js.map