import { createHmac, randomBytes } from 'node:crypto';

/** Secrets and signatures follow Standard Webhooks 1.0. */
const PREFIX = 'whsec_';

/** `whsec_` and base64 of 32 random bytes. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/**
 * For each secret: `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`. The signatures are separated by spaces.
 * During a rotation, receivers with the old or the new secret each find a matching one.
 */
export function signatures(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    })
    .join(' ');
}

/** The operator's keys, as far as endpoints need them (auth/keys.ts, Keyring). */
export interface SealKeys {
  seal(purpose: 'webhook secret', plain: string): string;
  open(purpose: 'webhook secret', sealed: string): string | undefined;
}
