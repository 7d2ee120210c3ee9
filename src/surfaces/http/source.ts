import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** The address that a request came from, as seen by the last proxy that is trusted to say so. */
export type Source = (request: IncomingMessage) => string;

/** `trusted`: addresses, ranges or names of proxies (loopback, linklocal, uniquelocal); X-Forwarded-For of others is ignored. */
export function openSource(trusted: readonly string[]): Source {
  const trust = proxyAddr.compile([...trusted]);
  return (request) => proxyAddr(request, trust);
}
