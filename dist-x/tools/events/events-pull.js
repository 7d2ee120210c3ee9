import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { SubscriptionId } from '../../src/core/ids.js';
import { defineTool } from '../../src/core/tool.js';
import { EventPageView } from '../../src/views/event.js';
import { EventCursor } from '../../src/views/subscription.js';
export default defineTool({
    name: 'events_pull',
    title: 'Pull change receipts',
    summary: 'Receipts of changes after a cursor: event type, website, times. A receipt never says what changed. Repeat while has_more is true.',
    rest: 'GET /api/v1/events',
    effect: 'read',
    tag: 'Events',
    scopes: ['website_read', 'event_read'],
    restrictions: 'refused',
    consent: 'refused',
    errors: [
        'invalid_cursor',
        'revision_changed',
        'replay_expired',
        'event_family_paused',
        'subscription_corrupt',
        'journal_unavailable',
    ],
    input: {
        query: {
            subscription_id: SubscriptionId,
            after: EventCursor.describe('The last next_cursor, or the first cursor of the subscription. The page starts after this cursor.'),
            limit: example(10, z
                .int()
                .min(1)
                .max(100)
                .default(25)
                .describe('Records per page. The range is 1 to 100, and the default is 25. A page can hold fewer records.')),
        },
    },
    output: EventPageView,
    handle: ({ input, read }) => read.pull({ subscription: input.subscription_id, after: input.after, limit: input.limit }),
});
//# sourceMappingURL=events-pull.js.map