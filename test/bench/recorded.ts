import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.ts';
import { type Compared, median, ratios } from './report.ts';

/**
 * The ratios of the last run with `--record`, in recorded.json. A ratio has fallen if its median now is below the lowest
 * of the rounds then. Rates depend on the machine and are not recorded. Ratios depend on it less, but they do: another
 * version of Node or number of cores is only told.
 */
const Recorded = z.object({
  node: z.string(),
  cores: z.int(),
  date: z.iso.date(),
  ratios: z.record(z.string(), z.object({ median: z.number(), least: z.number(), most: z.number() })),
});
type Recorded = z.infer<typeof Recorded>;

const file = new URL('test/bench/recorded.json', packageRoot);
const NODE = process.version.replace(/\..*/, '');

function recordOf(compared: readonly Compared[]): Recorded {
  const round = (value: number): number => Math.round(value * 100) / 100;
  const each = compared.map((one) => {
    const all = ratios(one);
    const entry = { median: round(median(all)), least: round(Math.min(...all)), most: round(Math.max(...all)) };
    return [one.name, entry] as const;
  });
  return {
    node: NODE,
    cores: cpus().length,
    date: new Date().toISOString().slice(0, 10),
    ratios: Object.fromEntries(each),
  };
}

export function record(compared: readonly Compared[]): void {
  writeFileSync(file, `${JSON.stringify(recordOf(compared), null, 2)}\n`);
}

/** A sentence for each ratio that has fallen. `note` says with what it is compared. */
export function fallen(compared: readonly Compared[]): { readonly note: string; readonly fallen: readonly string[] } {
  if (!existsSync(file)) return { note: 'nothing is recorded: run with --record', fallen: [] };
  const before = Recorded.parse(JSON.parse(readFileSync(file, 'utf8')));
  const now = recordOf(compared);
  const same = before.node === now.node && before.cores === now.cores;
  const about = `the record of ${before.date} (Node ${before.node}, ${before.cores} cores)`;
  const sentences = Object.entries(now.ratios).flatMap(([name, one]) => {
    const then = before.ratios[name];
    if (!then || one.median >= then.least) return [];
    return [
      `${name}: the ratio ${one.median} is below the lowest of the recorded rounds, ${then.least} to ${then.most}`,
    ];
  });
  return { note: same ? `compared with ${about}` : `another machine than ${about}: read with care`, fallen: sentences };
}
