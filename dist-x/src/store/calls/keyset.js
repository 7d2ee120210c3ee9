import { invalidCursor } from '../../core/failures.js';
import { fitsBigint, nativeIn } from '../../core/ids.js';
import { raw, sql } from '../../core/sql.js';
/** The cursor contains the sort values of the last row, so that the list continues even if that row is deleted. */
export function keyset(website, view, request) {
    const alias = raw(view.alias);
    const invalid = () => {
        throw invalidCursor();
    };
    if (request.by === 'updated_at') {
        const at = request.cursor === undefined ? undefined : (readUpdatedCursor(request.cursor, website) ?? invalid());
        return {
            by: sql `${alias}.updated_at, ${alias}.id`,
            key: sql `(extract(epoch FROM ${alias}.updated_at) * 1000000)::bigint AS moment`,
            after: at &&
                sql `(${alias}.updated_at, ${alias}.id) > ('epoch'::timestamptz + ${at.moment}::bigint * interval '1 microsecond', ${at.native}::bigint)`,
            cursor: (native, moment) => writeUpdatedCursor(website, String(moment), String(native)),
        };
    }
    const descending = (request.direction ?? view.order ?? 'desc') === 'desc';
    const kind = view.id;
    const { cursor } = request;
    const last = cursor === undefined ? undefined : nativeAt(website, kind, cursor);
    if (cursor !== undefined && last === undefined)
        return invalid();
    return {
        by: descending ? sql `${alias}.id DESC` : sql `${alias}.id ASC`,
        key: sql `NULL AS moment`,
        after: last === undefined ? last : descending ? sql `${alias}.id < ${last}` : sql `${alias}.id > ${last}`,
        cursor: (native) => (kind === 'plain' ? String(native) : kind.format(website, String(native))),
    };
}
// Website, microseconds and native id, opaque to callers. Not signed, because it gives no rights: every page checks the
// authority.
const writeUpdatedCursor = (website, moment, native) => Buffer.from(`${website.id}_${moment}_${native}`).toString('base64url');
function readUpdatedCursor(cursor, website) {
    const text = Buffer.from(cursor, 'base64url').toString('latin1');
    const match = /^(web_[0-9]{1,20}_[1-9][0-9]{0,18})_(-?[0-9]{1,17})_([1-9][0-9]{0,18})$/.exec(text);
    const [, site, moment, native] = match ?? [];
    if (site !== website.id || moment === undefined || native === undefined || !fitsBigint(native))
        return undefined;
    return Buffer.from(text).toString('base64url') === cursor ? { moment, native } : undefined;
}
/** A list with two forms of cursor accepts any text as a cursor. So this checks that the text is an id. */
const nativeAt = (website, kind, cursor) => kind === 'plain' || kind.schema.safeParse(cursor).success ? nativeIn(website, kind, cursor) : undefined;
//# sourceMappingURL=keyset.js.map