import { Option } from 'commander';
import { EVENT_FAMILIES } from '../core/events.js';
import { holdFamily, releaseFamily, reportGap } from '../store/events/journal.js';
import { website } from './references.js';
export function familyCommands(program, register) {
    const group = program
        .command('family')
        .description('hold event families of a website, and report gaps in their receipts');
    const add = (name, description, work) => {
        const command = group
            .command(name)
            .description(description)
            .requiredOption('--website <WEB>', 'website, by id or external_id')
            .addOption(new Option('--family <F>', 'event family').choices(EVENT_FAMILIES).makeOptionMandatory());
        register(command, async ({ out, store }) => {
            const given = command.opts();
            const { db } = await store();
            const site = await website(db, given.website);
            const [document, text] = await work(db, site, given.family);
            out.result({ website_id: site.id, family: given.family, ...document }, text);
        });
    };
    add('pause', 'hold an event family: changes are recorded but not delivered; safe to repeat', async (db, site, family) => {
        const changed = await holdFamily(db, site, family);
        const text = `Family ${family} of ${site.id} ${changed ? 'is' : 'was already'} held.`;
        return [{ status: 'paused', changed }, text];
    });
    add('resume', 'release a held event family: changes recorded meanwhile are delivered', async (db, site, family) => {
        const changed = await releaseFamily(db, site, family);
        const text = `Family ${family} of ${site.id} ${changed ? 'is no longer' : 'was not'} held.`;
        return [{ status: 'live', changed }, text];
    });
    add('gap', 'report that changes were not recorded, so that receivers read everything again', async (db, site, family) => {
        const types = await reportGap(db, site, family);
        return [{ event_types: types }, `A gap was reported to the receivers of ${site.id}: ${types.join(', ')}.`];
    });
}
//# sourceMappingURL=family.js.map