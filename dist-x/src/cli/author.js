import { mapAuthor, readAuthors, unmapAuthor } from '../store/administration/authors.js';
import { credential } from './credential.js';
import { plain, Refused, table } from './output.js';
import { belonging, website } from './references.js';
/** An author mapping names the operator in whose name a credential writes on a website. */
export function authorCommands(program, register) {
    const group = program
        .command('author')
        .description('map the operator in whose name a credential writes on a website');
    mapCommand(group, register);
    unmapCommand(group, register);
    listCommand(group, register);
}
const WRITTEN_AS_OPERATOR = ['visitor_notes_write', 'conversation_update'];
const target = (command) => command
    .requiredOption('--credential <CRD>', 'id of the credential')
    .requiredOption('--website <WEB>', 'website, by id or external_id');
function mapCommand(group, register) {
    const command = target(group.command('map').description('map an enabled operator of a granted website')).requiredOption('--operator <OPR>', 'operator, by id or external_id');
    register(command, async ({ out, store }) => {
        const given = command.opts();
        const { db } = await store();
        const { id, tenant, sites, state, scopes } = await credential(db, given.credential);
        if (state === 'revoked')
            throw new Refused(`Credential ${id} is revoked. Name a credential that is not revoked.`);
        const site = await website(db, given.website, tenant);
        if (!sites.includes(site.site))
            throw new Refused(`Website ${site.id} is not granted to credential ${id}. Grant the website with credential update.`);
        const operator = await operatorOn(db, given.operator, site);
        const mapped = await mapAuthor(db, { credential: id, operator: operator.id });
        if (!mapped)
            throw new Refused(`Operator ${operator.id} is disabled. Name an enabled operator.`);
        if (!scopes.some((one) => WRITTEN_AS_OPERATOR.includes(one)))
            out.note(`Credential ${id} cannot write yet. Grant ${WRITTEN_AS_OPERATOR.join(' or ')} with credential update, which replaces the whole list of scopes.`);
        out.result({ credential_id: id, website_id: site.id, operator_id: operator.id, operator_name: mapped.operator_name }, `Credential ${id} writes on ${site.id} as ${plain(mapped.operator_name)} (${operator.id}).`);
    });
}
async function operatorOn(db, ref, site) {
    const [operator] = await belonging(db, 'operator', [ref], { tenant: site.tenant, sites: [site.site] });
    if (!operator)
        throw new Refused(`There is no operator ${JSON.stringify(ref)}.`);
    return operator;
}
function unmapCommand(group, register) {
    const command = target(group.command('unmap').description('remove the mapped operator; safe to repeat')).option('--operator <OPR>', 'remove only this operator, by id or external_id (default: any operator)');
    register(command, async ({ out, store }) => {
        const given = command.opts();
        const { db } = await store();
        const { id, tenant } = await credential(db, given.credential);
        const site = await website(db, given.website, tenant);
        if (given.operator !== undefined) {
            const operator = await operatorOn(db, given.operator, site);
            const [mapped] = await readAuthors(db, { credential: id, website: site.id });
            if (mapped && mapped.operator_id !== operator.id) {
                throw new Refused(`Another operator is mapped on ${site.id}: ${mapped.operator_id}. Name this operator, or leave out --operator.`);
            }
        }
        const removed = await unmapAuthor(db, { credential: id, tenant, site: site.site });
        out.result({ credential_id: id, website_id: site.id, operator_id: removed ?? null, removed: removed !== undefined }, removed === undefined ? `No operator was mapped on ${site.id}.` : `Operator ${removed} is no longer mapped.`);
    });
}
function listCommand(group, register) {
    const command = group
        .command('list')
        .description('list mapped operators')
        .option('--credential <CRD>', 'list only operators of this credential')
        .option('--website <WEB>', 'list only operators on this website');
    register(command, async ({ out, store }) => {
        const given = command.opts();
        const { db } = await store();
        const owner = given.credential === undefined ? undefined : await credential(db, given.credential);
        const authors = await readAuthors(db, {
            ...(owner && { credential: owner.id }),
            ...(given.website !== undefined && { website: (await website(db, given.website, owner?.tenant)).id }),
        });
        out.result({ authors }, table(['CREDENTIAL', 'WEBSITE', 'OPERATOR', 'NAME', 'USABLE'], authors.map(({ credential_id, website_id, operator_id, operator_name, usable }) => [
            ...[credential_id, website_id, operator_id, plain(operator_name)],
            usable ? 'yes' : 'no',
        ]), 'No operator is mapped.'));
    });
}
//# sourceMappingURL=author.js.map