import { namesText } from '../../core/accepted-values.js';
import { printable } from '../../gateway/input-errors.js';
/**
 * Converts the raw query string to JSON types. A repeated, unknown, unnamed or badly encoded parameter is a problem,
 * because the gateway does not guess. Express's parser would make arrays and objects of them.
 */
export function readInput(tool, path, query) {
    const input = { ...path };
    const problems = [];
    const seen = new Set();
    for (const pair of query === '' ? [] : query.split('&')) {
        const cut = pair.indexOf('=');
        const name = decode(cut === -1 ? pair : pair.slice(0, cut));
        const value = decode(cut === -1 ? '' : pair.slice(cut + 1));
        const parameter = tool.parameters.find((one) => one.in === 'query' && one.name === name);
        if (name === undefined || !parameter) {
            problems.push({
                parameter: printable(name ?? ''),
                code: 'unsupported_parameter',
                expected: names(tool, 'query'),
            });
        }
        else if (seen.has(parameter.name)) {
            problems.push({ parameter: parameter.name, code: 'duplicate_parameter', expected: 'the parameter once' });
        }
        else {
            seen.add(parameter.name);
            // A value that cannot be decoded becomes a text that every schema refuses, so that the error names the parameter.
            input[parameter.name] = value === undefined ? '\u0000' : typed(parameter, value);
        }
    }
    return { input, problems };
}
export function addBody(tool, input, body) {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
        return [{ pointer: '', code: 'invalid_request', expected: 'one JSON object' }];
    return Object.entries(body).flatMap(([name, value]) => {
        const parameter = tool.parameters.find((one) => one.in === 'body' && one.name === name);
        if (!parameter) {
            return [{ pointer: `/${printable(name)}`, code: 'unsupported_parameter', expected: names(tool, 'body') }];
        }
        input[parameter.name] = value;
        return [];
    });
}
const names = (tool, place) => namesText(tool.parameters.filter((one) => one.in === place).map(({ name }) => name));
/** Decodes application/x-www-form-urlencoded text as UTF-8. Undefined if an escape or the UTF-8 is broken. */
function decode(text) {
    try {
        return decodeURIComponent(text.replaceAll('+', ' '));
    }
    catch (error) {
        if (error instanceof URIError)
            return undefined;
        throw error;
    }
}
function typed(parameter, value) {
    // One spelling of a number: 1 to 16 digits, without a sign, a point, an exponent or a leading zero.
    if (parameter.type === 'integer')
        return /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : value;
    if (parameter.type === 'boolean')
        return value === 'true' ? true : value === 'false' ? false : value;
    return value;
}
//# sourceMappingURL=input.js.map