import type { Database } from '../../store/postgres.ts';
import { Throttle } from '../throttle.ts';
import { openClients } from './clients.ts';
import type { Services } from './context.ts';

/** Failed client authentications of one address (decisions, section 21). */
const FAILURES = { perMinute: 60, burst: 60 };

/** What the OAuth endpoints of one process share. */
export const openOAuth = ({ baseUrl, db }: { baseUrl: string; db: Database }): Services => ({
  baseUrl,
  db,
  clients: openClients(db),
  failures: new Throttle(FAILURES),
});
