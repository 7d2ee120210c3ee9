import type { IncomingMessage } from 'node:http';

/** On plain HTTP, which is for loopback only, browsers reject a cookie with the `__Host-` prefix. */
const secure = (baseUrl: string): boolean => baseUrl.startsWith('https:');

/**
 * With the prefix, only this origin can set or read the cookie, not another host of its domain (RFC 6265bis, section
 * 4.1.3.2).
 */
const named = (baseUrl: string, name: string): string => (secure(baseUrl) ? `__Host-${name}` : name);
export const sessionName = (baseUrl: string): string => named(baseUrl, 'igw_session');
export const identityName = (baseUrl: string): string => named(baseUrl, 'igw_identity');

/**
 * Scripts cannot read the cookie. Browsers send it with links and redirects from other sites, but not with their forms.
 */
const attributes = (baseUrl: string, seconds: number): string =>
  `; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure(baseUrl) ? '; Secure' : ''}`;

/** Set-Cookie for a new session. */
export const sessionCookie = (baseUrl: string, secret: string, seconds: number): string =>
  `${sessionName(baseUrl)}=${secret}${attributes(baseUrl, seconds)}`;

export const clearedSession = (baseUrl: string): string => sessionCookie(baseUrl, '', 0);

/** The secret of the session. `undefined` unless the request has exactly one. */
export const sessionOf = (request: IncomingMessage, baseUrl: string): string | undefined =>
  readCookie(request, sessionName(baseUrl));

/** Set-Cookie for the state that is kept while the person is at the identity provider. 0 seconds deletes it. */
export const identityCookie = (baseUrl: string, kept: string, seconds: number): string =>
  `${identityName(baseUrl)}=${kept}${attributes(baseUrl, seconds)}`;

/** The value of a cookie. `undefined` if it is absent or empty, or if it is sent twice, because one may be forged. */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const [value = '', ...others] = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return others.length === 0 && value !== '' ? value : undefined;
}
