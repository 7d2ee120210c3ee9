import type { Authorities } from '../auth/authority.ts';
import type { AuditDraft, Books, CallActor, CallReport } from '../core/audit.ts';
import { type Authority, meets, type Resource } from '../core/authority.ts';
import { conditionApplies } from '../core/conditions.ts';
import { Failure, refusesCredential } from '../core/failures.ts';
import { PLAIN_BYTES } from '../core/limits.ts';
import { givenOf } from '../core/parameters.ts';
import { costOf } from '../core/price.ts';
import type { Reads } from '../core/reads.ts';
import type { CallContext, Discovery, Tool } from '../core/tool.ts';
import { Caller } from '../store/calls/caller.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import { readOperation } from '../store/calls/operations.ts';
import { openReads } from '../store/calls/reads.ts';
import type { Replica } from '../store/driver/lineage.ts';
import type { Database } from '../store/driver/postgres.ts';
import { accessOf } from './access.ts';
import { parseInput, websiteOf } from './call-input.ts';
import { type CallNotes, reportOf } from './call-report.ts';
import type { Call, CallSource, Outcome, RunResult } from './contract.ts';
import type { Guides } from './guides.ts';
import { ifMatchOf, keyOf, originOf } from './headers.ts';
import { AwaitsApproval, type OperationState } from './outcomes.ts';
import type { Quota, QuotaState } from './quota.ts';
import type { RealtimeSessions } from './realtime-sessions.ts';
import { asFailure, isStoreUnavailable, notPermitted } from './refused.ts';
import { mayEnter, type Registry, summaryOf } from './registry.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { Ledger } from './writes.ts';

export { Caller } from '../store/calls/caller.ts';
export type { AuditedSource, Call, CallSource, Outcome } from './contract.ts';
export { asFailure } from './refused.ts';

export interface CorridorOptions {
  readonly db: Database;
  /** Connections for reports and searches, so that a fast read never waits for a slow one. */
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
  /** Makes audit records. Undefined in tests without them. */
  readonly books?: Books | undefined;
  /** One of every `checkEvery` answers is checked against the tool's output schema. In tests, 1. */
  readonly checkEvery: number;
  readonly onDefect: (tool: Tool, error: unknown) => void;
}

/** Attempts for one call. Another attempt is needed if the caller's authority has changed. */
const ATTEMPTS = 4;

/** Every call from every surface goes through this class to its handler. */
export class Corridor {
  readonly #options: CorridorOptions;
  #answers = 0;

  constructor(options: CorridorOptions) {
    this.#options = options;
  }

  get registry(): Registry {
    return this.#options.registry;
  }

  discovery(authority: Authority): Discovery {
    const { registry, guides, baseUrl } = this.#options;
    return {
      operations: () => registry.callableBy(authority).map((tool) => summaryOf(tool, authority)),
      access: () => registry.presentFor(authority).map((tool) => accessOf(tool, authority)),
      guides: () => guides.given(authority),
      guide: (name) => guides.text(name, authority),
      page: (id) => `${baseUrl}/c/${id}`,
      quota: () => this.#options.quota.sizeOf(authority.appId),
    };
  }

  /**
   * For a request that calls no operation: checks the token and charges one unit. A refusal throws a Failure. `refused`:
   * the call that the surface refuses, and why.
   */
  async admit(
    bearer: string | undefined,
    resource: Resource,
    source?: CallSource,
    refused?: { readonly tool: Tool; readonly problem: unknown },
  ): Promise<Authority> {
    const report = (actor: CallActor, units: number, problem: unknown): void => {
      if (refused)
        source?.audited?.report(reportOf(refused.tool, { actor, input: {}, units, failure: asFailure(problem) }));
    };
    try {
      const authority = await this.run(bearer, resource, async (caller) => caller.authority, source);
      report(authority, 1, refused?.problem);
      return authority;
    } catch (error) {
      if (error instanceof Failure && error.details.actor) report(error.details.actor, 0, error);
      throw error;
    }
  }

