import { Failure, type FailureCode } from '../../core/failures.ts';

const MIB = 1024 * 1024;

/**
 * Limits in bytes: for all callers together, and for one caller. The largest reply, a page over MCP, has about 7 MiB. A
 * body has 64 KiB.
 */
export const BUDGETS = {
  unread: { inAll: 64 * MIB, share: 16 * MIB },
  bodies: { inAll: 64 * MIB, share: 16 * MIB },
  sockets: { inAll: 256 * MIB, share: 16 * MIB },
};

export interface BudgetOptions {
  readonly limits: { readonly inAll: number; readonly share: number };
  /** The failure for a caller that has used up its share. */
  readonly code: FailureCode;
  /** Ends one thing that the caller with the largest share holds. Returns false if there is nothing to end. */
  readonly makeRoom?: (share: string) => boolean;
}

/**
 * Counts the bytes that callers hold in this process. Each caller has its own limit, so that one cannot starve the
 * others.
 */
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

  /** Throws if the caller has used up its share. */
  room(share: string): void {
    if ((this.#shares.get(share) ?? 0) >= this.#options.limits.share) throw this.#refusal();
  }

  /** Counts bytes. If they exceed the caller's limit or the total limit, it throws and counts nothing. */
  hold(share: string, bytes: number): void {
    const { limits, makeRoom } = this.#options;
    const own = this.#shares.get(share) ?? 0;
    // A caller that holds nothing may hold one item of any size.
    if (own > 0 && own + bytes > limits.share) throw this.#refusal();
    while (this.#inAll > 0 && this.#inAll + bytes > limits.inAll) {
      if (makeRoom?.(this.#largest()) !== true) throw new Failure('service_unavailable', { retryAfter: 1 });
    }
    this.count(share, bytes);
  }

  /** Counts bytes that can no longer be refused. */
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
