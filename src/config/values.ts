import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import proxyAddr from 'proxy-addr';

/** What the text of a setting may be (config.ts). */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The issuer of tokens (RFC 8414, section 2): https, or on this machine http. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash, username } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && pathname === '/' && search === '' && hash === '' && username === '';
}

/** An address, or a name as DNS has it (RFC 1123, section 2.1). */
export function isHost(text: string): boolean {
  return (
    isIP(text) > 0 || (text.length <= 253 && /^([a-z\d]([a-z\d-]*[a-z\d])?\.)*[a-z\d]([a-z\d-]*[a-z\d])?$/i.test(text))
  );
}

/** What the driver can read: it decodes every part. Of a password with a bare `/`, `?` or `#`, the rest is no user's. */
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

/** A folder, or nothing yet where nothing but folders is above it. */
export function mayBeFolder(path: string): boolean {
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    // Node 24 finds nothing, too, below what is no folder.
    return there?.isDirectory() ?? mayBeFolder(dirname(resolve(path)));
  } catch {
    return false; // below what is no folder, or no right to look
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

/** Scheme, host and port, in the one spelling that addresses are compared in. */
export const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/** OpenID Connect Discovery, section 2: https, no query, no fragment. On this machine http will do. */
export function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && !/[?#]/.test(text) && username + password === '';
}

export function isCollector(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
