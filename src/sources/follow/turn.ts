import { isDeepStrictEqual } from 'node:util';
import { before } from '../../outbound/before.ts';
import type { Run } from '../engine/run.ts';
import type { Source } from '../source.ts';
import type { Waited } from './spent.ts';

/** How long (ms) a load keeps its slot while others wait for one. */
export const TURN = 10_000;
/** Milliseconds between two checks whether others wait for a slot. */
const LOOK = 250;

/** The turn of a load has ended. The load continues in its next turn. */
class TurnOver extends Error {
  override readonly name = 'TurnOver';
}

export interface Turn {
  /** Aborts at the end of the turn, or together with the outer signal. */
  readonly signal: AbortSignal;
  /** True if this error says that the turn has ended. */
  ended(error: unknown): boolean;
  end(): void;
}

export function openTurn(run: Pick<Run, 'wanted'>, milliseconds: number, outer: AbortSignal): Turn {
  const over = new AbortController();
  const reason = new TurnOver('the turn of this load has ended');
  const began = performance.now();
  const look = setInterval(() => {
    if (performance.now() - began < milliseconds) return;
    // Ignore an error here, because the next statement of the load reports it.
    run.wanted().then(
      (wanted) => wanted && over.abort(reason),
      () => undefined,
    );
  }, LOOK).unref();
  return {
    signal: AbortSignal.any([outer, over.signal]),
    ended: (error) => error === reason,
    end: () => clearInterval(look),
  };
}

/** Reads a helpdesk for a load. If an answer takes longer than a turn, the next turn uses the answer. */
export class Reading {
  private last: { readonly what: unknown; readonly answer: Promise<unknown> } | undefined;
  /** The time up to which the pending question is already counted. Undefined if no question is pending. */
  private since: number | undefined;
  private sum = { milliseconds: 0, answers: 0 };
  /** How far the search for deleted records has got. */
  gone = { type: 0, after: '' };

  constructor(private readonly source: Pick<Source, 'load' | 'missing'>) {}

  load(after: Parameters<Source['load']>[0], signal: AbortSignal): ReturnType<Source['load']> {
    return this.ask(after, () => this.source.load(after), signal);
  }

  missing(...[of, ids, signal]: [...Parameters<Source['missing']>, AbortSignal]): ReturnType<Source['missing']> {
    return this.ask([of, ids], () => this.source.missing(of, ids), signal);
  }

  /** Waits until no question is pending. */
  async settled(signal: AbortSignal): Promise<void> {
    await before(signal, this.last?.answer ?? Promise.resolve()).catch(() => undefined);
  }

  /** Returns how long the load has waited since the last call, and how many answers came. */
  readonly waited: Waited = () => {
    this.count(0);
    const { milliseconds, answers } = this.sum;
    this.sum = { milliseconds: 0, answers: 0 };
    return { milliseconds, answers };
  };

  private count(answers: number): void {
    const now = performance.now();
    if (this.since !== undefined) this.sum.milliseconds += now - this.since;
    this.sum.answers += answers;
    this.since = answers === 0 && this.since !== undefined ? now : undefined;
  }

  private ask<Answer>(what: unknown, question: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    // Compare by value, because a stored position can have its members in another order.
    if (this.last === undefined || !isDeepStrictEqual(this.last.what, what)) {
      this.since = performance.now();
      const answer = question();
      const count = (): void => this.count(1);
      answer.then(count, count);
      this.last = { what, answer };
    }
    // The same question has an answer of the same type.
    return before(signal, this.last.answer as Promise<Answer>);
  }
}
