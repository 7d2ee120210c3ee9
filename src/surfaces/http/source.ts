import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** The address that a request came from, as seen by the last proxy that is trusted to say so. */
export type Source = (request: IncomingMessage) => string;

/** Headers by which a proxy says that it has passed a request on (RFC 7239, section 5; RFC 9110, section 7.6.3). */
const PASSED_ON = ['forwarded', 'x-forwarded-for', 'via'] as const;

/**
 * Whether a request comes from this machine or one of the `allowed` addresses, ranges or names. What a proxy has passed on
 * comes from where a trusted one says, and from an untrusted one on this machine from nowhere.
 */
export function openAllowed(
  allowed: readonly string[],
  trusted: readonly string[],
): (request: IncomingMessage) => boolean {
  const permits = proxyAddr.compile(['loopback', ...allowed]);
  const trust = proxyAddr.compile([...trusted]);
  return (request) => {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return false;
    const passedOn = PASSED_ON.some((name) => request.headers[name] !== undefined);
    // proxy-addr reads X-Forwarded-For alone: of another header the proxy itself would be the source.
    if (passedOn && (request.headers['x-forwarded-for'] === undefined || !trust(peer, 0))) return false;
    return permits(proxyAddr(request, trust), 0);
  };
}

/** `trusted`: addresses, ranges or names of proxies (loopback, linklocal, uniquelocal); X-Forwarded-For of others is ignored. */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
