// A parameter must not contain a control character. PostgreSQL cannot store U+0000.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
/**
 * Parses application/x-www-form-urlencoded text strictly. Returns `undefined` for an empty name, an escape that is not
 * valid UTF-8, or a control character. URLSearchParams would silently repair such a text.
 */
export function readParameters(text) {
    const found = new Map();
    if (text === '')
        return found;
    try {
        for (const pair of text.split('&')) {
            const at = pair.indexOf('=');
            const name = decode(at === -1 ? pair : pair.slice(0, at));
            const value = at === -1 ? '' : decode(pair.slice(at + 1));
            if (name === '' || CONTROL.test(name) || CONTROL.test(value))
                return undefined;
            const values = found.get(name);
            if (values)
                values.push(value);
            else
                found.set(name, [value]);
        }
        return found;
    }
    catch (error) {
        if (error instanceof URIError)
            return undefined;
        throw error;
    }
}
export const decode = (text) => decodeURIComponent(text.replaceAll('+', ' '));
/** Returns the only value of a parameter. Returns `undefined` if the parameter is missing, empty or repeated. */
export function single(parameters, name) {
    const [value, ...others] = parameters.get(name) ?? [];
    return others.length > 0 || value === '' ? undefined : value;
}
//# sourceMappingURL=parameters.js.map