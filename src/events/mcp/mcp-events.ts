import type { SenderOptions } from '../../outbound/sender.ts';
import type { Caller } from '../../store/calls/caller.ts';
import { openChallenges } from './challenge.ts';
import { type EventsPage, type PollRequest, poll } from './poll.ts';
import type { EventsRefusal, EventsText } from './refusals.ts';
import {
  type McpSubscription,
  type SubscribeContext,
  type SubscribeRequest,
  type SubscriptionKey,
  subscribe,
  unsubscribe,
} from './subscribe.ts';

export interface McpEventsOptions extends Omit<SubscribeContext, 'challenge' | 'allowed'> {
  readonly text: EventsText;
  readonly sender: SenderOptions;
}

/** Events over MCP: what the methods `events/…` do. The caller has checked that the token may subscribe. */
export interface McpEvents {
  readonly text: EventsText;
  poll(caller: Caller, request: PollRequest): Promise<EventsPage | EventsRefusal>;
  subscribe(caller: Caller, request: SubscribeRequest): Promise<McpSubscription | EventsRefusal>;
  unsubscribe(caller: Caller, request: SubscriptionKey): Promise<EventsRefusal | undefined>;
}

export function openMcpEvents({ text, sender, ...options }: McpEventsOptions): McpEvents {
  const context = { ...options, allowed: sender.allowed, challenge: openChallenges(sender) };
  return {
    text,
    poll: (caller, request) => poll(context, caller, request),
    subscribe: (caller, request) => subscribe(context, caller, request),
    unsubscribe: (caller, request) => unsubscribe(context, caller, request),
  };
}
