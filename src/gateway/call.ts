import type { Authorities } from '../auth/authority.ts';
import { type Authority, isRestricted, meets, type Resource } from '../core/authority.ts';
import { type Condition, conditionApplies } from '../core/conditions.ts';
import { Failure } from '../core/failures.ts';
import { costOf } from '../core/price.ts';
import type { FileBytes } from '../core/reads.ts';
import type { Requirement } from '../core/scopes.ts';
import type { CallContext, GatewayFacts, Tool } from '../core/tool.ts';
import { Caller } from '../store/calls/caller.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import { readOperation } from '../store/calls/operations.ts';
import { openReads } from '../store/calls/reads.ts';
import { isUnavailable } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Replica } from '../store/open/replica.ts';
import { accessOf } from './access.ts';
import { parseInput, websiteOf } from './call-input.ts';
import type { Call, Outcome, Source } from './contract.ts';
import type { Guides } from './guides.ts';
import { ifMatchOf, keyOf, originOf } from './headers.ts';
import type { OperationState } from './outcomes.ts';
import type { Quota, QuotaState } from './quota.ts';
import type { RealtimeSessions } from './realtime.ts';
import { factsOf, lacking, mayEnter, type Registry } from './registry.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Ledger } from './writes.ts';

export { Caller } from '../store/calls/caller.ts';
export type { Call, Outcome, Source } from './contract.ts';

export interface Admission {
  readonly authority: Authority;
  readonly quota: QuotaState | undefined;
}

export interface CorridorOptions {
  readonly db: Database;
  /** Connections for slow reads (reports and searches). A fast read never waits for a slow read. */
  readonly slow: Database;
  readonly replica?: Pick<Replica, 'read'> | undefined;
  readonly registry: Registry;
  readonly authorities: Authorities;
  readonly quota: Quota;
  readonly guides: Guides;
  readonly baseUrl: string;
  readonly ledger: Ledger;
  readonly subscriptions: Subscriptions;
  readonly realtime: RealtimeSessions;
  /**
   * If this number is N, one of every N answers is checked against the output schema of the tool. In tests, the number
   * is 1.
   */
  readonly checkEvery: number;
  readonly onDefect: (tool: Tool, error: unknown) => void;
}

/** The price of an operation covers an answer of at most this many bytes. A longer answer costs more. */
export const PLAIN_BYTES = 131_072;

/** Largest number of attempts for one call. The corridor tries again if the caller's authority has changed. */
const ATTEMPTS = 4;

/** The corridor. Every call from every surface goes through this class to its handler. */
export class Corridor {
  readonly #options: CorridorOptions;
  #answers = 0;

  constructor(options: CorridorOptions) {
    this.#options = options;
  }

  get registry(): Registry {
    return this.#options.registry;
  }

  facts(authority: Authority): GatewayFacts {
    const { registry, guides, baseUrl } = this.#options;
    return {
      operations: () => registry.callableBy(authority).map(factsOf),
      access: () => registry.operations.map((tool) => accessOf(tool, authority)),
      guides: () => guides.given(authority),
      guide: (name) => guides.text(name, authority),
      page: (id) => `${baseUrl}/c/${id}`,
    };
  }

  /** For a request that calls no operation: checks the token and charges one unit. A refusal throws a Failure. */
  async admit(bearer: string | undefined, resource: Resource, source?: Source): Promise<Admission> {
    const authority = await this.run(bearer, resource, async (caller) => caller.authority, source);
    return { authority, quota: this.quotaOf(authority) };
  }

