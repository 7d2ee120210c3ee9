import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

/** Throws StoreUnavailable if the store is another cell than GATEWAY_CELL says. */
export async function requireCell(db: Database, cell: number): Promise<void> {
  const [row] = await db.read<{ number: number }>(sql`SELECT number FROM gateway.cell`);
  if (row === undefined || row.number === cell) return;
  throw new StoreUnavailable(
    `The store is cell ${row.number}, but GATEWAY_CELL is ${cell}${cell === 1 ? ' (the default)' : ''}. Set GATEWAY_CELL=${row.number}, or name the store of cell ${cell}. A store keeps its number. So make a new cell in an empty database.`,
  );
}
