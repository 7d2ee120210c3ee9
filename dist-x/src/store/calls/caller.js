import { Failure } from '../../core/failures.js';
/**
 * The caller of one call. The authority may be outdated until a statement proves it. Every guarded statement goes
 * through `take`, which keeps the proof. So no read or write can forget the proof.
 */
export class Caller {
    authority;
    #proof;
    constructor(authority, proof) {
        this.authority = authority;
        if (proof)
            this.#keep(proof);
    }
    get proved() {
        return this.#proof !== undefined;
    }
    /** Keeps the proof of a statement and returns the statement's answer. Throws the answer if it is a failure. */
    async take(statement) {
        const { proof, answer } = await statement;
        this.#keep(proof);
        if (answer instanceof Failure)
            throw answer;
        return answer;
    }
    #keep(proof) {
        if (!proof.proves(this.authority))
            throw new Error('the proof is that of another authority');
        this.#proof = proof;
    }
}
//# sourceMappingURL=caller.js.map