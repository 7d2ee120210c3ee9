import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** Returns the client's address. If trusted proxies have forwarded the request, the proxies name the client. */
export type Source = (request: IncomingMessage) => string;

/**
 * Headers that a proxy adds when it forwards a request. Standards define the headers `Forwarded` (RFC 7239, section 5)
 * and `Via` (RFC 9110, section 7.6.3). No standard defines the headers that start with `X-`.
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
 * True when the Host header contains a loopback name. A request with any other name does not come from this machine.
 * For example, after DNS rebinding to 127.0.0.1, Host is the name of the foreign web page (check MC-04). When a local
 * proxy forwards Host, Host is the gateway's public name.
 *
 * The check cannot detect every request that comes through nginx. With its default settings, nginx sets Host to the
 * address of the gateway, which can be a loopback address.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Returns a function that checks where a request comes from. The function accepts a request from this machine if Host
 * is a loopback name. The function also accepts a request from an address, range or name in `allowed`. A trusted proxy
 * must name the source of a forwarded request. A request from an untrusted proxy is refused.
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
    // A proxy on another machine reports a loopback address in two cases: the request comes from the machine of the
    // proxy, or the proxy repeats a claim of its client. In both cases, the request does not come from this machine.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/**
 * Returns a function that is true when the direct peer is a trusted proxy. The gateway then also trusts the traceparent
 * header that this proxy sends.
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
