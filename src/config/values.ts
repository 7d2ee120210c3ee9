import { statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import proxyAddr from 'proxy-addr';
import { decoded } from '../core/decoded.ts';
import { addressesOf } from '../core/store-address.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * True if the text can be the gateway's base URL, which is also its issuer (RFC 8414, section 2): https, or http on
 * this machine.
 */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash, username } = new URL(text);
  const safe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
  return safe && pathname === '/' && search === '' && hash === '' && username === '';
}

export function isHost(text: string): boolean {
  return (
    isIP(text) > 0 || (text.length <= 253 && /^([a-z\d]([a-z\d-]*[a-z\d])?\.)*[a-z\d]([a-z\d-]*[a-z\d])?$/i.test(text))
  );
}

/**
 * True when the database driver can read this address. The driver decodes every part, so the percent-encoding must be
 * valid. An unescaped `/`, `?`, `#` or `@` in the password is refused, because the driver would split the address there. A
 * list of hosts is refused: with two hosts, the driver ignores each error of connecting, so a command would never end.
 */
export function isDatabase(text: string): boolean {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { username, hostname, pathname, hash } = new URL(text);
  // The driver takes the text behind the first `@` as the host, and URL parsers the text behind the last one.
  const authority = text.slice(text.indexOf('://') + 3).split(/[/?]/)[0] ?? '';
  if (authority.split('@').length > 2) return false;
  if (pathname.includes('@') || hash !== '' || (text.includes('@') && username === '')) return false;
  return decoded(text) !== undefined && !decodeURIComponent(hostname).includes(',');
}

/** True for an address as in `isDatabase`, with one or several hosts. Only one can be a folder of a Unix socket. */
export function isStore(text: string): boolean {
  const all = addressesOf(text);
  return all.length > 0 && all.every((one) => isDatabase(one) && (all.length === 1 || isHost(new URL(one).hostname)));
}

export function mayBeFolder(path: string): boolean {
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    // In Node 24, statSync also returns undefined if a parent of the path is a file. So check the parents.
    return there?.isDirectory() ?? mayBeFolder(dirname(resolve(path)));
  } catch {
    return false; // a part of the path is a file, or a folder that this user cannot read
  }
}

/** True for a list of IP addresses, CIDR ranges and names that proxy-addr knows. */
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

/**
 * True for `*`, an empty list, or hosts as the URL parser writes them. A pattern such as `*.claude.ai` or a name with a
 * final dot is refused, because it never equals a client's host.
 */
export const areClientHosts = (list: string): boolean =>
  listOf(list.toLowerCase()).every((host) => {
    if (host === '*') return true;
    const named = isHost(host) || host.startsWith('[');
    return named && URL.canParse(`https://${host}/`) && new URL(`https://${host}/`).hostname === host;
  });

/** True for hosts as in `areClientHosts`, each with a port if it is not the usual one. */
export const areSourceHosts = (list: string): boolean =>
  listOf(list).every((one) => {
    const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(one) ?? [];
    return host !== '' && host !== '*' && areClientHosts(host) && (port === undefined || isPort(port));
  });

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;

/** True for an origin in its normal form: scheme, host and port. Origins are compared as text. */
export const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;

/**
 * True if the text can be an issuer: https without query and fragment (OpenID Connect Discovery, section 2), or http on
 * this machine.
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
