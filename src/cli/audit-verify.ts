import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { verifyAudit } from '../audit/verify.ts';
import { openGivenKeys } from '../auth/key-file.ts';
import { jsonOf } from '../core/json.ts';
import { type AuditHead, auditDays } from '../store/audit/verify.ts';
import type { RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { Refused, table } from './output.ts';

interface VerifyOptions {
  readonly day?: string;
  readonly from?: string;
  readonly to?: string;
  readonly heads?: string;
}

const Heads = z.object({
  heads: z.array(
    z.object({
      writer: z.uuid(),
      day: z.iso.date(),
      seq: z.int().min(1),
      kid: z.string(),
      digest: z.string().regex(/^\\x[0-9a-f]{64}$/),
    }),
  ),
});

function day(value: string): string {
  if (!z.iso.date().safeParse(value).success) throw new InvalidArgumentError('Expected a day, such as 2026-11-15.');
  return value;
}

export function verifyCommand(group: Command, register: RunAction): void {
  const command = group
    .command('verify')
    .description('check that no audit record was altered, removed or inserted; exit code 1 with findings')
    .option('--day <DAY>', 'only the records of this UTC day', day)
    .option('--from <DAY>', 'first UTC day (default: the oldest that is kept)', day)
    .option('--to <DAY>', 'last UTC day (default: today)', day)
    .option('--heads <FILE>', 'the JSON document of an earlier verify, whose records must still be there');
  register(command, async ({ out, store, config }) => {
    const given = command.opts<VerifyOptions>();
    if (given.day !== undefined && (given.from !== undefined || given.to !== undefined))
      command.error("error: option '--day' contradicts '--from' and '--to'");
    const kept = given.heads === undefined ? [] : await readHeads(given.heads);
    existingStore(config);
    const keys = await openGivenKeys(config);
    const { db } = await store();
    const all = await auditDays(db);
    const days = { from: given.day ?? given.from ?? all.from, to: given.day ?? given.to ?? all.to };
    const within = { from: days.from < all.from ? all.from : days.from, to: days.to > all.to ? all.to : days.to };
    // No finding would read as if the records of these days were right.
    if (within.from > within.to)
      command.error(
        `error: there is nothing to check on these days: the store has records of ${all.from} to ${all.to}`,
      );
    const { records, heads, findings } = await verifyAudit(db, keys, within, kept, config.audit.days);
    const checked = `${records} audit records of ${heads.length} ${heads.length === 1 ? 'chain' : 'chains'}, from ${within.from} to ${within.to}`;
    out.result(
      { ...within, records, findings, heads },
      findings.length === 0
        ? `${checked}, no findings.`
        : `${checked}. Findings:\n\n${table(
            ['FINDING', 'DAY', 'WRITER', 'DETAIL'],
            findings.map((one) => [one.finding, one.day ?? '', one.writer ?? '', one.detail]),
          )}`,
    );
    if (findings.length > 0) process.exitCode = 1;
  });
}

async function readHeads(path: string): Promise<AuditHead[]> {
  const refused = new Refused('The file of --heads must be the JSON document that `audit verify --json` has printed.');
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Refused(`The file of --heads cannot be read (${code}).`);
  });
  const parsed = Heads.safeParse(jsonOf(text));
  if (!parsed.success) throw refused;
  return parsed.data.heads;
}
