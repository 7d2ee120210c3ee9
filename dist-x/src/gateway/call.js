import { meets } from '../core/authority.js';
import { conditionApplies } from '../core/conditions.js';
import { Failure } from '../core/failures.js';
import { PLAIN_BYTES } from '../core/limits.js';
import { givenOf } from '../core/parameters.js';
import { costOf } from '../core/price.js';
import { Caller } from '../store/calls/caller.js';
import { StaleAuthority } from '../store/calls/guard.js';
import { readOperation } from '../store/calls/operations.js';
import { openReads } from '../store/calls/reads.js';
import { accessOf } from './access.js';
import { parseInput, websiteOf } from './call-input.js';
import { reportOf } from './call-report.js';
import { ifMatchOf, keyOf, originOf } from './headers.js';
import { AwaitsApproval } from './outcomes.js';
import { asFailure, isStoreUnavailable, notPermitted } from './refused.js';
import { mayEnter, summaryOf } from './registry.js';
export { Caller } from '../store/calls/caller.js';
export { asFailure } from './refused.js';
/** Attempts for one call. Another attempt is needed if the caller's authority has changed. */
const ATTEMPTS = 4;
/** Every call from every surface goes through this class to its handler. */
export class Corridor {
    #options;
    #answers = 0;
    constructor(options) {
        this.#options = options;
    }
    get registry() {
        return this.#options.registry;
    }
    discovery(authority) {
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
    async admit(bearer, resource, source, refused) {
        const report = (actor, units, problem) => {
            if (refused)
                source?.audited?.report(reportOf(refused.tool, { actor, input: {}, units, failure: asFailure(problem) }));
        };
        try {
            const authority = await this.run(bearer, resource, async (caller) => caller.authority, source);
            report(authority, 1, refused?.problem);
            return authority;
        }
        catch (error) {
            if (error instanceof Failure && error.details.actor)
                report(error.details.actor, 0, error);
            throw error;
        }
    }
    /**
     * Charges one unit for a request that calls no operation, and runs `work`. The authority can come from a cache. If it
     * was wrong, `work` runs again, so `work` must change nothing before an SQL statement has confirmed the authority.
     * `known` gets the authority before it is charged.
     */
    run(bearer, resource, work, source, known) {
        return this.#proved({ bearer, resource, cost: 1, source }, async (caller, charge) => {
            known?.(caller.authority);
            await charge();
            return work(caller);
        });
    }
    /** Reads the authority from the store, for a caller at `from`. Free, because the request has already paid. */
    async prove(bearer, resource, from) {
        return (await this.#options.authorities.fresh(bearer, resource, from)).authority;
    }
    /** Charges `units` after the request has paid `before`. Returns the charged units, for `refund`. */
    charge(authority, units, before = 1) {
        return this.#options.quota.charge(authority.appId, units, before);
    }
    refund(authority, units) {
        this.#options.quota.refund(authority.appId, units);
    }
    /**
     * Charges one unit for each full or partial block of PLAIN_BYTES after the first. Never refuses, because the answer
     * already exists. If the app has too few units, it owes the rest.
     */
    async payFor(authority, bytes, source) {
        const units = Math.ceil(bytes / PLAIN_BYTES) - 1;
        if (units <= 0)
            return;
        source?.audited?.owe(units);
        await this.#options.quota.owe(authority.appId, units);
    }
    quotaOf(authority) {
        return this.#options.quota.state(authority.appId);
    }
    /** The draft of a write's audit record. Undefined: the write leaves none. */
    draftOf(source, report) {
        return source?.audited && this.#options.books?.draft(source.audited.origin, report, source.audited.ms);
    }
    get quotaRefusals() {
        return this.#options.quota.refusals;
    }
    async call(received) {
        const { tool } = received;
        const fromAgent = received.resource !== 'rest' && tool.effect === 'read';
        const call = { ...received, input: givenOf(tool.parameters, received.input, fromAgent) };
        const { bearer, resource, cost = costOf(call.tool, call.input), source } = call;
        const noted = { units: 0, authority: undefined, draft: undefined };
        const report = (actor, ran) => {
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
        }
        catch (error) {
            const failure = asFailure(error);
            const { authority } = noted;
            report(failure.details.actor ?? authority, { failure });
            return failure.status === 401 || !authority ? { failure } : { failure, authority };
        }
    }
    /**
     * The only place that decides whether an authority can be trusted. The result of `work` counts only if a statement of
     * `work`, or a fresh look-up afterwards, proves the authority. If the authority has changed, `work` runs again with
     * the new one. A refusal with 401 gives the charged units back.
     */
    async #proved({ bearer, resource, cost, source, noted }, work) {
        const { authorities, quota } = this.#options;
        let paid;
        try {
            let known = await authorities.resolve(bearer, resource, source?.from);
            for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
                const { appId } = known.authority;
                const caller = new Caller(known.authority, known.proof);
                const charge = async () => {
                    source?.room(appId);
                    paid ??= { app: appId, units: await quota.charge(appId, cost) };
                    if (noted)
                        noted.units = paid.units;
                };
                const ran = await work(caller, charge).then((value) => ({ value }), (error) => ({ error }));
                const stale = 'error' in ran && ran.error instanceof StaleAuthority;
                // Without the store, the authority cannot be proved. This error reveals no data, so it needs no proof.
                if ('error' in ran && isStoreUnavailable(ran.error))
                    throw ran.error;
                if (stale || !caller.proved) {
                    // No statement has proved the cached authority, or a statement has found it wrong.
                    const fresh = await authorities.fresh(bearer ?? '', resource, source?.from);
                    known = fresh;
                    if (stale || !fresh.proof.proves(caller.authority))
                        continue;
                }
                if ('error' in ran)
                    throw ran.error;
                return ran.value;
            }
            throw new Failure('authority_unavailable', { retryAfter: 1 });
        }
        catch (error) {
            if (paid && error instanceof Failure && error.status === 401) {
                quota.refund(paid.app, paid.units);
                if (noted)
                    noted.units = 0;
            }
            throw error;
        }
    }
    /** Runs the call once. Throws only StaleAuthority. Every other error becomes a failure in the result. */
    async #attempt(call, caller, charge, noted) {
        const { tool } = call;
        const { performs } = tool;
        const { authority } = caller;
        let operation;
        try {
            // Charge first. Otherwise a caller with a valid token could repeat refused requests without limit.
            await charge();
            if (!mayEnter(tool, authority))
                throw notPermitted(tool, authority, tool.required);
            const input = parseInput(call);
            const asked = tool.when.filter((condition) => conditionApplies(condition, input[condition.given]));
            const unmet = asked.filter((condition) => !meets(authority, condition));
            const entries = asked.filter(({ leftOut }) => leftOut);
            const refused = unmet.find(({ leftOut }) => !leftOut || entries.every((one) => unmet.includes(one)));
            if (refused)
                throw notPermitted(tool, authority, refused);
            const website = websiteOf(tool, input, authority);
            // A task cannot wait for a person.
            if (call.resource === 'a2a' && authority.approve.has(tool.name))
                throw new Failure('approval_required');
            const { books, db, ledger, realtime, replica, slow, subscriptions } = this.#options;
            const access = { authority, website, db };
            const draft = (id) => {
                const operation = id === undefined ? undefined : { id, replayed: false };
                const ended = { actor: authority, input: call.input, units: noted.units, operation };
                noted.draft = this.draftOf(call.source, reportOf(tool, ended));
                return noted.draft;
            };
            const keyed = { key: keyOf(call), ifMatch: ifMatchOf(call), origin: originOf(call) };
            const write = { caller, access, tool, ...keyed, input, draft };
            const report = (entered) => {
                operation = entered;
            };
            const reads = openReads(caller, access, slow, replica);
            const context = {
                input,
                authority,
                // Spreads of so many methods take 5 µs, and Object.assign 0.1 µs.
                read: Object.assign({}, reads, subscriptions.reads(caller, access), {
                    health: async () => ({
                        ...(await reads.health()),
                        audit: { lost: books?.lost(authority.organizationId) ?? 0, stuck: books?.stuck === true },
                    }),
                    operation: async (named) => caller.take(readOperation(access, 'id' in named ? [named.id] : await this.#idsOf(authority, named.key))),
                }),
                gateway: this.discovery(authority),
                write: tool.effect === 'write' ? { ...subscriptions.writes(write, report), ...realtime.writes(write) } : undefined,
                perform: performs && ((command) => ledger.perform(write, performs, command, report)),
            };
            if (call.bytes && tool.bytes)
                return { bytes: await tool.bytes(context, call.bytes) };
            const body = await tool.handle(context);
            this.#check(tool, body);
            return { body, ...(operation && { operation }) };
        }
        catch (error) {
            if (error instanceof StaleAuthority)
                throw error;
            if (error instanceof AwaitsApproval)
                return { body: error.receipt, awaits: error.page, ...(operation && { operation }) };
            return { failure: asFailure(error), ...(operation && { operation }) };
        }
    }
    #idsOf({ credentialId }, key) {
        const writes = this.registry.all.filter(({ performs }) => performs).map(({ name }) => name);
        return this.#options.ledger.idsOf(credentialId, writes, key);
    }
    #check(tool, body) {
        const { checkEvery, onDefect } = this.#options;
        if (++this.#answers % checkEvery !== 0)
            return;
        const { error } = tool.output.safeParse(body);
        if (error)
            onDefect(tool, error);
        if (error && checkEvery === 1)
            throw new Failure('internal', { cause: error });
    }
}
//# sourceMappingURL=call.js.map