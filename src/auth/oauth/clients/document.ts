import { z } from 'zod';
import type { DocumentRule } from './document-rules.ts';

/** True for a client id that is a URL. The id of an installed client is never a URL. */
export const isClientUrl = (id: string): boolean => /^https?:\/\//i.test(id);

/** A client that nobody registered, as its metadata document describes it. It has no secret. */
export interface ClientByUrl {
  readonly kind: 'by_url';
  /** The URL of the document, which is also the client id. */
  readonly url: string;
  /** The host of the URL, without a port. The host is the only fact about the client that the gateway has checked. */
  readonly host: string;
  /** The name that the client gives to itself. */
  readonly name: string;
  /** The https and loopback addresses to which the client lets a browser be sent. */
  readonly redirects: readonly string[];
}

/**
 * The members of a metadata document that the gateway reads. Members of RFC 7591 that concern secrets must be absent,
 * because a public document cannot keep a secret.
 */
const Document = z.looseObject({
  client_id: z.string(),
  // PostgreSQL cannot store U+0000, and no name needs another control character or half of a surrogate pair.
  client_name: z
    .string()
    .regex(/\S/)
    .max(1_000)
    .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name)),
  redirect_uris: z.array(z.string()).min(1).max(100),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  client_secret: z.undefined().optional(),
  client_secret_expires_at: z.undefined().optional(),
});

/**
 * Reads the metadata document of a client. Returns a rule if the document is malformed, names another client id, or
 * describes a client that authenticates with a secret. A client that prefers to sign its requests is accepted if it can
 * also do without.
 */
export function clientOf(url: string, json: unknown): ClientByUrl | DocumentRule {
  const parsed = Document.safeParse(json);
  if (!parsed.success) return ruleAt(parsed.error.issues[0]?.path[0]);
  const { data } = parsed;
  if (data.client_id !== url) return 'client_id';
  const method = data.token_endpoint_auth_method ?? 'none';
  const signs = method === 'private_key_jwt' && data.token_endpoint_auth_methods_supported?.includes('none') === true;
  if (method !== 'none' && !signs) return 'secret';
  return {
    kind: 'by_url',
    url,
    host: new URL(url).hostname,
    name: data.client_name,
    redirects: data.redirect_uris.filter(isUsable),
  };
}

/** The rule for a member of the document. The other members concern secrets. Without a member, it is no object. */
function ruleAt(member: PropertyKey | undefined): DocumentRule {
  if (member === undefined) return 'object';
  return member === 'client_id' || member === 'client_name' || member === 'redirect_uris' ? member : 'secret';
}

/** The hosts that are the person's own machine, as the URL parser writes them. */
export const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];
/** True when the address is on the person's own machine. Every program there can take the code. */
export const isLoopback = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && LOOPBACK.includes(hostname);

/**
 * Matches a host that can stand in a Content-Security-Policy. The URL parser also accepts hosts such as `a;sandbox`,
 * which would add a directive to the policy of the page, and `*`, which would allow every host.
 */
const PLAIN_HOST = /^(?:[a-z\d.-]+|\[::1\])$/;

/** True for an https address, and for an http address on loopback. False for custom schemes such as `cursor://`. */
export function isUsable(text: string): boolean {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || text.includes('#') || text.includes('\\')) return false;
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username + url.password !== '' || !PLAIN_HOST.test(url.hostname)) return false;
  return url.protocol === 'https:' || isLoopback(url);
}
