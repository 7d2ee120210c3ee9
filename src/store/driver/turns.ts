import { type Fragment, runFor } from '../../core/sql.ts';
import type { Database } from './postgres.ts';

/**
 * The same database for one person or one network. A statement that names no app takes turns as this person's or
 * network's, so it cannot hold all connections of a pool.
 */
export function inTurnOf(who: string, db: Database): Database {
  const named = (statement: Fragment): Fragment => (statement.app === undefined ? runFor(who, statement) : statement);
  return { ...db, query: (statement) => db.query(named(statement)), read: (statement) => db.read(named(statement)) };
}
