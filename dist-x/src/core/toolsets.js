/** Groups of tools. An address of the MCP endpoint can list some of them, so that a model reads fewer descriptions. */
export const TOOLSETS = [
    'core',
    'find',
    'conversations',
    'people',
    'catalogue',
    'reports',
    'settings',
    'events',
    'files',
    'writes',
];
export const ALL_TOOLS = { readonly: false };
export const selects = ({ sets, readonly }, tool) => !(readonly && tool.effect === 'write') &&
    (sets === undefined || tool.toolsets.some((one) => one === 'core' || sets.has(one)));
/**
 * Reads the path after the endpoint: nothing, `/readonly`, `/only/{sets}` or `/only/{sets}/readonly`. `unknown`: a set
 * does not exist. Undefined: another path.
 */
export function readSelection(path) {
    const [, list, readonly] = /^(?:\/only\/([^/]{1,200}))?(\/readonly)?$/.exec(path) ?? [undefined, undefined, null];
    if (readonly === null)
        return undefined;
    if (list === undefined)
        return { readonly: readonly !== undefined };
    const names = new Set(list.split(','));
    const sets = TOOLSETS.filter((one) => names.has(one));
    if (sets.length !== names.size)
        return 'unknown';
    return { sets: new Set(sets), readonly: readonly !== undefined };
}
//# sourceMappingURL=toolsets.js.map