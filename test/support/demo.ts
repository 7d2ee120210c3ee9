import { parseRecord } from '../../src/sources/engine/parse-record.ts';
import type { ImportRecord } from '../../src/sources/engine/records.ts';
import { demoRecords } from '../../src/sources/files/demo.ts';

/** The demo's records at `now`, as the import reads them. */
export async function demoAt(now: string | Date): Promise<ImportRecord[]> {
  const records: ImportRecord[] = [];
  for await (const json of demoRecords(new Date(now))) {
    const parsed = parseRecord(json);
    if (!parsed.ok) throw new Error(`${JSON.stringify(json).slice(0, 200)}: ${JSON.stringify(parsed.problems)}`);
    records.push(parsed.record);
  }
  return records;
}
