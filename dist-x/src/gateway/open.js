import { openAuthorities } from '../auth/authority.js';
import { openLedgerKey } from '../store/calls/ledger.js';
import { Corridor } from './call.js';
import { openGuides } from './guides.js';
import { loadDeclarations } from './load.js';
import { Quota } from './quota.js';
import { RealtimeSessions } from './realtime-sessions.js';
import { isGranted } from './skills.js';
import { Subscriptions } from './subscriptions.js';
import { Ledger } from './writes.js';
export async function openGateway({ store, keys, baseUrl = 'http://127.0.0.1:8420', checkEvery, onDefect, remote, declarations, books, }) {
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
        checkEvery,
        onDefect,
        books,
    });
}
//# sourceMappingURL=open.js.map