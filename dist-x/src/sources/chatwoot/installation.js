import { createHash } from 'node:crypto';
import { sql } from '../../core/sql.js';
const digest = (text) => createHash('sha256').update(text).digest('hex');
/** Returns when the account was created, in microseconds. Chatwoot never changes it, and a restore keeps it. */
export async function accountOf(db, account) {
    const [row] = await db.read(sql `SELECT extract(epoch FROM a.created_at)::text AS at FROM public.accounts a WHERE a.id = ${account}::bigint`);
    return row === undefined ? undefined : digest(`chatwoot account ${account} ${row.at ?? ''}`);
}
/**
 * Returns the UUID that Chatwoot makes for itself when needed. Its table also has secrets, so the grants leave it out.
 * The gateway reads the UUID only if the role may do so anyway.
 */
async function identifierOf(db) {
    const [right] = await db.read(sql `SELECT bool_and(has_column_privilege(a.attrelid, a.attnum, 'SELECT')) AND count(*) = 2 AS readable FROM pg_attribute a
         WHERE a.attrelid = to_regclass('public.installation_configs') AND a.attname IN ('name', 'serialized_value')`);
    if (right?.readable !== true)
        return undefined;
    // Older versions of Chatwoot store YAML in this column, newer versions an object. Both contain the UUID as text.
    const [row] = await db.read(sql `SELECT substring(serialized_value::text FROM '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}') AS identifier
          FROM public.installation_configs WHERE name = 'INSTALLATION_IDENTIFIER'`);
    return row?.identifier ? digest(row.identifier) : undefined;
}
/** Undefined if Chatwoot does not have the account. */
export async function installationOf(db, account) {
    const of = await accountOf(db, account);
    return of === undefined ? undefined : { account: of, identifier: await identifierOf(db) };
}
//# sourceMappingURL=installation.js.map