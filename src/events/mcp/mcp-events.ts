import type { Caller } from '../../store/calls/caller.ts';
import { type EventsPage, type PollContext, type PollRequest, poll } from './poll.ts';
import type { EventsRefusal } from './refusals.ts';

/**
 * `current`: the text of SEP-3415. `sketch`: the design sketch before it, which some clients still follow. They
 * differ in the codes of errors and in the place of the capability.
 */
export type EventsText = 'current' | 'sketch';

export interface McpEventsOptions extends PollContext {
  readonly text: EventsText;
}

/** Events over MCP: what the methods `events/…` do. The caller has checked that the token may subscribe. */
export interface McpEvents {
  readonly text: EventsText;
  poll(caller: Caller, request: PollRequest): Promise<EventsPage | EventsRefusal>;
}

export const openMcpEvents = (options: McpEventsOptions): McpEvents => ({
  text: options.text,
  poll: (caller, request) => poll(options, caller, request),
});
