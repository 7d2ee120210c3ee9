import { once } from 'node:events';
import { erase } from '../../src/privacy/erase.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { KEYS } from '../support/keys.js';
const [target = '', id = ''] = process.argv.slice(2);
const db = openDatabase({ target: JSON.parse(target), connections: 1, statementTimeout: 600_000, name: 'erasing' });
let [statements, longest] = [0, 0];
const timed = {
    ...db,
    query: async (statement) => {
        const began = performance.now();
        try {
            return await db.query(statement);
        }
        finally {
            statements++;
            longest = Math.max(longest, performance.now() - began);
        }
    },
};
process.stderr.write('ready\n');
await once(process.stdin, 'data');
const before = process.memoryUsage.rss() / 2 ** 20;
const [began, used] = [performance.now(), process.cpuUsage()];
const certificate = await erase(timed, KEYS, { kind: 'contact', id, reason: 'bench' });
const { user, system } = process.cpuUsage(used);
const told = {
    ...{ messages: certificate?.counts['messages'] ?? 0, seconds: (performance.now() - began) / 1000 },
    ...{ cpu: (user + system) / 1e6, statements, longest, before, peak: process.resourceUsage().maxRSS / 1024 },
};
process.stdout.write(JSON.stringify(told));
await db.close();
process.exit();
//# sourceMappingURL=erasing.js.map