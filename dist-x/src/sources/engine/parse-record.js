import { z } from 'zod';
import { RECORD_TYPES, recordSchemas, sourceFile, } from './records.js';
const problemCode = z.enum([
    'conflicting_members',
    'duplicate',
    'invalid_base64',
    'invalid_path',
    'invalid_text',
    'invalid_time',
    'invalid_time_zone',
    'invalid_type',
    'invalid_url',
    'invalid_value',
    'missing',
    'out_of_range',
    'too_long',
    'too_short',
    'unknown_member',
    'unknown_type',
    'unreadable',
]);
/** The reject of a row that could not be read. Such a row must not stop the rows after it. */
export const UNREADABLE = [{ pointer: '', code: 'unreadable' }];
const PROBLEMS_MAX = 20;
/** The most characters of a member name in a pointer. The name comes from the file and can be very long. */
const SEGMENT_MAX = 100;
const parsers = recordSchemas;
const types = new Map(RECORD_TYPES.map((type) => [type, type]));
/** Checks a record of a source. A file can come without its content. */
export function parseSourceRecord(json) {
    const bare = typeof json === 'object' && json !== null && 'size' in json && 'type' in json && json.type === 'file';
    return bare ? checked(sourceFile, json) : parseRecord(json);
}
/** Checks one decoded line and never throws. Returns at most 20 problems, in the order of the schema. */
export function parseRecord(json) {
    if (typeof json !== 'object' || json === null || Array.isArray(json))
        return failed('', 'invalid_type');
    const named = 'type' in json ? json.type : undefined;
    if (named === undefined)
        return failed('/type', 'missing');
    const type = types.get(named);
    if (type === undefined)
        return failed('/type', typeof named === 'string' ? 'unknown_type' : 'invalid_type');
    return checked(parsers[type], json);
}
function checked(schema, json) {
    const result = schema.safeParse(json);
    if (result.success)
        return { ok: true, record: result.data };
    const problems = result.error.issues.flatMap((issue) => explain(issue, json));
    return { ok: false, problems: problems.slice(0, PROBLEMS_MAX) };
}
const failed = (pointer, code) => ({
    ok: false,
    problems: [{ pointer, code }],
});
function explain(issue, json) {
    const pointer = pointerTo(issue.path);
    switch (issue.code) {
        case 'unrecognized_keys':
            return issue.keys.map((key) => ({ pointer: pointerTo([...issue.path, key]), code: 'unknown_member' }));
        case 'invalid_type':
        case 'invalid_value':
            if (valueAt(json, issue.path) === undefined)
                return [{ pointer, code: 'missing' }];
            return [{ pointer, code: issue.code }];
        case 'too_big':
            return [{ pointer, code: isSized(issue.origin) ? 'too_long' : 'out_of_range' }];
        case 'too_small':
            return [{ pointer, code: isSized(issue.origin) ? 'too_short' : 'out_of_range' }];
        case 'custom':
            return [{ pointer, code: problemCode.options.find((code) => code === issue.message) ?? 'invalid_value' }];
        default:
            return [{ pointer, code: 'invalid_value' }];
    }
}
const isSized = (origin) => origin === 'string' || origin === 'array';
function pointerTo(path) {
    return path
        .map((part) => `/${String(part)
        .slice(0, SEGMENT_MAX)
        .replaceAll(/[\p{Surrogate}\p{Cc}]/gu, '\u{fffd}')
        .replaceAll('~', '~0')
        .replaceAll('/', '~1')}`)
        .join('');
}
function valueAt(json, path) {
    let value = json;
    for (const part of path) {
        if (typeof value !== 'object' || value === null)
            return undefined;
        value = Object.getOwnPropertyDescriptor(value, part)?.value;
    }
    return value;
}
//# sourceMappingURL=parse-record.js.map