import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** Returns the client's address. For a forwarded request, the trusted proxies name the client. */
export type Source = (request: IncomingMessage) => string;

/**
 * Headers that a proxy adds when it forwards a request (RFC 7239, section 5; RFC 9110, section 7.6.3; some without a
 * standard).
 */
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
 * True when the Host header has a loopback name. Any other name shows that the request does not come from this machine.
 * After DNS rebinding to 127.0.0.1, Host is the name of the foreign web page (check MC-04). When a local proxy forwards
 * Host, Host is the gateway's public name.
 *
 * The check can miss a request through nginx. With its default settings, nginx sets Host to the address that it
 * connects to, which can be a loopback address.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Returns a function that checks where a request comes from. It accepts this machine, if Host is a loopback name. It
 * also accepts the `allowed` addresses, ranges and names. For a forwarded request, a trusted proxy must name the
 * source. A request from an untrusted proxy is refused.
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
    // proxy-addr reads only X-Forwarded-For. If a proxy sends only other headers, the proxy itself would look like the
    // source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    const source = proxyAddr(request, trust);
    // When a proxy on another machine reports a loopback address, the proxy means its own machine or repeats a claim of
    // its client.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/**
 * Returns a function that is true when the direct peer is a trusted proxy. The traceparent of a trusted proxy is
 * trusted too.
 */
export function openTrust(trusted: readonly string[]): (request: Pick<IncomingMessage, 'socket'>) => boolean {
  const trust = proxyAddr.compile([...trusted]);
  return ({ socket: { remoteAddress } }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/**
 * Returns a function that finds the client's address. `trusted` lists proxies by address, range or name (loopback,
 * linklocal, uniquelocal). X-Forwarded-For from any other peer is ignored.
 */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
