import { countRows, readRejects, readSources, type SourceRecord } from '../store/administration/sources.ts';
import type { Database } from '../store/driver/postgres.ts';
import { Refused } from './output.ts';
import type { SourceDetails } from './source-view.ts';
import { plain } from './text.ts';

/** The number of rejects that are shown. */
const SHOWN = 5;

export async function source(db: Database, id: string): Promise<SourceRecord> {
  const [record] = await readSources(db, id);
  if (!record) throw new Refused(`There is no source ${JSON.stringify(plain(id))}.`);
  return record;
}

export async function detailsOf(db: Database, record: SourceRecord): Promise<SourceDetails> {
  const [rows, examples] = await Promise.all([
    record.site === null ? {} : countRows(db, record.tenant, record.site),
    readRejects(db, record.id, SHOWN),
  ]);
  return { rows, examples };
}
