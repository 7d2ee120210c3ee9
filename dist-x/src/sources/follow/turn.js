import { isDeepStrictEqual } from 'node:util';
import { before } from '../../outbound/before.js';
/** How long (ms) a load keeps its slot while others wait for one. */
export const TURN = 10_000;
/** Milliseconds between two checks whether others wait for a slot. */
const LOOK = 250;
/** The turn of a load has ended. The load continues in its next turn. */
class TurnOver extends Error {
    name = 'TurnOver';
}
export function openTurn(run, milliseconds, outer) {
    const over = new AbortController();
    const reason = new TurnOver('the turn of this load has ended');
    const began = performance.now();
    const look = setInterval(() => {
        if (performance.now() - began < milliseconds)
            return;
        // Ignore an error here, because the next statement of the load reports it.
        run.wanted().then((wanted) => wanted && over.abort(reason), () => undefined);
    }, LOOK).unref();
    return {
        signal: AbortSignal.any([outer, over.signal]),
        ended: (error) => error === reason,
        end: () => clearInterval(look),
    };
}
/** Reads a helpdesk for a load. If an answer takes longer than a turn, the next turn uses the answer. */
export class Reading {
    source;
    last;
    /** The time up to which the pending question is already counted. Undefined if no question is pending. */
    since;
    sum = { milliseconds: 0, answers: 0 };
    /** How far the search for deleted records has got. */
    gone = { type: 0, after: '' };
    constructor(source) {
        this.source = source;
    }
    load(after, signal) {
        return this.ask(after, () => this.source.load(after), signal);
    }
    missing(...[of, ids, signal]) {
        return this.ask([of, ids], () => this.source.missing(of, ids), signal);
    }
    /** Waits until no question is pending. */
    async settled(signal) {
        await before(signal, this.last?.answer ?? Promise.resolve()).catch(() => undefined);
    }
    /** Returns how long the load has waited since the last call, and how many answers came. */
    waited = () => {
        this.count(0);
        const { milliseconds, answers } = this.sum;
        this.sum = { milliseconds: 0, answers: 0 };
        return { milliseconds, answers };
    };
    count(answers) {
        const now = performance.now();
        if (this.since !== undefined)
            this.sum.milliseconds += now - this.since;
        this.sum.answers += answers;
        this.since = answers === 0 && this.since !== undefined ? now : undefined;
    }
    ask(what, question, signal) {
        // Compare by value, because a stored position can have its members in another order.
        if (this.last === undefined || !isDeepStrictEqual(this.last.what, what)) {
            this.since = performance.now();
            const answer = question();
            const count = () => this.count(1);
            answer.then(count, count);
            this.last = { what, answer };
        }
        // The same question has an answer of the same type.
        return before(signal, this.last.answer);
    }
}
//# sourceMappingURL=turn.js.map