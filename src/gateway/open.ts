import { openAuthorities } from '../auth/authority.ts';
import type { RemoteWriter } from '../core/writes.ts';
import type { CursorKeys } from '../events/cursors.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import type { Store } from '../store/open/open.ts';
import { Corridor, type CorridorOptions } from './call.ts';
import { openGuides } from './guides.ts';
import { type Declarations, loadDeclarations } from './load.ts';
import { Quota } from './quota.ts';
import { RealtimeSessions } from './realtime-sessions.ts';
import { isGranted } from './skills.ts';
import { Subscriptions } from './subscriptions.ts';
import { Ledger } from './writes.ts';

export interface GatewayOptions extends Pick<CorridorOptions, 'checkEvery' | 'books' | 'onDefect'> {
  /** Without `writers`, at most two writes run at the same time, on `db`. */
  readonly store: Pick<Store, 'db' | 'slow'> & Partial<Pick<Store, 'writers' | 'replica'>>;
  readonly keys: CursorKeys;
  /** Public base URL, for URLs in answers. The default is that of a development checkout. */
  readonly baseUrl?: string;
  /** A writer that changes conversations and visitors in another system. Without it, all writes go to `store`. */
  readonly remote?: RemoteWriter;
  /** Default: all declarations of the program. */
  readonly declarations?: Declarations;
}

export async function openGateway({
  store,
  keys,
  baseUrl = 'http://127.0.0.1:8420',
  remote,
  declarations,
  ...how
}: GatewayOptions): Promise<Corridor> {
  const { registry, skills } = declarations ?? (await loadDeclarations());
  const secret = openLedgerKey(store.db);
  return new Corridor({
    db: store.db,
    slow: store.slow,
    replica: store.replica,
    registry,
    authorities: openAuthorities(store.db),
    quota: new Quota(store.db),
    guides: openGuides((grants) => skills.all.some((skill) => isGranted(skill, grants))),
    ledger: new Ledger(store.writers ?? [store.db, store.db], secret, remote),
    subscriptions: new Subscriptions(store.writers?.at(-1) ?? store.db, keys, secret),
    realtime: new RealtimeSessions(baseUrl),
    baseUrl,
    ...how,
  });
}
