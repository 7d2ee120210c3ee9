import { sql } from '../../core/sql.ts';
import { type Database, openDatabase } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';
import { lookAtPrimary, reaching, requirePrimary } from './server.ts';

/** Throws StoreUnavailable if the store is another cell than GATEWAY_CELL says. */
export async function requireCell(db: Database, cell: number): Promise<void> {
  const [row] = await db.read<{ number: number }>(sql`SELECT number FROM gateway.cell`);
  if (row === undefined || row.number === cell) return;
  throw new StoreUnavailable(
    `The store is cell ${row.number}, but GATEWAY_CELL is ${cell}${cell === 1 ? ' (the default)' : ''}. Set GATEWAY_CELL=${row.number}, or name the store of cell ${cell}. A store keeps its number. So make a new cell in an empty database.`,
  );
}

/** Milliseconds for a statement on the store of another cell. */
const PATIENCE = 15_000;

/** Runs work on the store at an address of a command line. Throws StoreUnavailable if it cannot be used. */
export async function withStoreAt<T>(address: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase({
    ...{ target: address, primary: true, connections: 1, statementTimeout: PATIENCE, name: 'gateway-cells' },
  });
  try {
    return await reaching('The address', address, async () => {
      requirePrimary(await lookAtPrimary(db, address), 'The address');
      return work(db);
    });
  } finally {
    await db.close();
  }
}
