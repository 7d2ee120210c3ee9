import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.js';
import { median, ratios } from './report.js';
/**
 * The ratios of the last runs with `--record`, in recorded.json. A ratio has fallen if all its rounds now are below all
 * rounds then. Without a change, that happens once in 252 times to one ratio of five rounds. To see a smaller fall than
 * the spread of the rounds, run both versions in turn. Another version of Node or number of cores is only told.
 */
const Recorded = z.record(z.string(), z.object({
    median: z.number(),
    least: z.number(),
    most: z.number(),
    date: z.iso.date(),
    node: z.string(),
    cores: z.int(),
}));
const FILE = new URL('test/bench/recorded.json', packageRoot);
function ratiosOf(compared) {
    const round = (value) => Math.round(value * 100) / 100;
    const machine = {
        date: new Date().toISOString().slice(0, 10),
        node: process.version.replace(/\..*/, ''),
        cores: cpus().length,
    };
    const each = compared.map((one) => {
        const all = ratios(one);
        const entry = { median: round(median(all)), least: round(Math.min(...all)), most: round(Math.max(...all)) };
        return [one.name, { ...entry, ...machine }];
    });
    return Object.fromEntries(each);
}
const read = (file) => (existsSync(file) ? Recorded.parse(JSON.parse(readFileSync(file, 'utf8'))) : {});
/** Records the ratios. Rows that were not compared stay as they are. */
export function record(compared, file = FILE) {
    writeFileSync(file, `${JSON.stringify({ ...read(file), ...ratiosOf(compared) }, null, 2)}\n`);
}
/** A sentence for each ratio that has fallen, in `fallen`, and for each that cannot be judged well, in `notes`. */
export function judge(compared, file = FILE) {
    const before = read(file);
    const [notes, fallen] = [[], []];
    for (const [name, now] of Object.entries(ratiosOf(compared))) {
        const then = before[name];
        if (!then)
            notes.push(`${name}: not recorded, so not judged. Record with --record.`);
        else if (then.node !== now.node || then.cores !== now.cores)
            notes.push(`${name}: read with care, because the record is of Node ${then.node} on ${then.cores} cores.`);
        if (then && now.most < then.least)
            fallen.push(`${name}: the ratio is ${now.median} (${now.least} to ${now.most}). ` +
                `On ${then.date} it was ${then.median} (${then.least} to ${then.most}).`);
    }
    return { notes, fallen };
}
//# sourceMappingURL=recorded.js.map