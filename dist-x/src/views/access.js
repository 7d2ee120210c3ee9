import { z } from 'zod';
import { example } from '../core/example.js';
import { WebsiteId } from '../core/ids.js';
import { DATA_ACCESS, grantsText } from '../core/scopes.js';
import { ServiceText } from '../core/texts.js';
import { ScopeName } from './scope-name.js';
export const Explained = example({
    ...{ operation: 'operators', allowed: false },
    lacks: {
        ...{ scopes: ['directory_read'], data_access: [], unrestricted: false, author: false },
        switched_off: false,
    },
    sentence: 'Ask for the scope directory_read.',
}, z.strictObject({
    operation: ServiceText.describe('Name of the operation. The MCP tool has the same name.'),
    allowed: z.boolean().describe('True if the credential can call it now, on granted websites.'),
    lacks: z
        .strictObject({
        scopes: z.array(ScopeName).describe('Scopes that it lacks.'),
        data_access: z.array(z.enum(DATA_ACCESS)).describe('Data-access flags that it lacks.'),
        unrestricted: z.boolean().describe('True if only a credential without restrictions can call it.'),
        author: z.boolean().describe('True if no enabled operator is mapped to the credential as author.'),
        switched_off: z.boolean().describe('True if the owner has switched it off for the app.'),
    })
        .nullable()
        .describe('What the credential lacks for the operation. Null if the operation is allowed.'),
    sentence: ServiceText.describe('What to ask for, in one sentence for a person.'),
}));
export const ExplainedWebsite = z.strictObject({
    website_id: WebsiteId,
    granted: z.boolean().describe('True if the website is granted to the credential.'),
    sentence: example('The website is granted to the credential.', ServiceText.describe('What it means, in one sentence.')),
});
const GRANTED = 'The website is granted to the credential.';
const NOT_GRANTED = 'The website is not granted to the credential, or it does not exist.';
export const explainedWebsite = (website_id, granted) => ({
    website_id,
    granted,
    // In the same words for a website that does not exist.
    sentence: granted ? GRANTED : NOT_GRANTED,
});
export function explained(facts, authored, whole) {
    const { operation, granted, lacks, unrestricted, switchedOff } = facts;
    const author = facts.author && authored.length === 0;
    const allowed = granted && !author;
    return {
        operation,
        allowed,
        lacks: allowed
            ? null
            : {
                ...{ scopes: [...lacks.scopes], data_access: [...lacks.dataAccess] },
                ...{ unrestricted, author, switched_off: switchedOff },
            },
        sentence: allowed ? allowedText(facts, whole ? [] : authored) : lackingText(facts, author),
    };
}
/** `only` names the websites with an author. An empty list means that every website has an author. */
function allowedText({ restOnly, author, waits, parameters, parts }, only) {
    const where = only.length <= 5 ? `: ${only.join(', ')}` : '';
    const need = (names) => (names.length > 1 ? 'need' : 'needs');
    const limits = [...byNeeds(parameters)].map(([asks, of]) => `${of.join(' and ')} also ${need(of)} ${asks}`);
    const absent = [...byNeeds(parts)].map(([asks, of]) => `${of.join(' and ')} (${need(of)} ${asks})`);
    return [
        'Allowed',
        restOnly ? ' over REST only' : '',
        waits ? ', after a person has approved the write' : '',
        author && only.length > 0 ? ` on the websites with a mapped author${where}` : '',
        absent.length > 0 ? `, without ${absent.join(', and without ')}` : '',
        limits.length > 0 ? `, but ${limits.join(', and ')}` : '',
        '.',
    ].join('');
}
function lackingText(facts, author) {
    if (facts.switchedOff)
        return SWITCHED_OFF;
    const { lacks, alternatives, unrestricted, consentRefused, ofConsent } = facts;
    const choices = [...byNeeds(alternatives)].map(([asks, names]) => `${asks} to call it with ${names.join(' or ')}`);
    const asks = [
        ...(choices.length > 0 ? [choices.join(', or for ')] : asksOf({ ...lacks, unrestricted })),
        ...(author ? ['an operator that is mapped to the credential as author'] : []),
    ];
    const both = lacks.dataAccess.length > 0 ? ['scopes and data access are both needed'] : [];
    const refused = consentRefused ? ['a token from a person’s consent cannot call this operation'] : [];
    if (asks.length === 0 && ofConsent)
        return `Use an installation token, because ${refused.join()}.`;
    return `${[`Ask for ${asks.join(', and for ')}`, ...both, ...refused].join('; ')}.`;
}
const SWITCHED_OFF = 'The owner has switched this operation off for the app. Ask the owner to switch it on.';
/** The names of the parameters, grouped by what the parameters lack. */
function byNeeds(lacks) {
    const groups = new Map();
    for (const lack of lacks) {
        const asks = asksOf(lack).join(' and ');
        groups.set(asks, [...(groups.get(asks) ?? []), lack.parameter]);
    }
    return groups;
}
const asksOf = ({ unrestricted, ...lacks }) => [
    ...(lacks.scopes.length + lacks.dataAccess.length > 0 ? [grantsText(lacks)] : []),
    ...(unrestricted ? ['a credential without restrictions'] : []),
];
//# sourceMappingURL=access.js.map