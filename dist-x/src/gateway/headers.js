import { Failure } from '../core/failures.js';
/** Undefined if the operation accepts no key, or if the caller sent none. */
export function keyOf({ tool, idempotencyKey: key }) {
    if (tool.idempotency === 'none')
        return undefined;
    const parameter = 'Idempotency-Key';
    const expected = '1 to 128 printable ASCII characters without spaces';
    if (key === undefined && tool.idempotency === 'optional')
        return undefined;
    if (key === undefined)
        throw new Failure('idempotency_key_required', { errors: [{ parameter, code: 'missing', expected }] });
    if (/^[!-~]{1,128}$/.test(key))
        return key;
    throw new Failure('invalid_idempotency_key', { errors: [{ parameter, code: 'invalid_idempotency_key', expected }] });
}
/** If-Match can hold an entity tag or a bare number (HT-10). */
export function ifMatchOf({ tool, ifMatch }) {
    if (!tool.ifMatch)
        return undefined;
    const parameter = 'If-Match';
    const expected = 'the current revision, such as 3';
    if (ifMatch === undefined)
        throw new Failure('if_match_required', { errors: [{ parameter, code: 'missing', expected }] });
    const [, tag, bare] = /^(?:"([1-9][0-9]{0,9})"|([1-9][0-9]{0,9}))$/.exec(ifMatch) ?? [];
    const revision = tag ?? bare;
    if (revision === undefined) {
        throw new Failure('invalid_parameter', { errors: [{ parameter, code: 'invalid_parameter', expected }] });
    }
    return Number(revision);
}
/** The store later checks that the credential has registered this origin. */
export function originOf({ tool, origin }) {
    if (!tool.origin)
        return undefined;
    if (origin === undefined)
        throw new Failure('invalid_request', {
            errors: [{ parameter: 'Origin', code: 'missing', expected: 'an origin of the credential' }],
        });
    return origin;
}
//# sourceMappingURL=headers.js.map