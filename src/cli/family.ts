import { type Command, Option } from 'commander';
import { EVENT_FAMILIES } from '../core/events.ts';
import { type Family, holdFamily, releaseFamily, reportGap } from '../store/events/journal.ts';
import type { Run } from './context.ts';
import { website } from './references.ts';

interface FamilyOptions {
  readonly website: string;
  readonly family: Family;
}

export function familyCommands(program: Command, register: Run): void {
  const group = program
    .command('family')
    .description('hold event families of a website, and report gaps in their receipts');
  pauseCommand(group, register);
  resumeCommand(group, register);
  gapCommand(group, register);
}

const target = (command: Command): Command =>
  command
    .requiredOption('--website <WEB>', 'website, by id or external_id')
    .addOption(new Option('--family <F>', 'event family').choices(EVENT_FAMILIES).makeOptionMandatory());

function pauseCommand(group: Command, register: Run): void {
  const command = target(
    group.command('pause').description('hold an event family: changes are recorded but not delivered; safe to repeat'),
  );
  register(command, async ({ out, store }) => {
    const given = command.opts<FamilyOptions>();
    const { db } = await store();
    const site = await website(db, given.website);
    const changed = await holdFamily(db, site, given.family);
    out.result(
      { website_id: site.id, family: given.family, status: 'paused', changed },
      `Family ${given.family} of ${site.id} ${changed ? 'is' : 'was already'} held.`,
    );
  });
}

function resumeCommand(group: Command, register: Run): void {
  const command = target(
    group.command('resume').description('release a held event family: changes recorded meanwhile are delivered'),
  );
  register(command, async ({ out, store }) => {
    const given = command.opts<FamilyOptions>();
    const { db } = await store();
    const site = await website(db, given.website);
    const changed = await releaseFamily(db, site, given.family);
    out.result(
      { website_id: site.id, family: given.family, status: 'live', changed },
      `Family ${given.family} of ${site.id} ${changed ? 'is no longer' : 'was not'} held.`,
    );
  });
}

function gapCommand(group: Command, register: Run): void {
  const command = target(
    group.command('gap').description('report that changes were not recorded, so that receivers read everything again'),
  );
  register(command, async ({ out, store }) => {
    const given = command.opts<FamilyOptions>();
    const { db } = await store();
    const site = await website(db, given.website);
    const types = await reportGap(db, site, given.family);
    out.result(
      { website_id: site.id, family: given.family, event_types: types },
      `A gap was reported to the receivers of ${site.id}: ${types.join(', ')}.`,
    );
  });
}
