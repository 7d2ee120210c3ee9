import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import proxyAddr from 'proxy-addr';

/** Returns the client's address. If trusted proxies have forwarded the request, the proxies name the client. */
export type ClientAddress = (request: IncomingMessage) => string;

/**
 * Headers of a proxy that forwards a request. `Forwarded` (RFC 7239, section 5) and `Via` (RFC 9110, section 7.6.3) are
 * standards. The headers with `X-` are not.
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

/** An entry of X-Forwarded-For without the port and the brackets that some proxies write, such as 203.0.113.7:51234. */
function withoutPort(entry: string): string {
  const [, four = '', six = ''] = /^(?:([^:]+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/.exec(entry) ?? [];
  if (isIPv4(four)) return four;
  return isIPv6(six) ? six : entry;
}

/** Finds the client's address. Proxies that `trusts` knows name it, also with a port. */
const sourceOf = (request: IncomingMessage, trusts: ReturnType<typeof proxyAddr.compile>): string =>
  withoutPort(proxyAddr(request, (address, i) => trusts(withoutPort(address), i)));

/**
 * True if Host is a loopback name. Any other name does not come from this machine. After DNS rebinding to 127.0.0.1,
 * Host names the foreign web page (check MC-04). A local proxy forwards the gateway's public name.
 *
 * The check misses some requests through nginx: by default, nginx sets Host to the gateway's address, which can be a
 * loopback address.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Accepts a request from this machine if Host is a loopback name, and a request from an address, range or name in
 * `allowed`. A trusted proxy must name the source of a forwarded request. From an untrusted proxy, the request is
 * refused.
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
    // proxy-addr reads only X-Forwarded-For. With other headers alone, the proxy itself would look like the source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    const source = sourceOf(request, trust);
    // A proxy on another machine reports a loopback address for a request from its own machine, or as a claim of its
    // client. Neither request comes from this machine.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/** True if the direct peer is a trusted proxy. Its traceparent header is then trusted too. */
export function openTrust(trusted: readonly string[]): (request: Pick<IncomingMessage, 'socket'>) => boolean {
  const trust = proxyAddr.compile([...trusted]);
  return ({ socket: { remoteAddress } }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/**
 * Returns a function that finds the client's address. `trusted` lists proxies by address, range or name (loopback,
 * linklocal, uniquelocal). X-Forwarded-For from any other peer is ignored.
 */
export function openClientAddress(trusted: readonly string[]): ClientAddress {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => sourceOf(request, trust);
}
