import { createHmac, randomBytes } from 'node:crypto';
/** Secrets and signatures follow Standard Webhooks 1.0. */
const PREFIX = 'whsec_';
export const newWebhookSecret = () => PREFIX + randomBytes(32).toString('base64');
/**
 * A signature is `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. Spaces separate the signatures. During a
 * rotation there are two, so that receivers with the old and with the new secret can verify the delivery.
 */
export function signatures(secrets, id, timestamp, body) {
    const signed = `${id}.${timestamp}.${body}`;
    return secrets
        .map((secret) => {
        const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
        return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    })
        .join(' ');
}
//# sourceMappingURL=signature.js.map