import { z } from 'zod';
import { accepts } from './accepted-values.js';
import { EVENT_FAMILIES, EVENT_KINDS } from './events.js';
import { WebsiteId } from './ids.js';
export const familyNamed = (name) => EVENT_FAMILIES.find((one) => one === name);
/** The arguments of a subscription, the same for every event name. */
export const EventArguments = z.strictObject({
    website_id: WebsiteId.optional().describe('Only this website. Default: all granted websites.'),
    types: accepts(z
        .array(z.enum(EVENT_KINDS))
        .min(1)
        .max(EVENT_KINDS.length)
        .refine((all) => new Set(all).size === all.length)
        .meta({ uniqueItems: true }), `an array of different types: ${EVENT_KINDS.join(', ')}`)
        .optional()
        .describe('Only these types of receipts. Default: all five.'),
});
/** The event types of the journal that a subscription asks for. */
export const eventTypesOf = (family, { types }) => types === undefined
    ? [`${family}.*`]
    : EVENT_KINDS.filter((kind) => types.includes(kind)).map((kind) => `${family}.${kind}`);
//# sourceMappingURL=event-arguments.js.map