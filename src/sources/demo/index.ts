import { parseRecord } from '../engine/parse-record.ts';
import type { ImportRecord, ImportRecordInput } from '../engine/records.ts';
import { catalogueRecords } from './catalogue.ts';
import { conversations } from './conversations.ts';
import { featureRecords } from './features.ts';
import { noteRecords } from './notes.ts';
import { organizationRecords } from './organization.ts';
import { plan } from './plan.ts';
import { Random } from './random.ts';

/**
 * Returns the records of the fictional demo organization in dependency order. The same seed and the same `now` always
 * give the same records. No record has a time after `now`.
 */
export function demoRecords(options: { seed: number; now: Date }): ImportRecord[] {
  const random = new Random(options.seed);
  const now = options.now.getTime();
  const { plans, population } = plan(random);
  const { records, presence } = conversations(random, plans, now);
  return [
    ...organizationRecords(),
    ...population.contacts(presence, now),
    ...population.visitors(presence, now),
    ...featureRecords(),
    ...catalogueRecords(options.now),
    ...records,
    ...noteRecords(random, population.people, presence, now),
  ].map(complete);
}

function complete(input: ImportRecordInput): ImportRecord {
  const result = parseRecord(Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)));
  if (!result.ok) throw new Error(`demo record ${input.external_id}: ${JSON.stringify(result.problems)}`);
  return result.record;
}
