import { defineTool } from '../../src/core/tool.js';
import { Definition, definitionOf, pathOf, subscribed } from '../../src/views/subscription.js';
export default defineTool({
    name: 'subscription_create',
    title: 'Create an event subscription',
    summary: 'Subscribe to changes of websites. Store the returned cursor for the first events_pull.',
    rest: 'POST /api/v1/subscriptions',
    effect: 'write',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    author: 'none',
    idempotency: 'optional',
    status: 201,
    emits: [],
    errors: ['inventory_limit'],
    input: { body: Definition },
    output: subscribed,
    revision: ({ subscription }) => subscription.revision,
    location: ({ subscription }) => pathOf(subscription),
    handle: ({ input, write }) => write.createSubscription(definitionOf(input)),
});
//# sourceMappingURL=subscription-create.js.map