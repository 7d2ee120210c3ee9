import type { Actor, Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import type { Proof, Proved } from './guard.ts';

/**
 * The caller of one call. The authority may be outdated until a statement proves it. Every guarded statement goes
 * through `take`, which keeps the proof. So no read or write can forget the proof.
 */
export class Caller<Of extends Actor = Authority> {
  readonly authority: Of;
  #proof: Proof | undefined;

  constructor(authority: Of, proof?: Proof) {
    this.authority = authority;
    if (proof) this.#keep(proof);
  }

  get proved(): boolean {
    return this.#proof !== undefined;
  }

  /** Keeps the proof of a statement and returns the statement's answer. Throws the answer if it is a failure. */
  async take<T>(statement: Promise<Proved<T>>): Promise<T> {
    const { proof, answer } = await statement;
    this.#keep(proof);
    if (answer instanceof Failure) throw answer;
    return answer;
  }

  #keep(proof: Proof): void {
    if (!proof.proves(this.authority)) throw new Error('the proof is that of another authority');
    this.#proof = proof;
  }
}
