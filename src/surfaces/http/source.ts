import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** The client's address. The last trusted proxy in the chain decides it. */
export type Source = (request: IncomingMessage) => string;

/** Headers that a proxy adds to a forwarded request (RFC 7239, section 5; RFC 9110, section 7.6.3; custom ones). */
const PASSED_ON = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
] as const;

const isLoopback = proxyAddr.compile('loopback');

/**
 * Whether Host is a loopback name. After DNS rebinding to 127.0.0.1, a web page sends its own name as Host (checks,
 * MC-04). A local proxy that forwards Host sends the gateway's public name. nginx by default sends the address that it
 * connects to, so it cannot be told from a caller on this machine.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Permits a request from this machine with a loopback Host, or from one of the `allowed` addresses, ranges or names.
 * For a forwarded request, a trusted proxy says where it came from. A request from an untrusted proxy is refused.
 */
export function openAllowed(
  allowed: readonly string[],
  trusted: readonly string[],
): (request: IncomingMessage) => boolean {
  const permits = proxyAddr.compile([...allowed]);
  const trust = proxyAddr.compile([...trusted]);
  return (request) => {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return false;
    const passedOn = PASSED_ON.some((name) => request.headers[name] !== undefined);
    // proxy-addr reads X-Forwarded-For only. With any other header, the proxy itself would look like the source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    const source = proxyAddr(request, trust);
    // If a remote proxy names loopback, it means its own machine or repeats a client's claim.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/** Whether the direct peer is one of the `trusted` proxies. If so, its other forwarding headers are trusted too. */
export function openTrust(trusted: readonly string[]): (request: Pick<IncomingMessage, 'socket'>) => boolean {
  const trust = proxyAddr.compile([...trusted]);
  return ({ socket: { remoteAddress } }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/**
 * `trusted` lists addresses, ranges or names (loopback, linklocal, uniquelocal) of proxies. X-Forwarded-For from others
 * is ignored.
 */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
