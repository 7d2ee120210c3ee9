import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import proxyAddr from 'proxy-addr';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * True when the text can be the gateway's base URL, which is also the issuer of tokens (RFC 8414, section 2). The URL
 * uses https. On this machine, http is allowed.
 */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash, username } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && pathname === '/' && search === '' && hash === '' && username === '';
}

/** True when the text is an IP address or a host name (RFC 1123, section 2.1). */
export function isHost(text: string): boolean {
  return (
    isIP(text) > 0 || (text.length <= 253 && /^([a-z\d]([a-z\d-]*[a-z\d])?\.)*[a-z\d]([a-z\d-]*[a-z\d])?$/i.test(text))
  );
}

/**
 * True when the driver can read the address of a database. The driver decodes every part, so the percent-encoding must
 * be valid. A bare `/`, `?` or `#` in a password would cut the address in two, so it is refused.
 */
export function isDatabase(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { username, pathname, hash } = new URL(text);
  if (pathname.includes('@') || hash !== '' || (text.includes('@') && username === '')) return false;
  try {
    return decodeURIComponent(text) !== '';
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

/** True when the path is a folder, or when nothing exists at the path and a folder can be created there. */
export function mayBeFolder(path: string): boolean {
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    // For a path below a file, statSync of Node 24 also returns undefined. So the parent folders are checked too.
    return there?.isDirectory() ?? mayBeFolder(dirname(resolve(path)));
  } catch {
    return false; // the path leads through a file, or this user may not read a folder on the path
  }
}

/** True when the list contains only addresses, ranges in CIDR notation, or names that proxy-addr knows. */
export function areProxies(list: string): boolean {
  try {
    proxyAddr.compile(listOf(list));
    return true;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return false;
    throw error;
  }
}

export const listOf = (text: string): string[] => text.split(',').flatMap((one) => one.trim() || []);

/** True when the text is an origin in normalized form: scheme, host and port. Origins are compared as text. */
export const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/**
 * True when the text can be an issuer (OpenID Connect Discovery, section 2). An issuer uses https and has no query or
 * fragment. On this machine, http is allowed.
 */
export function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && !/[?#]/.test(text) && username + password === '';
}

export function isCollector(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
