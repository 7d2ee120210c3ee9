import { example } from '../../src/core/example.js';
import { SubscriptionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
import { Definition, definitionOf, subscribed } from '../../src/views/subscription.js';
export default defineTool({
    name: 'subscription_replace',
    title: 'Replace an event subscription',
    summary: 'Replace the whole definition of a subscription. Old cursors stop working. Use the returned cursor.',
    rest: 'PATCH /api/v1/subscriptions/{subscription_id}',
    effect: 'write',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    author: 'none',
    idempotency: 'optional',
    ifMatch: 'required',
    emits: [],
    errors: ['revision_changed', 'concurrent_mutation'],
    input: {
        path: { subscription_id: SubscriptionId },
        body: { ...Definition, start: example('retained', Definition.start) },
    },
    output: subscribed,
    revision: ({ subscription }) => subscription.revision,
    handle: ({ input, write }) => write.replaceSubscription(input.subscription_id, definitionOf(input)),
});
//# sourceMappingURL=subscription-replace.js.map