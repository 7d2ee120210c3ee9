import type { Command } from 'commander';
import { EVENT_FAMILIES } from '../core/events.ts';
import { endConsents } from '../store/administration/consents.ts';
import { leapJournals } from '../store/events/journal.ts';
import type { Run } from './context.ts';
import { existingStore } from './existing-store.ts';
import { Refused } from './output.ts';

/**
 * `gateway restored`: what clients have seen since a backup is not in it; this ends their cursors and tells them so. Nor is what
 * was used up since: refresh tokens and codes, each good once. Their consents end, and so do sign-ins.
 */
export function restoredCommand(program: Command, register: Run): void {
  const command = program
    .command('restored')
    .description(
      'after a backup was put back: end cursors of the time that was lost, consents and sign-ins; tell of a gap',
    )
    .option('--yes', 'the store that is named without it is the one that was put back');
  register(command, async ({ out, store, config }) => {
    const { yes } = command.opts<{ yes?: true }>();
    const place = existingStore(config);
    if (yes !== true) {
      throw new Refused(
        `This ends the cursors of all who read from this store, its consents and its sign-ins: ${place}. Give --yes if it is the one that was put back.`,
      );
    }
    out.note(`store: ${place}`);
    const { slow } = await store();
    const websites = await leapJournals(slow, EVENT_FAMILIES);
    const consents = await endConsents(slow);
    out.result(
      { websites, consents },
      `Receivers of ${websites} websites are told to read everything again. ${consents} consents have ended.`,
    );
  });
}
