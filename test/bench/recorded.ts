import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.ts';
import { type Compared, median, ratios } from './report.ts';

/**
 * The ratios of the last runs with `--record`, in recorded.json. A ratio has fallen if all its rounds now are below all
 * rounds then. Without a change, that happens once in 252 times to one ratio of five rounds. To see a smaller fall than the
 * spread of the rounds, run both versions in turn. Another version of Node or number of cores is only told.
 */
const Record = z.object({
  node: z.string(),
  cores: z.int(),
  date: z.iso.date(),
  ratios: z.record(z.string(), z.object({ median: z.number(), least: z.number(), most: z.number() })),
});
type BenchRecord = z.infer<typeof Record>;

const FILE = new URL('test/bench/recorded.json', packageRoot);
const NODE = process.version.replace(/\..*/, '');

function recordOf(compared: readonly Compared[]): BenchRecord {
  const round = (value: number): number => Math.round(value * 100) / 100;
  const each = compared.map((one) => {
    const all = ratios(one);
    const entry = { median: round(median(all)), least: round(Math.min(...all)), most: round(Math.max(...all)) };
    return [one.name, entry] as const;
  });
  const date = new Date().toISOString().slice(0, 10);
  return { node: NODE, cores: cpus().length, date, ratios: Object.fromEntries(each) };
}

const recorded = (file: URL): BenchRecord | undefined =>
  existsSync(file) ? Record.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;

/** Records the ratios. Rows that were not compared stay as they are. */
export function record(compared: readonly Compared[], file = FILE): void {
  const now = recordOf(compared);
  const all = { ...now, ratios: { ...recorded(file)?.ratios, ...now.ratios } };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}

/** A sentence for each ratio that has fallen. `notes` says with what it is compared, and what cannot be. */
export function judge(
  compared: readonly Compared[],
  file = FILE,
): { readonly notes: readonly string[]; readonly fallen: readonly string[] } {
  const before = recorded(file);
  const now = recordOf(compared);
  const about = before && `the record of ${before.date} (Node ${before.node}, ${before.cores} cores)`;
  const same = before?.node === now.node && before.cores === now.cores;
  const unknown = Object.keys(now.ratios).filter((name) => before?.ratios[name] === undefined);
  const fallen = Object.entries(now.ratios).flatMap(([name, one]) => {
    const then = before?.ratios[name];
    if (!then || one.most >= then.least) return [];
    return [
      `${name}: the ratio is ${one.median} (${one.least} to ${one.most}). It was ${then.median} (${then.least} to ${then.most}).`,
    ];
  });
  const notes = [
    ...(about === undefined ? [] : [same ? `compared with ${about}` : `read with care: ${about} is another machine's`]),
    ...(unknown.length === 0 ? [] : [`not recorded, so not judged: ${unknown.join(', ')}. Record with --record.`]),
  ];
  return { notes, fallen };
}
