import { isErased } from './digests.js';
import { parseRecord, parseSourceRecord, UNREADABLE } from './parse-record.js';
import { RECORD_TYPES } from './records.js';
import { rowOf } from './row.js';
/** A record with such an id could fill or remove the shell that an erasure leaves. */
const RESERVED = [{ pointer: '/external_id', code: 'invalid_value' }];
/** Checks and converts one record. Never throws. */
export function prepareRecord(json, live) {
    try {
        const parsed = live ? parseSourceRecord(json) : parseRecord(json);
        if (!parsed.ok)
            return { refused: parsed.problems, type: typeOf(json) };
        const { record } = parsed;
        if (isErased(record.external_id))
            return { refused: RESERVED, type: record.type };
        if (record.type === 'file' && (!('size' in record) || record.path !== undefined))
            return { file: record };
        return { row: rowOf(record) };
    }
    catch {
        return unreadable(json);
    }
}
/** Makes the row of a file. `content` is undefined if it cannot be read. */
export function prepareFile(file, content) {
    try {
        return { row: rowOf(file, content) };
    }
    catch {
        return unreadable(file);
    }
}
/** Checks and converts a change of a source. */
export function prepareChange(change) {
    if ('prepared' in change)
        return change.prepared;
    if ('gone' in change)
        return prepareRecord({ type: 'delete', ...change.gone }, true);
    return prepareRecord(change.record, true);
}
const unreadable = (json) => ({ refused: UNREADABLE, type: typeOf(json) });
function typeOf(json) {
    const named = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
    return RECORD_TYPES.find((type) => type === named) ?? '';
}
//# sourceMappingURL=prepare.js.map