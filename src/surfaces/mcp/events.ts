import { z } from 'zod';
import { type Authority, isRestricted, meets } from '../../core/authority.ts';
import { EventArguments, type EventFamily, familyNamed } from '../../core/event-arguments.ts';
import { EVENT_FAMILIES } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { isObject } from '../../core/json.ts';
import { jsonSchema } from '../../core/json-schema.ts';
import { givenOf, parametersOf } from '../../core/parameters.ts';
import { selects } from '../../core/toolsets.ts';
import type { McpEvents } from '../../events/mcp/mcp-events.ts';
import { type EventsRefusal, type EventsText, refused, wireError } from '../../events/mcp/refusals.ts';
import { once } from '../../flow/once.ts';
import { inputErrors, refusalOf } from '../../gateway/input-errors.ts';
import { lacking, type Registry, switchedOff } from '../../gateway/registry.ts';
import { EventReceipt } from '../../views/event.ts';
import { RpcError } from '../jsonrpc/envelope.ts';
import { invalidParams } from './refusals.ts';
import type { McpRequest } from './request.ts';

const EXTENSION = 'io.modelcontextprotocol/events';

/** How receipts reach a client, with the operation whose rights it needs. */
const MODES = { poll: 'events_pull', webhook: 'subscription_create' } as const;
type DeliveryMode = keyof typeof MODES;

interface EventsCapability {
  readonly events?: object;
  readonly extensions?: Readonly<Record<string, object>>;
}

/** Where the capability stands in `server/discover`. The sketch has it beside `tools`, and in `initialize` too. */
export function eventsCapability(text: EventsText, era: 'modern' | 'legacy'): EventsCapability {
  const settings = { listChanged: false };
  if (text === 'sketch')
    return { events: settings, ...(era === 'modern' && { extensions: { [EXTENSION]: settings } }) };
  return era === 'modern' ? { extensions: { [EXTENSION]: settings } } : {};
}

const MEMBERS = parametersOf(EventArguments.shape, 'body');

const Cursor = z.string().max(12_000).nullish();
const Milliseconds = z.int().min(0);

export const PollParams = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
  cursor: Cursor,
  maxAgeMs: Milliseconds.nullish(),
  maxEvents: z.int().min(1).nullish(),
});

const Url = z.string().max(8_192);

export const SubscribeParams = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
  delivery: z.object({ mode: z.string().optional(), url: Url, secret: z.string().max(128) }),
  cursor: Cursor,
  maxAgeMs: Milliseconds.nullish(),
  // The SEP refuses no lifetime: too short or too long gets the nearest one that is possible.
  ttlMs: z.int().nullish(),
});

export const UnsubscribeParams = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
  delivery: z.object({ url: Url }),
});

const presentOf = (given: unknown): unknown => (isObject(given) ? givenOf(MEMBERS, given, false) : given);

