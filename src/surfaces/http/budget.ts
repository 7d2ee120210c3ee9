import { Failure, type FailureCode } from '../../core/failures.ts';

const MIB = 1024 * 1024;

/** Bytes, in all and of one caller. The largest reply, a page over MCP, has about 7 MiB; a body has 64 KiB. */
export const BUDGETS = {
  unread: { inAll: 64 * MIB, share: 16 * MIB },
  bodies: { inAll: 64 * MIB, share: 16 * MIB },
  sockets: { inAll: 256 * MIB, share: 16 * MIB },
};

export interface BudgetOptions {
  readonly limits: { readonly inAll: number; readonly share: number };
  /** What a caller is told whose share is used up. */
  readonly code: FailureCode;
  /** Ends something that the caller with the largest share holds, and says whether there was anything to end. */
  readonly makeRoom?: (share: string) => boolean;
}

/** Bytes that callers hold in this process. Each caller has a share, so that none takes what the others need. */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #shares = new Map<string, number>();
  #inAll = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#inAll;
  }

  /** Throws where the caller's share is used up. */
  room(share: string): void {
    if ((this.#shares.get(share) ?? 0) >= this.#options.limits.share) throw this.#refusal();
  }

  /** Counts bytes. Throws, and counts nothing, where that is more than the caller or all together may hold. */
  hold(share: string, bytes: number): void {
    const { limits, makeRoom } = this.#options;
    const own = this.#shares.get(share) ?? 0;
    // A caller who holds nothing may hold one thing, however large.
    if (own > 0 && own + bytes > limits.share) throw this.#refusal();
    while (this.#inAll > 0 && this.#inAll + bytes > limits.inAll) {
      if (makeRoom?.(this.#largest()) !== true) throw new Failure('service_unavailable', { retryAfter: 1 });
    }
    this.count(share, bytes);
  }

  /** Counts bytes that cannot be refused any more. */
  count(share: string, bytes: number): void {
    this.#shares.set(share, (this.#shares.get(share) ?? 0) + bytes);
    this.#inAll += bytes;
  }

  release(share: string, bytes: number): void {
    const left = (this.#shares.get(share) ?? 0) - bytes;
    if (left > 0) this.#shares.set(share, left);
    else this.#shares.delete(share);
    this.#inAll -= bytes;
  }

  #refusal(): Failure {
    return new Failure(this.#options.code, { retryAfter: 1 });
  }

  #largest(): string {
    let largest: readonly [string, number] = ['', 0];
    for (const share of this.#shares) if (share[1] > largest[1]) largest = share;
    return largest[0];
  }
}
