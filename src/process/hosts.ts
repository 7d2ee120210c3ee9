import { PeriodicJob } from '../flow/periodic-job.ts';
import { readHosts } from '../store/administration/directory.ts';
import type { Database } from '../store/driver/postgres.ts';
import { recent } from '../surfaces/http/recent.ts';
import type { ServedSite } from '../surfaces/http/server.ts';

/** Milliseconds until a process knows a host that an organization has got. */
const EVERY = 5_000;
/** Sites of this process: 20 to 50 kB each. To make one takes 0.2 to 1 ms. */
export const SITES = 500;

interface HostsOptions {
  readonly db: Database;
  /** The base URL of the cell. The hosts of organizations have its scheme and port. */
  readonly baseUrl: string;
  readonly siteAt: (baseUrl: string) => ServedSite;
  readonly stop: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/**
 * Returns what answers at the host of an organization: the same surfaces, with the base URL of this host in metadata,
 * cards, links and checks of the origin. Undefined for every other host. A site is made at its first request. Of more
 * than 500, the one that was asked longest ago is made again when it is asked. Its open requests end as usual.
 */
export function openHosts({
  db,
  baseUrl,
  siteAt,
  stop,
  onError,
}: HostsOptions): (host: string) => ServedSite | undefined {
  const { protocol, port } = new URL(baseUrl);
  let known: ReadonlySet<string> = new Set();
  const sites = recent(SITES, (host) => siteAt(`${protocol}//${host}`));
  const job = new PeriodicJob({
    every: EVERY,
    run: async () => {
      known = new Set((await readHosts(db)).map((host) => (port === '' ? host : `${host}:${port}`)));
      sites.keep(known);
    },
    onError,
  });
  job.wake();
  stop.addEventListener('abort', () => void job.stop(), { once: true });
  return (given) => {
    const host = given.toLowerCase();
    return known.has(host) ? sites.of(host) : undefined;
  };
}