/** The methods `events/…`. Throws an RpcError to refuse a request. */
export function mcpEvents(registry: Registry, events: McpEvents) {
  const schemas = once(() => ({
    inputSchema: jsonSchema(EventArguments, 'input'),
    payloadSchema: jsonSchema(EventReceipt, 'output'),
  }));
  const error = (refusal: EventsRefusal): RpcError => {
    const { code, message, data } = wireError(events.text, refusal);
    return new RpcError(code, message, data);
  };
  const answered = <T extends object>(answer: T | EventsRefusal): T => {
    if ('refused' in answer) throw error(answer);
    return answer;
  };

  /** A mode that the address does not list, or whose operation the token may not call. */
  function refusal(
    mode: DeliveryMode,
    { selection }: McpRequest,
    authority: Authority,
    operation: string = MODES[mode],
  ): EventsRefusal | Failure | undefined {
    const tool = registry.get(MODES[mode]);
    if (!tool || !selects(selection, tool)) return refused('Unsupported', { feature: 'deliveryMode', value: mode });
    if (authority.switchedOff.has(operation)) return switchedOff();
    if (!meets(authority, { ...tool.required, unrestricted: true })) {
      const required = { ...lacking(authority, tool.required), unrestricted: isRestricted(authority) };
      return new Failure('not_permitted', { required });
    }
    // The contract refuses tokens of a consent. A client by URL may get deliveries within its consent.
    const byConsent = authority.consentId !== null && !(mode === 'webhook' && authority.clientByUrl);
    return byConsent ? refused('Forbidden', { reason: 'consent' }) : undefined;
  }

  function permit(mode: DeliveryMode, mcpRequest: McpRequest, authority: Authority, operation?: string): void {
    mcpRequest.called = operation ?? MODES[mode];
    mcpRequest.withinConsent = mode === 'webhook';
    const problem = refusal(mode, mcpRequest, authority, operation);
    if (!(problem instanceof Failure)) {
      if (!problem) return;
      mcpRequest.failed = new Failure('not_permitted');
      throw error(problem);
    }
    mcpRequest.failed = problem;
    throw error(refused('Forbidden', { reason: 'grants' }));
  }

  const familyOf = (name: string): EventFamily => {
    const family = familyNamed(name);
    if (!family) throw error(refused('NotFound', { kind: 'event' }));
    return family;
  };

  function argumentsOf(sent: unknown): EventArguments {
    const given = presentOf(sent);
    const parsed = EventArguments.safeParse(given ?? {});
    if (parsed.success) return parsed.data;
    const input = z.object({ arguments: EventArguments });
    const { error: problem = parsed.error } = input.safeParse({ arguments: given });
    throw invalidParams(refusalOf(inputErrors({ input }, problem, { arguments: given })));
  }

  /** The arguments of which a record has the digest: neither the receiver nor its secret. */
  const recorded = ({ name, arguments: sent }: { readonly name: string; readonly arguments?: unknown }) => ({
    ...EventArguments.safeParse(presentOf(sent) ?? {}).data,
    name,
  });

  return {
    /** The events that the token can subscribe to now, with its modes. */
    async list(mcpRequest: McpRequest): Promise<object> {
      const authority = await mcpRequest.admit();
      const modes: readonly DeliveryMode[] = ['webhook', 'poll'];
      const delivery = modes.filter((mode) => refusal(mode, mcpRequest, authority) === undefined);
      if (delivery.length === 0) return { events: [] };
      return { events: EVENT_FAMILIES.map((name) => ({ name, description: DESCRIBED[name], delivery, ...schemas() })) };
    },

    poll: (mcpRequest: McpRequest, given: z.output<typeof PollParams>): Promise<object> =>
      mcpRequest.run('events_pull', recorded(given), async (caller) => {
        permit('poll', mcpRequest, caller.authority);
        return answered(
          await events.poll(caller, {
            name: familyOf(given.name),
            arguments: argumentsOf(given.arguments),
            cursor: given.cursor ?? null,
            maxAgeMs: given.maxAgeMs ?? undefined,
            maxEvents: given.maxEvents ?? undefined,
          }),
        );
      }),

    subscribe: (mcpRequest: McpRequest, given: z.output<typeof SubscribeParams>): Promise<object> =>
      mcpRequest.run('subscription_create', recorded(given), async (caller, draft) => {
        const { mode = 'webhook', url, secret } = given.delivery;
        permit('webhook', mcpRequest, caller.authority);
        mcpRequest.writes = true;
        if (mode !== 'webhook') throw error(refused('Unsupported', { feature: 'deliveryMode', value: mode }));
        const wanted = {
          name: familyOf(given.name),
          arguments: argumentsOf(given.arguments),
          ...{ url, secret, cursor: given.cursor ?? null },
          maxAgeMs: given.maxAgeMs ?? undefined,
          ttlMs: given.ttlMs,
        };
        return answered(await events.subscribe(caller, wanted, draft()));
      }),

    unsubscribe: (mcpRequest: McpRequest, given: z.output<typeof UnsubscribeParams>): Promise<object> =>
      mcpRequest.run('subscription_delete', recorded(given), async (caller, draft) => {
        // It needs the rights of a subscription, but can be switched off alone.
        permit('webhook', mcpRequest, caller.authority, 'subscription_delete');
        mcpRequest.writes = true;
        const wanted = { name: familyOf(given.name), arguments: argumentsOf(given.arguments), url: given.delivery.url };
        return answered((await events.unsubscribe(caller, wanted, draft())) ?? {});
      }),
  };
}

const DESCRIBED: Readonly<Record<EventFamily, string>> = {
  conversation: 'Conversations, messages or files changed.',
  visitor: 'Visitors, contacts or notes changed.',
  operator: 'Operators, teams or author mappings changed.',
  queue: 'The assignment of conversations changed.',
  website: 'Settings, channels, AI features or catalogues changed.',
  privacy: 'Personal data was erased, or a consent changed.',
  capture: 'The capture of changes itself changed.',
};
