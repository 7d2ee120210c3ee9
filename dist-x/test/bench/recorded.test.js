import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { judge, record } from './recorded.js';
const file = pathToFileURL(join(tmpdir(), `recorded-${process.pid}.json`));
afterAll(() => rmSync(file, { force: true }));
/** A comparison whose rounds have these ratios. */
const row = (name, ...ratios) => ({
    name,
    against: undefined,
    ours: ratios,
    peer: ratios.map(() => 1),
    p99: [1, 1],
});
it('a ratio has fallen if all its rounds are below all recorded ones, and a row without a record is named', () => {
    expect(judge([row('contact', 2)], file)).toEqual({
        notes: ['contact: not recorded, so not judged. Record with --record.'],
        fallen: [],
    });
    record([row('contact', 1.5, 1.6, 1.9), row('note', 1, 1, 1)], file);
    expect(judge([row('contact', 1, 1.1, 1.5)], file)).toEqual({ notes: [], fallen: [] });
    const date = new Date().toISOString().slice(0, 10);
    expect(judge([row('contact', 1, 1.1, 1.4)], file)).toEqual({
        notes: [],
        fallen: [`contact: the ratio is 1.1 (1 to 1.4). On ${date} it was 1.6 (1.5 to 1.9).`],
    });
});
it('a row that is not recorded again keeps its ratio and its machine', () => {
    record([row('contact', 1), row('note', 1)], file);
    const all = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...all, note: { ...all.note, node: 'v99', cores: 64 } }));
    record([row('contact', 1)], file);
    const { notes, fallen } = judge([row('contact', 1), row('note', 0.9)], file);
    expect(notes).toEqual(['note: read with care, because the record is of Node v99 on 64 cores.']);
    expect(fallen).toHaveLength(1);
});
//# sourceMappingURL=recorded.test.js.map