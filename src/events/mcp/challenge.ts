import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { jsonOf } from '../../core/json.ts';
import { FairLimit, QueueFull } from '../../flow/fair-limit.ts';
import { RateLimit } from '../../flow/rate-limit.ts';
import { type DeliveryOutcome, type SenderOptions, send } from '../../outbound/sender.ts';
import { verification } from './messages.ts';
import { type EventsRefusal, refused } from './refusals.ts';

/** Why a receiver got nothing, as clients are told: never more than one of these words. */
export type DeliveryProblem =
  | 'connection_refused'
  | 'timeout'
  | 'tls_error'
  | 'http_4xx'
  | 'http_5xx'
  | 'challenge_failed';

export interface Challenged {
  readonly subscription: string;
  readonly url: URL;
  readonly secret: string;
  /** The app that asks. */
  readonly app: string;
  /** PostgreSQL's time in Unix milliseconds. */
  readonly at: number;
}

/** Milliseconds from the look-up of the name to the end of the answer. The client waits meanwhile. */
const DEADLINE = 5_000;
/** How often one app may ask one host, and all apps together. A challenge is a request that somebody else pays for. */
const OF_ONE_APP = { perMinute: 6, burst: 6 };
const OF_ALL_APPS = { perMinute: 60, burst: 60 };
const AT_ONCE = { atOnce: 32, each: 2, waiting: 64 };

/** Asks receivers whether they want deliveries, before the first one (SEP-3415, endpoint verification). */
export function openChallenges(sender: SenderOptions) {
  const running = new FairLimit(AT_ONCE);
  const ofOneApp = new RateLimit(OF_ONE_APP);
  const ofAllApps = new RateLimit(OF_ALL_APPS);

  async function ask({ subscription, url, secret, at }: Challenged): Promise<EventsRefusal | undefined> {
    const challenge = randomBytes(32).toString('base64url');
    const outcome = await send(
      { at, url: url.href, secrets: [secret], message: verification(subscription, challenge), reads: true },
      { ...sender, deadline: DEADLINE },
    );
    const problem = problemOf(outcome) ?? (echoes(outcome, challenge) ? undefined : 'challenge_failed');
    return problem && refused('CallbackEndpointError', { reason: problem });
  }

  /** Undefined if the receiver has confirmed. */
  return async (challenged: Challenged): Promise<EventsRefusal | undefined> => {
    const { app, url } = challenged;
    const pair = `${app} ${url.host}`;
    const wait = Math.max(ofOneApp.wait(pair), ofAllApps.wait(url.host));
    if (wait > 0) return refused('ResourceExhausted', { limit: 'challenges', retryAfterMs: wait * 1000 });
    ofOneApp.failed(pair);
    ofAllApps.failed(url.host);
    try {
      return await running.run(app, () => ask(challenged));
    } catch (error) {
      if (error instanceof QueueFull) return refused('ResourceExhausted', { limit: 'challenges', retryAfterMs: 1000 });
      throw error;
    }
  };
}

/** The problem of an attempt. Undefined if the receiver answered with a status from 200 to 299. */
export function problemOf(outcome: {
  readonly error?: string | null;
  readonly status?: number | null;
}): DeliveryProblem | undefined {
  const { error = null, status = null } = outcome;
  if (error === 'tls_failed') return 'tls_error';
  if (error === 'timeout' || error === 'interrupted') return 'timeout';
  // An address that is refused, or that does not exist, tells no more than a closed port: else it would be a scanner.
  if (error !== null) return 'connection_refused';
  if (status === null || (status >= 200 && status <= 299)) return undefined;
  if (status >= 400 && status <= 499) return 'http_4xx';
  return status >= 500 ? 'http_5xx' : 'challenge_failed';
}

function echoes(outcome: DeliveryOutcome, challenge: string): boolean {
  if (!('body' in outcome) || !outcome.body) return false;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const answer = jsonOf(outcome.body.toString('utf8'));
  const echo = typeof answer === 'object' && answer !== null && 'challenge' in answer ? answer.challenge : undefined;
  return typeof echo === 'string' && timingSafeEqual(digest(echo), digest(challenge));
}
