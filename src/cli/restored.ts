import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import { EVENT_FAMILIES } from '../core/events.ts';
import { type ErasureList, parseErasures, repeatErasures } from '../privacy/erasures.ts';
import { endConsents } from '../store/administration/consents.ts';
import { compareAll } from '../store/administration/sources.ts';
import { lapseApprovals } from '../store/calls/ledger.ts';
import { leapJournals } from '../store/events/journal.ts';
import { whenBuilt } from './building.ts';
import type { RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { Refused } from './output.ts';

/** Pending writes that one statement lapses. */
const LAPSED = 500;

/**
 * Run this command after a backup was restored. Clients may have seen receipts that the backup lacks. So the command
 * ends their cursors and reports a gap in the receipts. The backup also lacks the latest uses of refresh tokens and
 * codes. So the command ends all consents and sign-ins. The backup can hold people who were erased later. So the command
 * erases them again, from a list that was kept outside of the backup.
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
  command.option('--erasures <FILE>', 'erase again the people of this list, which `erase list --json` printed');
  register(command, async ({ out, store, config }) => {
    const { yes, erasures } = command.opts<{ yes?: true; erasures?: string }>();
    const storeName = existingStore(config);
    if (yes !== true) {
      throw new Refused(
        `This ends all cursors, consents and sign-ins of this store: ${storeName}. Use --yes if this store is the restored one.`,
      );
    }
    const list = erasures === undefined ? undefined : await readList(erasures);
    const keys = list && (await openGivenKeys(config));
    out.note(`store: ${storeName}`);
    const { slow } = await store();
    const repeated = list && keys && (await whenBuilt(repeatErasures(slow, keys, list)));
    for (const id of repeated?.others ?? [])
      out.note(`${id} is somebody else in this store. Nobody was erased under this id.`);
    const websites = await leapJournals(slow, EVENT_FAMILIES);
    const consents = await endConsents(slow);
    // Somebody may have approved these writes after the backup, and a helpdesk may have performed them.
    let approvals = 0;
    for (let lapsed = LAPSED; lapsed === LAPSED; approvals += lapsed) lapsed = await lapseApprovals(slow, LAPSED, true);
    // The backup also lacks the latest changes of the live sources.
    await compareAll(slow);
    out.result(
      { websites, consents, approvals, ...(repeated && { erased: repeated.erased.length, absent: repeated.absent }) },
      `Receivers of ${websites} websites will read everything again. ${consents} consents have ended. ${approvals} writes no longer wait for an approval.${
        repeated === undefined ? '' : ` ${repeated.erased.length} people were erased again.`
      }`,
    );
  });
}

async function readList(path: string): Promise<ErasureList> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) throw new Refused('The file of --erasures cannot be read.');
  const list = parseErasures(text);
  if (list === undefined) throw new Refused('The file of --erasures is no list of `gateway erase list --json`.');
  return list;
}
