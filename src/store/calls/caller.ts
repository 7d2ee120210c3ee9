import type { Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import type { Proof, Proved } from './guard.ts';

/**
 * Whose call it is. The authority is a guess until the caller holds a proof of it. Every answer of a guarded statement
 * passes through `take`, which keeps its proof. So nothing that reads or writes for a call can forget the proof.
 */
export class Caller {
  readonly authority: Authority;
  #proof: Proof | undefined;

  /** `proof`: that of a fresh look-up. */
  constructor(authority: Authority, proof?: Proof) {
    this.authority = authority;
    if (proof) this.#keep(proof);
  }

  get proved(): boolean {
    return this.#proof !== undefined;
  }

  /** Keeps the proof. Returns the answer, or throws it if it is a refusal. */
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
