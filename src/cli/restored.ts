import type { Command } from 'commander';
import { EVENT_FAMILIES } from '../core/events.ts';
import { endConsents } from '../store/administration/consents.ts';
import { compareAll } from '../store/administration/sources.ts';
import { leapJournals } from '../store/events/journal.ts';
import type { RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { Refused } from './output.ts';

/**
 * Run this command after a backup was restored. Clients may have seen receipts that the backup lacks. So the command
 * ends their cursors and reports a gap in the receipts. The backup also lacks the latest uses of refresh tokens and
 * codes. So the command ends all consents and sign-ins.
 */
export function restoredCommand(program: Command, register: RunAction): void {
  const command = program
    .command('restored')
    .description(
      'run this after restoring a backup: end consents, sign-ins and cursors of the lost time, and report a gap',
    )
    .option(
      '--yes',
      'confirm that the configured store is the restored one (without --yes the command only names the store)',
    );
  register(command, async ({ out, store, config }) => {
    const { yes } = command.opts<{ yes?: true }>();
    const storeName = existingStore(config);
    if (yes !== true) {
      throw new Refused(
        `This ends all cursors, consents and sign-ins of this store: ${storeName}. Use --yes if this store is the restored one.`,
      );
    }
    out.note(`store: ${storeName}`);
    const { slow } = await store();
    const websites = await leapJournals(slow, EVENT_FAMILIES);
    const consents = await endConsents(slow);
    // The backup also lacks the latest changes of the live sources.
    await compareAll(slow);
    out.result(
      { websites, consents },
      `Receivers of ${websites} websites will read everything again. ${consents} consents have ended.`,
    );
  });
}
