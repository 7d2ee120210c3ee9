import { createHmac, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.js';
const seal = (key, list, start) => createHmac('sha256', key).update(`page ${start} ${list}`).digest().subarray(0, 16);
/** A page token, `{ms}.{task id}.{seal}` in base64url. The seal makes it valid only for this list. */
export const pageTokenOf = (key, list, { at, id }) => {
    const start = `${at}.${id}`;
    return Buffer.from(`${start}.${seal(key, list, start).toString('base64url')}`).toString('base64url');
};
/** Returns the page start of a token. Throws `invalid_cursor` unless `pageTokenOf` has made the token for this list. */
export function pageStartOf(key, list, token) {
    const [, at = '', id = ''] = /^(\d{1,15})\.(task_[a-f0-9]{32})\./.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
    const start = { at: Number(at), id };
    const [given, due] = [Buffer.from(token), Buffer.from(pageTokenOf(key, list, start))];
    if (given.length !== due.length || !timingSafeEqual(given, due))
        throw new Failure('invalid_cursor');
    return start;
}
//# sourceMappingURL=page-token.js.map