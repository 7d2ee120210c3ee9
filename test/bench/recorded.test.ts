import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { judge, record } from './recorded.ts';
import type { Compared } from './report.ts';

const file = pathToFileURL(join(tmpdir(), `recorded-${process.pid}.json`));
afterAll(() => rmSync(file, { force: true }));

/** A comparison whose rounds have these ratios. */
const row = (name: string, ...ratios: readonly number[]): Compared => ({
  name,
  against: undefined,
  ours: ratios,
  peer: ratios.map(() => 1),
  p99: [1, 1],
});

it('a ratio has fallen below three quarters of the recorded rounds, and a row without a record is named', () => {
  expect(judge([row('contact', 2)], file)).toEqual({
    notes: ['not recorded, so not judged: contact. Record with --record.'],
    fallen: [],
  });
  record([row('contact', 1.5, 1.6, 1.7, 1.8, 1.9), row('note', 1, 1, 1, 1, 1)], file);
  expect(judge([row('contact', 1.6)], file).fallen).toEqual([]);
  expect(judge([row('contact', 1, 1.55, 1.59, 1.9, 3)], file).fallen).toEqual([
    'contact: the ratio is 1.59. It was 1.7, and three quarters of the rounds were above 1.6.',
  ]);
  record([row('contact', 1)], file);
  expect(judge([row('contact', 1), row('note', 0.9)], file).fallen).toHaveLength(1);
});
