import { z } from 'zod';
import { NotPerformed, refused } from '../helpdesk.ts';
import type { ApiOfSource } from '../kinds.ts';
import { type Finding, OTHER_API } from '../source.ts';
import { ask } from './api.ts';

/**
 * Chatwoot's API and its database have two addresses. If they lead to two Chatwoots, a reply would reach a customer of
 * the other one, because each Chatwoot counts its conversations from 1. The time at which the account was created shows
 * it: the database has it in microseconds, and the API in milliseconds.
 */

/** The API leads to another Chatwoot than the database. */
class OtherApi extends NotPerformed {}

/** The largest answer with an account, in bytes. It has the names of all features. */
const ACCOUNT = 256 * 1024;
/** How long (ms) a check of a source waits for the API. Meanwhile, the source is not read. */
const PATIENCE = 3_000;

const Account = z.object({ created_at: z.string().max(64) });
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)$/;

/** Throws NotPerformed unless the API shows an account that was created at `at`, in seconds since 1970. */
export async function requirePair(
  api: Pick<ApiOfSource, 'apiUrl' | 'token' | 'account'>,
  at: string,
  signal: AbortSignal,
): Promise<void> {
  const asked = { method: 'GET', path: `/api/v1/accounts/${api.account}`, bytes: ACCOUNT } as const;
  const answer = await ask(api, asked, signal).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : '';
    // A 404 tells nothing about the record that the write is for.
    throw refused(`the API does not show the account: ${reason}`, undefined, error);
  });
  const { data } = Account.safeParse(answer);
  const [shown, decimals = ''] = TIME.exec(data?.created_at ?? '') ?? [];
  if (shown === undefined || at === '') throw refused('the API does not show when the account was created');
  // JSON has fewer decimals than the database, cut off or rounded.
  const step = 10 ** (3 - Math.min(3, decimals.length));
  if (Math.abs(Number(at) * 1000 - Date.parse(shown)) < step) return;
  throw new OtherApi({ refused: 'native_unavailable' }, 'the API leads to another Chatwoot than the database');
}

/** What is wrong with the API of a source that can be read. The source is followed all the same. */
export async function apiFindings(
  api: Pick<ApiOfSource, 'apiUrl' | 'token' | 'account'>,
  at: string,
): Promise<readonly Finding[]> {
  try {
    await requirePair(api, at, AbortSignal.timeout(PATIENCE));
    return [];
  } catch (error) {
    if (error instanceof OtherApi) return [{ level: 'degraded', about: OTHER_API, text: OTHER }];
    const reason = error instanceof NotPerformed ? error.message : 'the API does not show the account';
    return [{ level: 'warning', about: 'api', text: `No write goes to Chatwoot now: ${reason}. ${UNSEEN}` }];
  }
}

const OTHER =
  'The API leads to another Chatwoot than the database: its account was created at another time. The gateway sends no write to it. Give the API and the database of one Chatwoot: run source remove without --with-data, then source add.';
const UNSEEN =
  'The gateway first compares the account of the API with the account of the database. The token must be that of a user in the account; a token of an agent bot is not enough.';