  /**
   * Charges one unit for a request that calls no operation, and runs `work`. The authority can come from a cache. If it
   * was wrong, `work` runs again, so `work` must change nothing before an SQL statement has confirmed the authority.
   * `known` gets the authority before it is charged.
   */
  run<T>(
    bearer: string | undefined,
    resource: Resource,
    work: (caller: Caller) => Promise<T>,
    source?: CallSource,
    known?: (authority: Authority) => void,
  ): Promise<T> {
    return this.#proved({ bearer, resource, cost: 1, source }, async (caller, charge) => {
      known?.(caller.authority);
      await charge();
      return work(caller);
    });
  }

  /** Reads the authority from the store, for a caller at `from`. Free, because the request has already paid. */
  async prove(bearer: string, resource: Resource, from: string | undefined): Promise<Authority> {
    return (await this.#options.authorities.fresh(bearer, resource, from)).authority;
  }

  /** Charges `units` after the request has paid `before`. Returns the charged units, for `refund`. */
  charge(authority: Authority, units: number, before = 1): Promise<number> {
    return this.#options.quota.charge(authority.appId, units, before);
  }

  refund(authority: Authority, units: number): void {
    this.#options.quota.refund(authority.appId, units);
  }

  /**
   * Charges one unit for each full or partial block of PLAIN_BYTES after the first. Never refuses, because the answer
   * already exists. If the app has too few units, it owes the rest.
   */
  async payFor(authority: Authority, bytes: number, source?: CallSource): Promise<void> {
    const units = Math.ceil(bytes / PLAIN_BYTES) - 1;
    if (units <= 0) return;
    source?.audited?.owe(units);
    await this.#options.quota.owe(authority.appId, units);
  }

  quotaOf(authority: Authority): QuotaState | undefined {
    return this.#options.quota.state(authority.appId);
  }

  /** The draft of a write's audit record. Undefined: the write leaves none. */
  draftOf(source: CallSource | undefined, report: CallReport): AuditDraft | undefined {
    return source?.audited && this.#options.books?.draft(source.audited.origin, report, source.audited.ms);
  }

  get quotaRefusals(): number {
    return this.#options.quota.refusals;
  }

  async call(received: Call): Promise<Outcome> {
    const { tool } = received;
    const fromAgent = received.resource !== 'rest' && tool.effect === 'read';
    const call = { ...received, input: givenOf(tool.parameters, received.input, fromAgent) };
    const { bearer, resource, cost = costOf(call.tool, call.input), source } = call;
    const noted: CallNotes = { units: 0, authority: undefined, draft: undefined };
    const report = (actor: CallActor | undefined, ran: RunResult): void => {
      const inserted = noted.draft?.inserted === true ? noted.draft.id : undefined;
      if (actor)
        source?.audited?.report(reportOf(tool, { actor, input: call.input, units: noted.units, inserted, ...ran }));
    };
    try {
      const ran = await this.#proved({ bearer, resource, cost, source, noted }, (caller, charge) => {
        noted.authority = caller.authority;
        return this.#attempt(call, caller, charge, noted);
      });
      const { authority } = noted;
      report(authority, ran);
      return authority ? { ...ran, authority } : ran;
    } catch (error) {
      const failure = asFailure(error);
      const { authority } = noted;
      report(failure.details.actor ?? authority, { failure });
      return refusesCredential(failure) || !authority ? { failure } : { failure, authority };
    }
  }

  /**
   * The only place that decides whether an authority can be trusted. The result of `work` counts only if a statement of
   * `work`, or a fresh look-up afterwards, proves the authority. If the authority has changed, `work` runs again with
   * the new one. A refusal with 401 gives the charged units back.
   */
  async #proved<T>(
    { bearer, resource, cost, source, noted }: ProvedCall,
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
          if (noted) noted.units = paid.units;
        };
        const ran = await work(caller, charge).then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        );
        const stale = 'error' in ran && ran.error instanceof StaleAuthority;
        // Without the store, the authority cannot be proved. This error reveals no data, so it needs no proof.
        if ('error' in ran && isStoreUnavailable(ran.error)) throw ran.error;
        if (stale || !caller.proved) {
          // No statement has proved the cached authority, or a statement has found it wrong.
          const fresh = await authorities.fresh(bearer ?? '', resource, source?.from);
          known = fresh;
          if (stale || !fresh.proof.proves(caller.authority)) continue;
        }
        if ('error' in ran) throw ran.error;
        return ran.value;
      }
      throw new Failure('authority_unavailable', { retryAfter: 1 });
    } catch (error) {
      if (paid && error instanceof Failure && refusesCredential(error)) {
        quota.refund(paid.app, paid.units);
        if (noted) noted.units = 0;
      }
      throw error;
    }
  }

  /** Runs the call once. Throws only StaleAuthority. Every other error becomes a failure in the result. */
  async #attempt(call: Call, caller: Caller, charge: () => Promise<void>, noted: CallNotes): Promise<RunResult> {
    const { tool } = call;
    const { performs } = tool;
    const { authority } = caller;
    let operation: OperationState | undefined;
    try {
      // Charge first. Otherwise a caller with a valid token could repeat refused requests without limit.
      await charge();
      if (!mayEnter(tool, authority)) throw notPermitted(tool, authority, tool.required);
      const input = parseInput(call);
      const asked = tool.when.filter((condition) => conditionApplies(condition, input[condition.given]));
      const unmet = asked.filter((condition) => !meets(authority, condition));
      const entries = asked.filter(({ leftOut }) => leftOut);
      const refused = unmet.find(({ leftOut }) => !leftOut || entries.every((one) => unmet.includes(one)));
      if (refused) throw notPermitted(tool, authority, refused);
      const website = websiteOf(tool, input, authority);
      // A task cannot wait for a person.
      if (call.resource === 'a2a' && authority.approve.has(tool.name)) throw new Failure('approval_required');
      const { books, db, ledger, realtime, replica, slow, subscriptions } = this.#options;
      const access = { authority, website, db };
      const draft = (id: string | undefined): AuditDraft | undefined => {
        const operation = id === undefined ? undefined : { id, replayed: false };
        const ended = { actor: authority, input: call.input, units: noted.units, operation };
        noted.draft = this.draftOf(call.source, reportOf(tool, ended));
        return noted.draft;
      };
      const keyed = { key: keyOf(call), ifMatch: ifMatchOf(call), origin: originOf(call) };
      const write = { caller, access, tool, ...keyed, input, draft };
      const report = (entered: OperationState): void => {
        operation = entered;
      };
      const reads = openReads(caller, access, slow, replica);
      const context: CallContext<unknown> = {
        input,
        authority,
        // Spreads of so many methods take 5 µs, and Object.assign 0.1 µs.
        read: Object.assign({}, reads, subscriptions.reads(caller, access), {
          health: async () => ({
            ...(await reads.health()),
            audit: { lost: books?.lost(authority.organizationId) ?? 0, stuck: books?.stuck === true },
          }),
          operation: async (named: Parameters<Reads['operation']>[0]) =>
            caller.take(readOperation(access, 'id' in named ? [named.id] : await this.#idsOf(authority, named.key))),
        }),
        gateway: this.discovery(authority),
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
      if (error instanceof AwaitsApproval)
        return { body: error.receipt, awaits: error.page, ...(operation && { operation }) };
      return { failure: asFailure(error), ...(operation && { operation }) };
    }
  }

  #idsOf({ credentialId }: Authority, key: string): Promise<string[]> {
    const writes = this.registry.all.filter(({ performs }) => performs).map(({ name }) => name);
    return this.#options.ledger.idsOf(credentialId, writes, key);
  }

  #check(tool: Tool, body: unknown): void {
    const { checkEvery, onDefect } = this.#options;
    if (++this.#answers % checkEvery !== 0) return;
    const { error } = tool.output.safeParse(body);
    if (error) onDefect(tool, error);
    if (error && checkEvery === 1) throw new Failure('internal', { cause: error });
  }
}

interface ProvedCall extends Pick<Call, 'bearer' | 'resource' | 'source'> {
  readonly cost: number;
  readonly noted?: CallNotes;
}
