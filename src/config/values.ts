import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import proxyAddr from 'proxy-addr';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The address is the issuer of tokens (RFC 8414, section 2). It uses https; on this machine http is allowed. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash, username } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && pathname === '/' && search === '' && hash === '' && username === '';
}

/** An IP address, or a host name (RFC 1123, section 2.1). */
export function isHost(text: string): boolean {
  return (
    isIP(text) > 0 || (text.length <= 253 && /^([a-z\d]([a-z\d-]*[a-z\d])?\.)*[a-z\d]([a-z\d-]*[a-z\d])?$/i.test(text))
  );
}

/**
 * An address that the driver can read. The driver decodes every part, so the percent-encoding must be valid. A bare
 * `/`, `?` or `#` in a password cuts the address in two: such an address is refused.
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

/** A folder, or a path below existing folders where nothing exists yet. */
export function mayBeFolder(path: string): boolean {
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    // Node 24 also finds nothing below a file, so the parents are checked too.
    return there?.isDirectory() ?? mayBeFolder(dirname(resolve(path)));
  } catch {
    return false; // the path leads through a file, or this user may not look there
  }
}

/** Addresses, ranges in CIDR notation, or names that proxy-addr knows. */
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

/** Scheme, host and port, in the normalized form. Origins are compared as text. */
export const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** OpenID Connect Discovery, section 2: https, without query and fragment. On this machine http is allowed. */
export function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && !/[?#]/.test(text) && username + password === '';
}

export function isCollector(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
