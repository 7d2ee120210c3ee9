import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** The address that a request came from, as seen by the last proxy that is trusted to say so. */
export type Source = (request: IncomingMessage) => string;

/** Headers by which a proxy says that it has passed a request on (RFC 7239, section 5; RFC 9110, section 7.6.3; custom). */
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
 * Whether Host is a name of loopback. A page whose name was rebound to 127.0.0.1 calls us by that name (checks, MC-04), and
 * a proxy on this machine by the one that the world has for us where it passes Host on. nginx does not by default: it names
 * where it connects to, and cannot be told from a caller on this machine.
 */
export const calledLoopback = ({ headers: { host = '' } }: IncomingMessage): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Whether a request comes from this machine, which calls it loopback, or one of the `allowed` addresses, ranges or names.
 * What a proxy has passed on comes from where a trusted one says, and from an untrusted one on this machine from nowhere.
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
    // proxy-addr reads X-Forwarded-For alone: of another header the proxy itself would be the source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    const source = proxyAddr(request, trust);
    // A proxy elsewhere that names loopback means its own machine, or says what a client has claimed.
    if (isLoopback(source, 0)) return isLoopback(peer, 0) && calledLoopback(request);
    return permits(source, 0);
  };
}

/** Whether a request was passed on by one of the `trusted` proxies itself: what else it says of its way is believed, too. */
export function openTrust(trusted: readonly string[]): (request: Pick<IncomingMessage, 'socket'>) => boolean {
  const trust = proxyAddr.compile([...trusted]);
  return ({ socket: { remoteAddress } }) => remoteAddress !== undefined && trust(remoteAddress, 0);
}

/** `trusted`: addresses, ranges or names of proxies (loopback, linklocal, uniquelocal); X-Forwarded-For of others is ignored. */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
