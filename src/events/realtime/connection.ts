import type { Authority } from '../../core/authority.ts';
import { Failure, type FailureCode, titleOf } from '../../core/failures.ts';
import { HEARTBEAT, MAX_ATTACHED } from '../../core/realtime-session.ts';
import { TokenBucket } from '../../flow/rate-limit.ts';
import { StaleAuthority } from '../../store/calls/guard.ts';
import { isUnavailable } from '../../store/driver/errors.ts';
import type { HeldSession, Watched } from '../../store/events/realtime-sessions.ts';
import { Attachment } from './attachment.ts';
import { CLOSE, type ClientFrame, type CloseCause, LOST, readFrame, type ServerFrame } from './frames.ts';
import type { Pages } from './pages.ts';
import { Pulse } from './pulse.ts';
import type { Admitted } from './realtime.ts';
import type { Timings, Wire } from './wire.ts';

/** Bytes that may wait for a client that does not read (WS-06). */
const BUFFERED = 1024 * 1024;
/** Frames of one client, with pings and pongs (WS-04). */
const FRAMES = { perMinute: 1_200, burst: 100 };
/** After this many failed reads of a page in a row, the socket closes. */
const FAILURES = 10;

interface Start extends Admitted {
  readonly wire: Wire;
  readonly pages: Pages;
  readonly timings: Timings;
  readonly onEnd: (connection: RealtimeConnection) => void;
}

/** Why a socket has ended. The last four values name a reason on the client's side, for example its silence. */
type End = CloseCause | 'client' | 'protocol' | 'silence' | 'unread';

/** One realtime socket. All its reads and writes go through `pages`, under the authority of its session. */
export class RealtimeConnection implements Watched {
  readonly session: string;
  readonly epoch: number;
  readonly #start: Start;
  readonly #attached = new Map<string, Attachment>();
  readonly #attaching = new Map<string, symbol>();
  #authority: Authority;
  /** Undefined while the socket is open. */
  ended: End | undefined;
  readonly #pulse = new Pulse();
  readonly #allowance = new TokenBucket(FRAMES);

