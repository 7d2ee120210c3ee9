import { z } from 'zod';
import { SubscriptionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
import { SubscriptionView } from '../../src/views/subscription.js';
export default defineTool({
    name: 'subscription_get',
    title: 'Read an event subscription',
    summary: 'One subscription with its current revision. The answer has no cursor.',
    rest: 'GET /api/v1/subscriptions/{subscription_id}',
    effect: 'read',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    errors: ['subscription_corrupt'],
    input: { path: { subscription_id: SubscriptionId } },
    output: z.strictObject({ subscription: SubscriptionView }),
    revision: ({ subscription }) => subscription.revision,
    async handle({ input, read }) {
        return { subscription: await read.subscription(input.subscription_id) };
    },
});
//# sourceMappingURL=subscription-get.js.map