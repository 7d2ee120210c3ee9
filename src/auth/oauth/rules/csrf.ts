import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { OAuthContext, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/** SHA-256 of who was asked what: one authorization request of one person. */
export function requestDigest(context: OAuthContext): Buffer {
  const asked = [...(context.request.parameters ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([context.the('person').id, asked]))
    .digest();
}

/**
 * Of this session, this request and this revision of the credential: a page of another request or another sign-in cannot be
 * sent in its place, nor an old page as one that shows what the credential holds now.
 */
export const csrfToken = (context: OAuthContext, revision: number): string => {
  const mac = createHmac('sha256', context.request.session ?? '')
    .update(`${revision} `)
    .update(requestDigest(context));
  return `${revision}.${mac.digest('base64url')}`;
};

/** The form was shown to this person for this request (checks, CP-01), and says what it was made of. */
export const csrf: Rule = (context) => {
  const text = (context.request.form && single(context.request.form, 'csrf')) ?? '';
  const shown = Number(/^([1-9][0-9]{0,9})\./.exec(text)?.[1] ?? 0);
  const sent = Buffer.from(text);
  const expected = Buffer.from(csrfToken(context, shown));
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
  context.learn('shown', shown);
};
