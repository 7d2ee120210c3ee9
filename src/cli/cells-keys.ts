import { openGivenKeys } from '../auth/key-file.ts';
import { sealedKey, takeSeal } from '../privacy/digests.ts';
import * as cells from '../store/administration/cells.ts';
import { readCellFacts } from '../store/cells/facts.ts';
import { withStoreAt } from '../store/open/cell.ts';
import type { CommandContext } from './context.ts';
import { Refused } from './output.ts';

/** Gives this store the keys of another cell, before its first use. */
export async function takeKeys({ store, config }: CommandContext, address: string): Promise<string[]> {
  const { db, slow } = await store();
  const version = await cells.schemaVersion(slow);
  const theirs = await withStoreAt(address, async (other) => {
    const found = await cells.schemaVersion(other);
    if (found !== version)
      throw new Refused(
        found === 0
          ? 'The address of --like leads to a database that is no store of a gateway. Name the store of another cell.'
          : `The store of --like has schema version ${found}, and this one has ${version}. Use the same version of the gateway for both.`,
      );
    return { facts: await readCellFacts(other), keys: await cells.readCellKeys(other) };
  });
  const own = await readCellFacts(slow);
  if (own.identity === theirs.facts.identity)
    throw new Refused('The address of --like leads to this store. Name the store of another cell.');
  if (own.cell === theirs.facts.cell)
    throw new Refused(
      `Both stores are cell ${own.cell}. Make this one anew in an empty database, with another GATEWAY_CELL.`,
    );
  const before = await cells.readCellKeys(slow);
  const done: string[] = [];
  if (before.ledger !== theirs.keys.ledger) {
    if ((await cells.servingConnections(slow)) > 0)
      throw new Refused('A gateway serves this store, and knows its ledger key. Stop it, and run the command again.');
    if (!(await cells.takeLedgerKey(db, theirs.keys.ledger)))
      throw new Refused(
        'This store has used its own ledger key: it has operations or receipts. The keys of another cell can only be taken before the first use. Make the cell anew in an empty database.',
      );
    done.push('ledger key');
  }
  const { suppression } = theirs.keys;
  if (suppression === null) return done;
  const keys = await openGivenKeys(config);
  const opened = (sealed: string | undefined) => (sealed === undefined ? undefined : keys.open('suppression', sealed));
  const same = opened(suppression) !== undefined && opened(await sealedKey(slow)) === opened(suppression);
  if (same) return done;
  try {
    await takeSeal(db, keys, suppression);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Refused(
      opened(suppression) === undefined
        ? 'GATEWAY_KEYS cannot open the key of suppressions of the other cell. All cells must have the same GATEWAY_KEYS.'
        : 'People were erased in this store under its own key of suppressions. The keys of another cell can only be taken before the first erasure.',
    );
  }
  return [...done, 'key of suppressions'];
}
