import { isIP } from 'node:net';
import { isPublic } from './addresses.ts';

/** Where deliveries may go (decisions, section 15; checks, WH-09): asked when an endpoint is saved and before each attempt. */
export type Receiver =
  | {
      readonly url: URL /** By GATEWAY_WEBHOOK_ALLOW: neither scheme, port nor address matter. */;
      readonly exempt: boolean;
    }
  | { readonly refused: string };

const URL_MAX = 2048;
const PORTS: readonly string[] = ['', '443', '8443'];
/** Names that no public resolver answers for, or that lead home (RFC 6761, RFC 6762, RFC 8375, and clouds’ own). */
const PRIVATE_NAME = /(^|\.)(localhost|localdomain|local|internal|home\.arpa)$/;

/**
 * What can be said of an address as it is written; the addresses that its name has are the resolver's affair. The URL
 * parser has read numbers of every notation and digits of every script by then, so that `127.1` is 127.0.0.1.
 */
export function receiverOf(text: string, allowed: ReadonlySet<string>): Receiver {
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(text) || !URL.canParse(text))
    return { refused: 'A receiver is an https address.' };
  const url = new URL(text);
  // As it is kept: some characters have become three.
  if (url.href.length > URL_MAX) return { refused: `A receiver’s address has at most ${URL_MAX} characters.` };
  if (url.username + url.password !== '' || /^[^/?#]*\/\/[^/?#]*@/.test(text)) {
    return { refused: 'A receiver’s address holds no user or password.' };
  }
  if (url.hash !== '' || text.includes('#')) return { refused: 'A receiver’s address has no fragment.' };
  if (allowed.has(url.origin)) return { url, exempt: true };
  if (url.protocol !== 'https:') return { refused: 'A receiver is an https address.' };
  if (!PORTS.includes(url.port)) return { refused: 'A receiver listens on port 443 or 8443.' };
  const host = hostOf(url);
  if (isIP(host) !== 0) {
    return isPublic(host) ? { url, exempt: false } : { refused: 'A receiver has a public address.' };
  }
  if (!host.includes('.') || host.endsWith('.') || PRIVATE_NAME.test(host)) {
    return { refused: 'A receiver has a public host name.' };
  }
  return { url, exempt: false };
}

/** Without the brackets of IPv6. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
