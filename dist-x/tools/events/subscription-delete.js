import { z } from 'zod';
import { SubscriptionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
export default defineTool({
    name: 'subscription_delete',
    title: 'Delete an event subscription',
    summary: 'Delete a subscription permanently. The cursors of the subscription stop working.',
    rest: 'DELETE /api/v1/subscriptions/{subscription_id}',
    effect: 'write',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    author: 'none',
    idempotency: 'optional',
    ifMatch: 'required',
    status: 204,
    emits: [],
    errors: ['revision_changed', 'concurrent_mutation'],
    input: { path: { subscription_id: SubscriptionId } },
    output: z.strictObject({}),
    async handle({ input, write }) {
        await write.deleteSubscription(input.subscription_id);
        return {};
    },
});
//# sourceMappingURL=subscription-delete.js.map