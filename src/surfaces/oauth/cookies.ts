import type { IncomingMessage } from 'node:http';

/** On plain http, which is for loopback, browsers take no cookie with the prefix. */
const secure = (baseUrl: string): boolean => baseUrl.startsWith('https:');

/** For this origin alone, and for no other host under its domain to set (RFC 6265bis, section 4.1.3.2). */
const named = (baseUrl: string, name: string): string => (secure(baseUrl) ? `__Host-${name}` : name);
export const sessionName = (baseUrl: string): string => named(baseUrl, 'igw_session');
export const identityName = (baseUrl: string): string => named(baseUrl, 'igw_identity');

/** Out of reach of scripts; sent along where another site's link or redirect leads here, but with none of its forms. */
const attributes = (baseUrl: string, seconds: number): string =>
  `; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure(baseUrl) ? '; Secure' : ''}`;

/** Set-Cookie of somebody who has signed in. */
export const sessionCookie = (baseUrl: string, secret: string, seconds: number): string =>
  `${sessionName(baseUrl)}=${secret}${attributes(baseUrl, seconds)}`;

export const clearedSession = (baseUrl: string): string => sessionCookie(baseUrl, '', 0);

/** The session's secret; undefined without exactly one. */
export const sessionOf = (request: IncomingMessage, baseUrl: string): string | undefined =>
  readCookie(request, sessionName(baseUrl));

/** Set-Cookie of what is kept while the person is at the identity provider; with 0 seconds it goes. */
export const identityCookie = (baseUrl: string, kept: string, seconds: number): string =>
  `${identityName(baseUrl)}=${kept}${attributes(baseUrl, seconds)}`;

/**
 * The cookie's value; undefined where it was not sent, is empty, or came twice: nobody could tell which one is ours.
 */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const [value = '', ...others] = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return others.length === 0 && value !== '' ? value : undefined;
}
