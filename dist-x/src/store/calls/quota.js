import { runFor, sql } from '../../core/sql.js';
import { changesOf } from '../driver/connections.js';
import { sqlState } from '../driver/errors.js';
/** Takes units from the bucket of an app (gateway.take_quota). Returns `null` when the app does not exist. */
export async function takeQuota(db, app, ask) {
    const statement = sql `
    SELECT * FROM gateway.take_quota(${app}, ${ask.need}, ${ask.want}, ${ask.held}, ${ask.unspent},
                                     ${ask.heldIn}, ${ask.windowSeconds}::float8 * interval '1 second')`;
    const [grant] = await db.query(runFor(changesOf(app), statement));
    return grant ?? null;
}
/** Takes units for work that was done without a lease. What the bucket lacks becomes a debt of the app. */
export async function oweQuota(db, app, units) {
    const statement = sql `UPDATE gateway.quota SET tokens = tokens - ${units}::integer WHERE app_id = ${app}`;
    await db.query(runFor(changesOf(app), statement));
}
/** True when the store answers but cannot write, because it is read-only or its disk is full. */
export const takesNoWrites = (error) => /^(25006|53100)$/.test(sqlState(error));
/** Reads the state of an app's bucket and takes no units. Returns `null` when the app does not exist. */
export async function seeQuota(db, app) {
    const statement = sql `
    SELECT a.quota_per_minute AS per_minute, a.burst,
           least(a.burst, coalesce(q.tokens + extract(epoch FROM clock_timestamp() - q.at) * a.quota_per_minute / 60.0,
                                   a.burst))::float8 AS remaining
      FROM gateway.app a LEFT JOIN gateway.quota q ON q.app_id = a.id WHERE a.id = ${app}`;
    const [bucket] = await db.read(runFor(app, statement));
    return bucket ?? null;
}
//# sourceMappingURL=quota.js.map