import { z } from 'zod';
import { accepts } from './accepted-values.ts';
import { EVENT_FAMILIES, EVENT_KINDS } from './events.ts';
import { WebsiteId } from './ids.ts';

/** Events over MCP: one event name for each family of the journal. */
export type EventFamily = (typeof EVENT_FAMILIES)[number];

export const familyNamed = (name: string): EventFamily | undefined => EVENT_FAMILIES.find((one) => one === name);

/** The arguments of a subscription, the same for every event name. */
export const EventArguments = z.strictObject({
  website_id: WebsiteId.optional().describe('Only this website. Default: all granted websites.'),
  types: accepts(
    z
      .array(z.enum(EVENT_KINDS))
      .min(1)
      .max(EVENT_KINDS.length)
      .refine((all) => new Set(all).size === all.length)
      .meta({ uniqueItems: true }),
    `an array of different types: ${EVENT_KINDS.join(', ')}`,
  )
    .optional()
    .describe('Only these types of receipts. Default: all five.'),
});

export type EventArguments = z.output<typeof EventArguments>;

/** The event types of the journal that a subscription asks for. */
export const eventTypesOf = (family: EventFamily, { types }: EventArguments): string[] =>
  types === undefined
    ? [`${family}.*`]
    : EVENT_KINDS.filter((kind) => types.includes(kind)).map((kind) => `${family}.${kind}`);
