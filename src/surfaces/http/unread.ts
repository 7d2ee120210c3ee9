import { Failure } from '../../core/failures.ts';

const MIB = 1024 * 1024;

/**
 * Bytes of a reply that is always sent and not counted: the kernel takes it from us at once (a connection sends one reply at a
 * time), and no token, refusal or receipt is lost to the budget.
 */
const SMALL = 16 * 1024;

/** Bytes. The largest reply, a page of MCP, is about 7 MiB. */
const LIMITS = { inAll: 64 * MIB, share: 16 * MIB };

/**
 * Bytes of replies that their readers have not taken yet, over all surfaces of a process. Each app has a share; a caller
 * without a token shares that of its address. Replies that all callers have in common (documents) are one buffer and do not
 * count.
 */
export class UnreadReplies {
  readonly #limits: typeof LIMITS;
  readonly #makeRoom: () => boolean;
  readonly #shares = new Map<string, number>();
  #inAll = 0;

  /** `makeRoom` ends the reply that has waited longest, and says whether there was one. */
  constructor(makeRoom: () => boolean, limits = LIMITS) {
    this.#makeRoom = makeRoom;
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#inAll;
  }

  /** Returns what was counted. Throws where the caller, or all together, have too much unread; nothing is counted then. */
  hold(share: string, bytes: number): number {
    if (bytes <= SMALL) return 0;
    const own = this.#shares.get(share) ?? 0;
    if (own > 0 && own + bytes > this.#limits.share) {
      throw new Failure('quota_exceeded', {
        retryAfter: 1,
        detail: 'Too many bytes of earlier answers wait unread. Read the answers that were sent, then call again.',
      });
    }
    while (this.#inAll > 0 && this.#inAll + bytes > this.#limits.inAll) {
      if (!this.#makeRoom()) throw new Failure('service_unavailable', { retryAfter: 1 });
    }
    this.#shares.set(share, (this.#shares.get(share) ?? 0) + bytes);
    this.#inAll += bytes;
    return bytes;
  }

  release(share: string, bytes: number): void {
    const left = (this.#shares.get(share) ?? 0) - bytes;
    if (left > 0) this.#shares.set(share, left);
    else this.#shares.delete(share);
    this.#inAll -= bytes;
  }
}
