import { importFiles } from '../../src/sources/files/import.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
const [target = '', path = ''] = process.argv.slice(2);
const db = openDatabase({ target: JSON.parse(target), connections: 2, statementTimeout: 600_000, name: 'bench' });
const peak = () => process.resourceUsage().maxRSS / 1024;
let tenth = 0;
const began = performance.now();
const before = process.cpuUsage();
const { read } = await importFiles(db, {
    files: [path],
    onProgress: ({ phase, done, total }) => {
        if (tenth === 0 && phase === 'read' && done >= (total ?? 0) / 10)
            tenth = peak();
    },
});
const { user, system } = process.cpuUsage(before);
const seconds = (performance.now() - began) / 1000;
const told = { read, seconds, cpu: (user + system) / 1e6, tenth, peak: peak() };
await db.close();
process.stdout.write(JSON.stringify(told));
//# sourceMappingURL=importing.js.map