  constructor(start: Start) {
    this.#start = start;
    this.session = start.session;
    this.epoch = start.epoch;
    this.#authority = start.authority;
    this.#send({
      type: 'ready',
      session_id: start.session,
      heartbeat_seconds: HEARTBEAT,
      expires_at: start.expiresAt,
    });
  }

  get digest(): Uint8Array {
    return this.#authority.digest;
  }

  get revision(): number {
    return this.#authority.revision;
  }

  /**
   * Handles a ping or a pong of the WebSocket protocol. Only a pong that answers a ping of the gateway is free: every
   * other one counts as a frame.
   */
  heard(what: 'ping' | 'pong'): void {
    this.#pulse.heard();
    if (what === 'ping' || !this.#pulse.answered()) this.#spend();
  }

  /** `value` is the parsed JSON of a text frame. Undefined if the text is not JSON. */
  receive(value: unknown): void {
    if (this.ended !== undefined) return void this.#spend();
    this.#pulse.heard();
    const frame = readFrame(value);
    // An acknowledgement of the open page does not count as a frame, because the page was already paid for.
    const due = frame?.type === 'ack' && this.#attached.get(frame.subscription_id)?.awaits(frame.cursor);
    if (due !== true && !this.#spend()) return;
    if (!frame) this.close('frame');
    else if (frame.type === 'ping') this.#send({ type: 'pong', id: frame.id });
    else if (frame.type === 'attach') void this.#attach(frame);
    else if (frame.type === 'detach') this.#detach(frame.subscription_id);
    else void this.#ack(frame.subscription_id, frame.cursor);
  }

  close(cause: CloseCause): void {
    if (this.ended !== undefined) return;
    const [code, reason] = CLOSE[cause];
    this.#send({ type: 'closing', code, reason });
    this.end(cause);
    this.#start.wire.close(code, reason);
  }

  end(why: End): void {
    if (this.ended !== undefined) return;
    this.ended = why;
    for (const subscription of [...this.#attached.keys()]) this.#detach(subscription);
    this.#start.onEnd(this);
  }

  tick(now: number): void {
    const { timings, wire } = this.#start;
    const due = this.#pulse.due(now, timings);
    if (due === 'cut') {
      this.end('silence');
      wire.cut();
      return;
    }
    if (due === 'ping') wire.ping();
    for (const attachment of this.#attached.values()) {
      const { open, acking } = attachment;
      if (open && !acking && now - open.since > timings.ack) this.close('silent');
      if (now < Math.min(attachment.pausedUntil ?? Infinity, attachment.retryAt ?? Infinity)) continue;
      attachment.retryAt = undefined;
      void this.#read(attachment);
    }
  }

  /** The credential has a new revision. The socket continues with the new authority, or closes. */
  async prove(again: Pages['authority']): Promise<void> {
    const found = await again(this.#authority, this.#start.from);
    if (found) this.#authority = found;
    else this.close('authority');
  }

  async #attach({ id, subscription_id: subscription, after }: Extract<ClientFrame, { type: 'attach' }>): Promise<void> {
    const refuse = (code: FailureCode): void =>
      this.#send({ type: 'error', id, subscription_id: subscription, code, message: titleOf(code), fatal: false });
    if (this.#attached.has(subscription) || this.#attaching.has(subscription)) return refuse('invalid_request');
    if (this.#attached.size + this.#attaching.size >= MAX_ATTACHED) return refuse('inventory_limit');
    const attempt = Symbol();
    const current = (): boolean => this.ended === undefined && this.#attaching.get(subscription) === attempt;
    this.#attaching.set(subscription, attempt);
    try {
      const { pages } = this.#start;
      const from = await this.#proved((authority) =>
        pages.open(authority, { ...this.#held, subscription, after }, current),
      );
      if (!current()) return;
      const { revision, cursor } = from;
      const attachment = new Attachment(pages.keys, { subscription, revision, cursor });
      this.#attached.set(subscription, attachment);
      this.#send({ type: 'attached', id, subscription_id: subscription, revision, after: cursor });
      attachment.unwatch = pages.watch(this.#authority, attachment.websites, (website, head) => {
        if (attachment.behind(website, head)) void this.#read(attachment);
      });
      void this.#read(attachment);
    } catch (error) {
      refuse(this.#codeOf(error));
    } finally {
      if (current()) this.#attaching.delete(subscription);
    }
  }

  #detach(subscription: string): void {
    this.#attaching.delete(subscription);
    this.#attached.get(subscription)?.unwatch();
    this.#attached.delete(subscription);
  }

  /** Reads and sends the next page. Does nothing while a page is unacknowledged. */
  async #read(attachment: Attachment): Promise<void> {
    attachment.news = true;
    if (attachment.reading || attachment.open || attachment.retryAt !== undefined) return;
    attachment.reading = true;
    try {
      while (attachment.news && !attachment.open) {
        attachment.news = false;
        await this.#page(attachment);
        if (this.#stale(attachment)) return;
      }
    } catch (error) {
      if (!this.#stale(attachment)) this.#failed(attachment, error);
    } finally {
      attachment.reading = false;
    }
  }

  async #page(attachment: Attachment): Promise<void> {
    const { pages } = this.#start;
    const { subscription, cursor } = attachment;
    const wanted = (): boolean => !this.#stale(attachment);
    const page = await this.#proved((authority) => pages.read(authority, { subscription, after: cursor }, wanted));
    if (!wanted()) return;
    const told = page.events.length > 0;
    attachment.took(page, !told && page.has_more);
    if (told) {
      attachment.open = { cursor: page.next_cursor, since: performance.now() };
      this.#send({ type: 'page', ...page });
    }
    if (page.has_more) attachment.news = true;
  }

  async #ack(subscription: string, cursor: string): Promise<void> {
    const attachment = this.#attached.get(subscription);
    if (!attachment) return this.#error(subscription, 'not_found');
    if (attachment.open?.cursor !== cursor) {
      // A client can repeat its last acknowledgement. Any other cursor belongs to no sent page, so the socket closes.
      if (attachment.acked === cursor) this.#send({ type: 'acked', subscription_id: subscription, cursor });
      else this.close('policy');
      return;
    }
    if (attachment.acking) return;
    attachment.acking = true;
    try {
      const { revision } = attachment;
      const stored = await this.#start.pages.ack(this.#authority, { ...this.#held, subscription, revision, cursor });
      if (this.#stale(attachment)) return;
      // Not stored: the session has ended or belongs to another socket.
      if (!stored) return;
      attachment.acked = cursor;
      attachment.open = undefined;
      this.#send({ type: 'acked', subscription_id: subscription, cursor });
      if (attachment.news) void this.#read(attachment);
    } catch (error) {
      if (!this.#stale(attachment)) this.#error(subscription, this.#codeOf(error));
    } finally {
      attachment.acking = false;
    }
  }

  #failed(attachment: Attachment, error: unknown): void {
    const { subscription } = attachment;
    const code = this.#codeOf(error);
    const now = performance.now();
    const retry = error instanceof Failure ? (error.details.retryAfter ?? 1) : 1;
    if (code === 'event_family_paused') {
      if (attachment.pausedUntil === undefined)
        this.#send({ type: 'paused', subscription_id: subscription, code, retry_after: retry });
      attachment.pausedUntil = now + retry * 1000;
      return;
    }
    if (code === 'quota_exceeded' && attachment.passing) {
      attachment.retryAt = now + retry * 1000;
      return;
    }
    const lost = LOST[code];
    if (lost === undefined && code !== 'authority_changed' && ++attachment.failures < FAILURES) {
      attachment.retryAt = now + this.#start.timings.retry;
      return;
    }
    this.#error(subscription, code, true);
    this.close(lost ?? (code === 'authority_changed' ? 'authority' : 'unavailable'));
  }

  /** Runs work. If a statement finds the authority stale, repeats the work with the current authority. */
  async #proved<T>(work: (authority: Authority) => Promise<T>): Promise<T> {
    const { pages, from } = this.#start;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work(this.#authority);
      } catch (error) {
        if (!(error instanceof StaleAuthority)) throw error;
        const found = attempt < 3 ? await pages.authority(this.#authority, from) : undefined;
        if (!found) throw new Failure('authority_changed');
        this.#authority = found;
      }
    }
  }

  #codeOf(error: unknown): FailureCode {
    if (error instanceof Failure) return error.code;
    this.#start.pages.onError(error);
    return isUnavailable(error) ? 'service_unavailable' : 'internal';
  }

  get #held(): HeldSession {
    return { session: this.session, epoch: this.epoch };
  }

  #stale(attachment: Attachment): boolean {
    return this.ended !== undefined || this.#attached.get(attachment.subscription) !== attachment;
  }

  /** Counts one frame, ping or pong. Closes the socket and returns false if the client has sent too many. */
  #spend(): boolean {
    if (this.#allowance.spend()) return true;
    this.close('flood');
    this.#start.wire.deafen();
    return false;
  }

  #error(subscription: string, code: FailureCode, fatal = false): void {
    this.#send({ type: 'error', subscription_id: subscription, code, message: titleOf(code), fatal });
  }

  #send(frame: ServerFrame): void {
    if (this.ended !== undefined) return;
    const { wire } = this.#start;
    wire.send(JSON.stringify(frame));
    if (wire.buffered <= BUFFERED) return;
    this.end('unread');
    wire.cut();
  }
}