  /**
   * Charges one quota unit for a request that calls no operation, and runs `work`. The authority for `work` can come
   * from a cache. If the cached authority turns out to be wrong, `work` runs again. So `work` must change nothing
   * before an SQL statement has confirmed the authority.
   */
  run<T>(
    bearer: string | undefined,
    resource: Resource,
    work: (caller: Caller) => Promise<T>,
    source?: Source,
  ): Promise<T> {
    return this.#proved({ bearer, resource, cost: 1, source }, async (caller, charge) => {
      await charge();
      return work(caller);
    });
  }

  /** Reads the authority from the store. Charges nothing, because the request has already paid. */
  async prove(bearer: string, resource: Resource): Promise<Authority> {
    return (await this.#options.authorities.fresh(bearer, resource)).authority;
  }

  /** Charges `units` after the request has paid `before` units. Returns the charged units, for `refund`. */
  charge(authority: Authority, units: number, before = 1): Promise<number> {
    return this.#options.quota.charge(authority.appId, units, before);
  }

  refund(authority: Authority, units: number): void {
    this.#options.quota.refund(authority.appId, units);
  }

  /**
   * Charges for a long answer. The first PLAIN_BYTES bytes cost nothing extra. Each further block of PLAIN_BYTES, even
   * a partial block, costs one unit. The answer already exists, so this method never refuses. If the app has too few
   * units, the app owes the rest.
   */
  async payFor(authority: Authority, bytes: number): Promise<void> {
    const units = Math.ceil(bytes / PLAIN_BYTES) - 1;
    if (units > 0) await this.#options.quota.owe(authority.appId, units);
  }

  quotaOf(authority: Authority): QuotaState | undefined {
    return this.#options.quota.state(authority.appId);
  }

  get quotaRefusals(): number {
    return this.#options.quota.refusals;
  }

  async call(call: Call): Promise<Outcome> {
    let authority: Authority | undefined;
    try {
      const { bearer, resource, cost = costOf(call.tool, call.input), source } = call;
      const ran = await this.#proved({ bearer, resource, cost, source }, (caller, charge) => {
        authority = caller.authority;
        return this.#attempt(call, caller, charge);
      });
      return authority ? { ...ran, authority, quota: this.quotaOf(authority) } : ran;
    } catch (error) {
      const failure = asFailure(error);
      if (failure.status === 401) return { failure };
      return { failure, ...(authority && { authority, quota: this.quotaOf(authority) }) };
    }
  }

  /**
   * The only place that decides whether an authority can be trusted. The result of `work` counts only if the authority
   * is proved: by a statement of `work`, or by a fresh look-up afterwards. If the authority has changed, `work` runs
   * again with the new authority. A refusal with 401 gives the charged units back.
   */
  async #proved<T>(
    {
      bearer,
      resource,
      cost,
      source,
    }: { bearer: string | undefined; resource: Resource; cost: number; source: Source | undefined },
    work: (caller: Caller, charge: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const { authorities, quota } = this.#options;
    let paid: { readonly app: string; readonly units: number } | undefined;
    try {
      let known = await authorities.resolve(bearer, resource, source?.from);
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { appId } = known.authority;
        const caller = new Caller(known.authority, known.proof);
        const charge = async (): Promise<void> => {
          source?.room(appId);
          paid ??= { app: appId, units: await quota.charge(appId, cost) };
        };
        const [ran] = await Promise.allSettled([work(caller, charge)]);
        const stale = ran.status === 'rejected' && ran.reason instanceof StaleAuthority;
        // The store is unavailable, so the corridor cannot prove the authority now. The error reveals no data, so no
        // proof is needed.
        if (ran.status === 'rejected' && isStoreUnavailable(ran.reason)) throw ran.reason;
        if (stale || !caller.proved) {
          // Either no statement has proved the cached authority, or a statement has found it wrong.
          const fresh = await authorities.fresh(bearer ?? '', resource);
          known = fresh;
          if (stale || !fresh.proof.proves(caller.authority)) continue;
        }
        if (ran.status === 'rejected') throw ran.reason;
        return ran.value;
      }
      throw new Failure('authority_unavailable', { retryAfter: 1 });
    } catch (error) {
      if (paid && error instanceof Failure && error.status === 401) quota.refund(paid.app, paid.units);
      throw error;
    }
  }

  /** Runs the call once. Throws only StaleAuthority. All other errors become a failure in the result. */
  async #attempt(call: Call, caller: Caller, charge: () => Promise<void>): Promise<RunResult> {
    const { tool } = call;
    const { performs } = tool;
    const { authority } = caller;
    let operation: OperationState | undefined;
    try {
      // Charge before any check. Otherwise a caller with a valid token could repeat refused requests without limit.
      await charge();
      if (!mayEnter(tool, authority)) throw notPermitted(tool, authority, tool.required);
      const input = parseInput(call);
      const asked = tool.when.filter((condition) => conditionApplies(condition, input[condition.given]));
      const unmet = asked.filter((condition) => !meets(authority, condition));
      const entries = asked.filter(({ leftOut }) => leftOut);
      const refused = unmet.find(({ leftOut }) => !leftOut || entries.every((one) => unmet.includes(one)));
      if (refused) throw notPermitted(tool, authority, refused);
      const website = websiteOf(tool, input, authority);
      const access = { authority, website, db: this.#options.db };
      const write = { caller, access, tool, key: keyOf(call), ifMatch: ifMatchOf(call), origin: originOf(call), input };
      const report = (entered: OperationState): void => {
        operation = entered;
      };
      const { ledger, subscriptions, realtime } = this.#options;
      const context: CallContext<unknown> = {
        input,
        authority,
        read: {
          ...openReads(caller, access, this.#options.slow, this.#options.replica),
          ...subscriptions.reads(caller, access),
          operation: async (named) =>
            caller.take(readOperation(access, 'id' in named ? [named.id] : await this.#idsOf(authority, named.key))),
        },
        gateway: this.facts(authority),
        write:
          tool.effect === 'write' ? { ...subscriptions.writes(write, report), ...realtime.writes(write) } : undefined,
        perform: performs && ((command) => ledger.perform(write, performs, command, report)),
      };
      if (call.bytes && tool.bytes) return { bytes: await tool.bytes(context, call.bytes) };
      const body = await tool.handle(context);
      this.#check(tool, body);
      return { body, ...(operation && { operation }) };
    } catch (error) {
      if (error instanceof StaleAuthority) throw error;
      return { failure: asFailure(error), ...(operation && { operation }) };
    }
  }

  #idsOf({ credentialId }: Authority, key: string): Promise<string[]> {
    const { ledger, registry } = this.#options;
    const writes = registry.tools.filter(({ performs }) => performs).map(({ name }) => name);
    return ledger.idsOf(credentialId, writes, key);
  }

  #check(tool: Tool, body: unknown): void {
    const { checkEvery, onDefect } = this.#options;
    if (++this.#answers % checkEvery !== 0) return;
    const checked = tool.output.safeParse(body);
    if (checked.success) return;
    onDefect(tool, checked.error);
    if (checkEvery === 1) throw new Failure('internal', { cause: checked.error });
  }
}

type RunResult = { readonly operation?: OperationState } & (
  | { readonly body: unknown }
  | { readonly bytes: FileBytes }
  | { readonly failure: Failure }
);

function notPermitted(tool: Tool, authority: Authority, requirement: Requirement | Condition): Failure {
  const refused = tool.restrictions === 'refused' || ('unrestricted' in requirement && requirement.unrestricted);
  return new Failure('not_permitted', {
    required: {
      ...lacking(authority, requirement),
      unrestricted: refused === true && isRestricted(authority),
    },
    ...(tool.consent === 'refused' &&
      authority.consentId !== null && {
        detail: 'A token from a person’s consent cannot call this operation. Use an installation token.',
      }),
  });
}

const isStoreUnavailable = (error: unknown): boolean =>
  isUnavailable(error instanceof Failure ? error.details.cause : error);

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const unavailable = isUnavailable(error);
  return new Failure(unavailable ? 'service_unavailable' : 'internal', {
    cause: error,
    ...(unavailable && { retryAfter: 1 }),
  });
}
