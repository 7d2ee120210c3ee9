import { expect, test } from 'vitest';
import { Repeats } from '../../../src/sources/reader/repeats.ts';
import type { Change } from '../../../src/sources/source.ts';

const note = (row: number, visitor: string, text: string): Change => ({
  from: `notes/${row}`,
  record: { type: 'note', external_id: `${row}:${visitor}`, text },
});

test('a row that an earlier round told is left out, until it changes or one of its records does', () => {
  const repeats = new Repeats();
  const first = [note(1, 'a', 'x'), note(1, 'b', 'x'), note(2, 'a', 'y')];
  expect(repeats.without(first)).toEqual(first);
  expect(repeats.without(first)).toEqual([]);
  repeats.endRound();
  expect(repeats.without(first)).toEqual([]);
  // All records of a row go together, because the rejects of a row are replaced together.
  const changed = [note(1, 'a', 'x'), note(1, 'b', 'z')];
  expect(repeats.without([...changed, note(2, 'a', 'y')])).toEqual(changed);
  expect(repeats.without(first.slice(0, 2))).toEqual(first.slice(0, 2));
});

test('a row outside of the window, a row that was told in another way, and all rows after a load are told again', () => {
  const repeats = new Repeats();
  const [one, two] = [note(1, 'a', 'x'), note(2, 'a', 'y')];
  repeats.without([one, two]);
  repeats.endRound();
  repeats.without([two]);
  repeats.endRound();
  expect(repeats.without([one, two])).toEqual([one]);
  repeats.forget(['notes/2']);
  expect(repeats.without([one, two])).toEqual([two]);
  repeats.forget();
  expect(repeats.without([one, two])).toEqual([one, two]);
});

test('a row of 40,000 records is looked at in less than 3 s', () => {
  const changes = Array.from({ length: 40_000 }, (_, n) => note(1, `${n}`, 'x'));
  const began = performance.now();
  const told = new Repeats().without(changes);
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(told).toEqual(changes);
});
