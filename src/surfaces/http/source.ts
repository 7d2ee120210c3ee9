import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** Returns the client's address, as the last trusted proxy in the chain reports it. */
export type Source = (request: IncomingMessage) => string;

/** Headers that a proxy adds to a request (RFC 7239, section 5; RFC 9110, section 7.6.3; some without a standard). */
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
 * True when the header Host has a loopback name. After DNS rebinding to 127.0.0.1, a web page sends its own name as
 * Host (check MC-04). A local proxy that forwards Host sends the gateway's public name. By default, nginx sends as Host
 * the address that it connects to. A request through nginx can therefore look like a request from this machine.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Returns a check of the source of a request. A request from this machine passes when its Host is a loopback name. A
 * request from one of the `allowed` addresses, ranges or names passes too. For a forwarded request, a trusted proxy
 * names the source. A request from an untrusted proxy is refused.
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
    // proxy-addr reads only X-Forwarded-For. With any other header, the proxy itself would look like the source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    const source = proxyAddr(request, trust);
    // A remote proxy that names a loopback address means its own machine, or it repeats a claim of its client.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/** Returns a check that is true if the direct peer is a trusted proxy. Such a proxy's traceparent is trusted too. */
export function openTrust(trusted: readonly string[]): (request: Pick<IncomingMessage, 'socket'>) => boolean {
  const trust = proxyAddr.compile([...trusted]);
  return ({ socket: { remoteAddress } }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/**
 * Returns a function that finds the client's address. `trusted` lists the proxies by address, range or name (loopback,
 * linklocal, uniquelocal). X-Forwarded-For from any other peer is ignored.
 */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
