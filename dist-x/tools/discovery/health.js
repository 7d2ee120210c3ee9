import { z } from 'zod';
import { EVENT_FAMILIES } from '../../src/core/events.js';
import { example } from '../../src/core/example.js';
import { WebsiteId } from '../../src/core/ids.js';
import { ServiceText } from '../../src/core/texts.js';
import { coverage, data, defineTool, inWebsite } from '../../src/core/tool.js';
const COMPONENTS = ['store', 'journal', 'native_writes', 'files', 'ai_language_detection', 'realtime'];
const Status = z.enum(['ready', 'degraded', 'unavailable']);
/** Seconds that a source may be behind. */
const BEHIND = 60;
/** Why the source makes its website degraded. */
function whyBehind({ state, lagSeconds }) {
    if (lagSeconds === null)
        return 'The first load from the helpdesk has not ended.';
    if (lagSeconds <= BEHIND)
        return undefined;
    const last = `The data is ${Math.round(lagSeconds)} seconds behind the helpdesk.`;
    return state === 'paused' ? `${last} Reading is paused.` : state === 'failing' ? `${last} Reading fails.` : last;
}
/** Why audit records are not complete. */
const whyLost = ({ lost, stuck }) => lost > 0 ? `${lost} audit records are lost.` : stuck ? 'Audit records cannot be written now. They wait.' : undefined;
const componentOf = (name, reason, checked_at) => reason === undefined
    ? { name, status: 'ready', checked_at }
    : { name, status: 'degraded', checked_at, reason };
export default defineTool({
    name: 'health',
    title: 'Read website readiness',
    summary: 'Readiness of the components that serve a website, and the last event of each event family.',
    rest: 'GET /api/v1/health',
    effect: 'read',
    tag: 'Discovery',
    scopes: ['health_read'],
    restrictions: 'none',
    input: { query: inWebsite },
    output: data({
        website_id: WebsiteId,
        status: example('degraded', Status.describe('Overall status. The status is ready if every component is ready, and degraded otherwise.')),
        components: example([
            { name: 'store', status: 'ready', checked_at: 1_790_899_200_000 },
            {
                name: 'source',
                status: 'degraded',
                checked_at: 1_790_899_200_000,
                reason: 'The data is 95 seconds behind the helpdesk. Reading fails.',
            },
        ], z
            .array(z.strictObject({
            name: z
                .enum([...COMPONENTS, 'audit', 'source'])
                .describe('Name of the component. source: the helpdesk that the website follows, only if it has one.'),
            status: Status.describe('Status of the component.'),
            checked_at: z.int().describe('Time at which the component was checked, in Unix milliseconds.'),
            reason: ServiceText.optional().describe('Why the component is not ready. Only if it is not ready.'),
        }))
            .describe('Components that serve the website.')),
        families: z
            .array(z.strictObject({
            family: z.enum(EVENT_FAMILIES).describe('Name of the event family.'),
            status: z
                .enum(['live', 'paused', 'unreported'])
                .describe('Status of the event family. live: the gateway delivers the events. paused: the operator of the gateway holds back the events. unreported: there is no event yet, or the credential has restrictions.'),
            last_event_at: z
                .int()
                .nullable()
                .describe('Time of the last event of the family, in Unix milliseconds. Null if no event is reported.'),
        }))
            .describe('Event families of the website, with the last event of each family.'),
        coverage: coverage('website_readiness'),
    }),
    async handle({ input, read }) {
        const { checkedAt, lastEventAt, held, source, audit } = await read.health();
        const behind = source && whyBehind(source);
        const incomplete = whyLost(audit);
        return {
            data: {
                website_id: input.website_id,
                status: (behind ?? incomplete) === undefined ? 'ready' : 'degraded',
                components: [
                    ...COMPONENTS.map((name) => ({ name, status: 'ready', checked_at: checkedAt })),
                    componentOf('audit', incomplete, checkedAt),
                    ...(source ? [componentOf('source', behind, checkedAt)] : []),
                ],
                families: EVENT_FAMILIES.map((family) => {
                    const last = lastEventAt.get(family) ?? null;
                    const status = held.has(family)
                        ? 'paused'
                        : last === null
                            ? 'unreported'
                            : 'live';
                    return { family, status, last_event_at: last };
                }),
                coverage: 'website_readiness',
            },
        };
    },
});
//# sourceMappingURL=health.js.map