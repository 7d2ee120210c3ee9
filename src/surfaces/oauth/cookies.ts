import type { IncomingMessage } from 'node:http';

/** True on HTTPS. On plain HTTP, which is only for loopback, browsers reject a cookie with the prefix `__Host-`. */
const secure = (baseUrl: string): boolean => baseUrl.startsWith('https:');

/**
 * Adds the prefix `__Host-` to the name of a cookie. Another host of the domain can then neither set nor read the
 * cookie (RFC 6265bis, section 4.1.3.2).
 */
const named = (baseUrl: string, name: string): string => (secure(baseUrl) ? `__Host-${name}` : name);
export const sessionName = (baseUrl: string): string => named(baseUrl, 'igw_session');
export const identityName = (baseUrl: string): string => named(baseUrl, 'igw_identity');

/** Scripts cannot read the cookie. Links and redirects from other sites send it, but forms from other sites do not. */
const attributes = (baseUrl: string, seconds: number): string =>
  `; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure(baseUrl) ? '; Secure' : ''}`;

/** The Set-Cookie header for a new session. */
export const sessionCookie = (baseUrl: string, secret: string, seconds: number): string =>
  `${sessionName(baseUrl)}=${secret}${attributes(baseUrl, seconds)}`;

export const clearedSession = (baseUrl: string): string => sessionCookie(baseUrl, '', 0);

/** The secret of the session. `undefined` unless the request has exactly one session cookie. */
export const sessionOf = (request: IncomingMessage, baseUrl: string): string | undefined =>
  readCookie(request, sessionName(baseUrl));

/** Set-Cookie for the state of a sign-in at the identity provider. A lifetime of 0 seconds deletes the cookie. */
export const identityCookie = (baseUrl: string, kept: string, seconds: number): string =>
  `${identityName(baseUrl)}=${kept}${attributes(baseUrl, seconds)}`;

/** The value of a cookie. `undefined` if it is absent, empty or sent twice, because one of two can be forged. */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const [value = '', ...others] = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return others.length === 0 && value !== '' ? value : undefined;
}
