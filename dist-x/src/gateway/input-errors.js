import { expectedAt, namesAt } from '../core/accepted-values.js';
import { Failure } from '../core/failures.js';
/**
 * The errors of an input by name, code and expected value, never with a value from the caller or a message of zod. An
 * unknown name comes from the caller, so it is shown only if it looks like an identifier.
 */
export function inputErrors(tool, error, input) {
    const errors = error.issues.flatMap((issue) => {
        if (issue.code === 'unrecognized_keys') {
            const expected = namesAt(tool.input, issue.path);
            return issue.keys.map((key) => ({
                ...locate(tool, [...issue.path, key]),
                code: 'unsupported_parameter',
                expected,
            }));
        }
        const place = locate(tool, issue.path);
        // In a JSON body, the member at the path can be missing. Elsewhere, only the whole parameter can.
        const missing = valueAt(input, place.pointer === undefined ? issue.path.slice(0, 1) : issue.path) === undefined;
        const code = missing ? 'missing' : issue.path[0] === 'cursor' ? 'invalid_cursor' : 'invalid_parameter';
        return [{ ...place, code, expected: expectedAt(tool.input, issue.path) }];
    });
    // A value can break several rules, but each member gets one error. Unknown members come first, as in the surfaces.
    const once = [...new Map(errors.map((one) => [one.parameter ?? one.pointer, one])).values()];
    return [
        ...once.filter(({ code }) => code === 'unsupported_parameter'),
        ...once.filter(({ code }) => code !== 'unsupported_parameter'),
    ];
}
export function refusalOf(errors) {
    const code = errors[0]?.code ?? 'invalid_parameter';
    return new Failure(code === 'missing' ? 'invalid_parameter' : code, { errors: errors.slice(0, 20) });
}
function locate({ parameters }, path) {
    const names = path.map((part) => printable(String(part)));
    const inBody = parameters?.some((one) => one.in === 'body' && one.name === path[0]);
    return inBody ? { pointer: `/${names.join('/')}` } : { parameter: names[0] ?? '' };
}
function valueAt(input, path) {
    return path.reduce((at, part) => 
    // An array index is a number in the path and a text in the entries.
    typeof at === 'object' && at !== null ? Object.entries(at).find(([key]) => key === String(part))?.[1] : undefined, input);
}
export const printable = (name) => (/^[A-Za-z0-9_.[\]-]{1,64}$/.test(name) ? name : '(unprintable)');
/** Finds texts that PostgreSQL cannot store: those with U+0000 or an unpaired surrogate. */
export const unstorable = (tool, input) => badTexts(input, []).map((path) => ({ ...locate(tool, path), code: 'invalid_parameter', expected: STORABLE }));
const STORABLE = 'a text without U+0000 and without unpaired surrogates';
function badTexts(value, path) {
    if (typeof value === 'string')
        return value.includes('\u0000') || !value.isWellFormed() ? [path] : [];
    if (typeof value !== 'object' || value === null)
        return [];
    return Object.entries(value).flatMap(([key, inside]) => badTexts(inside, [...path, key]));
}
//# sourceMappingURL=input-errors.js.map