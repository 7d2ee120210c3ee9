/** The paths of an operation. If the last path parameter is optional, the second path leaves it out. */
export function pathsOf({ path, parameters }) {
    const [end = '', name] = /\/\{(\w+)\}$/.exec(path) ?? [];
    const optional = parameters.some((one) => one.in === 'path' && one.name === name && !one.required);
    return optional ? [path, path.slice(0, -end.length)] : [path];
}
//# sourceMappingURL=paths.js.map