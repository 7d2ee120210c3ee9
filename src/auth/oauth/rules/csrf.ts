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

/** Of this session and this request: a page of another request or another sign-in cannot be sent in its place. */
export const csrfToken = (context: OAuthContext): string =>
  createHmac('sha256', context.request.session ?? '')
    .update(requestDigest(context))
    .digest('base64url');

/** The form was shown to this person for this request (checks, CP-01). */
export const csrf: Rule = (context) => {
  const sent = Buffer.from((context.request.form && single(context.request.form, 'csrf')) ?? '');
  const expected = Buffer.from(csrfToken(context));
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
};
