import { z } from 'zod';
import { defineTool } from '../../src/core/tool.js';
import { SubscriptionView } from '../../src/views/subscription.js';
export default defineTool({
    name: 'subscriptions_list',
    title: 'List event subscriptions',
    summary: 'Subscriptions of the installation, oldest first. The credential must have all websites of a subscription.',
    rest: 'GET /api/v1/subscriptions',
    effect: 'read',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    errors: ['subscription_corrupt'],
    input: {},
    output: z.strictObject({
        subscriptions: z
            .array(SubscriptionView)
            .max(20)
            .describe('Subscriptions of the installation. The oldest subscription comes first.'),
    }),
    async handle({ read }) {
        return { subscriptions: await read.subscriptions() };
    },
});
//# sourceMappingURL=subscriptions-list.js.map