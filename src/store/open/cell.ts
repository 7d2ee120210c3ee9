import { type Database, openDatabase } from '../driver/postgres.ts';
import { lookAtPrimary, reaching, requirePrimary } from './server.ts';

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
