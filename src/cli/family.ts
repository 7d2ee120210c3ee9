import { type Command, Option } from 'commander';
import { EVENT_FAMILIES } from '../core/events.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Family, holdFamily, releaseFamily, reportGap } from '../store/events/journal.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { website } from './references.ts';

type Site = Awaited<ReturnType<typeof website>>;
/** Does the work of a command. Returns the members of its document, and its sentence. */
type FamilyAction = (db: Database, site: Site, family: Family) => Promise<readonly [document: object, text: string]>;

export function familyCommands(program: Command, register: RunAction): void {
  const group = program
    .command('family')
    .description('hold event families of a website, and report gaps in their receipts');
  const add = (
    name: string,
    description: string,
    work: FamilyAction,
    question?: (site: Site, family: Family) => string,
  ): void => {
    const command = group
      .command(name)
      .description(description)
      .requiredOption('--website <WEB>', 'website, by id or external_id')
      .addOption(new Option('--family <F>', 'event family').choices(EVENT_FAMILIES).makeOptionMandatory());
    if (question !== undefined) irreversible(command);
    register(command, async ({ out, store }) => {
      const given = command.opts<{ website: string; family: Family }>();
      const { db } = await store();
      const site = await website(db, given.website);
      if (question !== undefined) await confirm(command, question(site, given.family));
      const [document, text] = await work(db, site, given.family);
      out.result({ website_id: site.id, family: given.family, ...document }, text);
    });
  };
  add(
    'pause',
    'hold an event family: changes are recorded but not delivered; safe to repeat',
    async (db, site, family) => {
      const changed = await holdFamily(db, site, family);
      const text = `Family ${family} of ${site.id} ${changed ? 'is' : 'was already'} held.`;
      return [{ status: 'paused', changed }, text];
    },
  );
  add('resume', 'release a held event family: changes recorded meanwhile are delivered', async (db, site, family) => {
    const changed = await releaseFamily(db, site, family);
    const text = `Family ${family} of ${site.id} ${changed ? 'is no longer' : 'was not'} held.`;
    return [{ status: 'live', changed }, text];
  });
  add(
    'gap',
    'report that changes were not recorded, so that receivers read everything again',
    async (db, site, family) => {
      const types = await reportGap(db, site, family);
      return [{ event_types: types }, `A gap was reported to the receivers of ${site.id}: ${types.join(', ')}.`];
    },
    (site, family) =>
      `Report a gap of ${family} to the receivers of ${site.id}? They read everything again, and nobody can undo it.`,
  );
}
