import { sql } from '../../core/sql.ts';

/**
 * Conditions for work that changes rows of many organizations in one statement. The guard of a move refuses a change of
 * a row whose organization is moving or has moved (gateway.guard_move in 33_moves.sql), and so the whole statement.
 */

/** Always true. Within this statement, a refused row stays as it is, and the statement goes on. */
export const asMachine = sql`(SELECT set_config('gateway.machine', 'on', true)) = 'on'`;

/**
 * Numbers of the organizations that have moved away, and ids of their credentials. A statement with a limit leaves them
 * out, because rows that always stay would fill all its batches.
 */
export const MOVED = sql`SELECT x.tenant FROM gateway.move x WHERE x.phase = 'moved'`;
export const MOVED_CREDENTIALS = sql`
  SELECT xc.id FROM gateway.app xa JOIN gateway.installation xi ON xi.app_id = xa.id
    JOIN gateway.credential xc ON xc.installation_id = xi.id WHERE xa.tenant = ANY (ARRAY(${MOVED}))`;
