import type { AuditDraft } from '../../core/audit.ts';
import type { SenderOptions } from '../../outbound/sender.ts';
import { recording } from '../../store/audit/commands.ts';
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
  /** `draft`: the audit record, which the transaction of the change inserts. */
  subscribe(caller: Caller, request: SubscribeRequest, draft?: AuditDraft): Promise<McpSubscription | EventsRefusal>;
  unsubscribe(caller: Caller, request: SubscriptionKey, draft?: AuditDraft): Promise<EventsRefusal | undefined>;
}

export function openMcpEvents({ text, sender, ...options }: McpEventsOptions): McpEvents {
  const context = { ...options, allowed: sender.allowed, challenge: openChallenges(sender) };
  return {
    text,
    poll: (caller, request) => poll(context, caller, request),
    subscribe: (caller, request, draft) => subscribe(recordingIn(context, draft), caller, request),
    unsubscribe: (caller, request, draft) => unsubscribe(recordingIn(context, draft), caller, request),
  };
}

const recordingIn = (context: SubscribeContext, draft: AuditDraft | undefined): SubscribeContext =>
  draft ? { ...context, db: recording(context.db, () => draft) } : context;
