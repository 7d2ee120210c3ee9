import type { Change } from '../source.ts';
import { isErased } from './digests.ts';
import { type Problem, parseRecord, parseSourceRecord, UNREADABLE } from './parse-record.ts';
import { type ImportRecord, RECORD_TYPES, type RecordType, type SourceFile } from './records.ts';
import { rowOf, type StagedRow, type StoredContent } from './row.ts';

/** A file whose content must be read before it becomes a row. */
export type FileRecord = Extract<ImportRecord, { type: 'file' }> | SourceFile;

export type Prepared =
  | { readonly row: StagedRow }
  | { readonly file: FileRecord }
  | { readonly refused: readonly Problem[]; readonly type: RecordType | '' };

/** A record with such an id could fill or remove the shell that an erasure leaves. */
const RESERVED: readonly Problem[] = [{ pointer: '/external_id', code: 'invalid_value' }];

/** Checks and converts one record. Never throws. */
export function prepareRecord(json: unknown, live: boolean): Prepared {
  try {
    const parsed = live ? parseSourceRecord(json) : parseRecord(json);
    if (!parsed.ok) return { refused: parsed.problems, type: typeOf(json) };
    const { record } = parsed;
    if (isErased(record.external_id)) return { refused: RESERVED, type: record.type };
    if (record.type === 'file' && (!('size' in record) || record.path !== undefined)) return { file: record };
    return { row: rowOf(record) };
  } catch {
    return unreadable(json);
  }
}

/** Makes the row of a file. `content` is undefined if it cannot be read. */
export function prepareFile(file: FileRecord, content: StoredContent | undefined): Prepared {
  try {
    return { row: rowOf(file, content) };
  } catch {
    return unreadable(file);
  }
}

/** Checks and converts a change of a source. */
export function prepareChange(change: Exclude<Change, { only: unknown }>): Prepared {
  if ('prepared' in change) return change.prepared;
  if ('gone' in change) return prepareRecord({ type: 'delete', ...change.gone }, true);
  return prepareRecord(change.record, true);
}

const unreadable = (json: unknown): Prepared => ({ refused: UNREADABLE, type: typeOf(json) });

function typeOf(json: unknown): RecordType | '' {
  const named = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
  return RECORD_TYPES.find((type) => type === named) ?? '';
}
