import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/core/sql.js';
import { clip, rfc3339 } from '../../src/core/view.js';
import { freshDatabase } from '../support/database.js';
let database;
beforeAll(async () => {
    database = await freshDatabase();
});
afterAll(() => database.close());
it('times read as text are the moments that were stored (the driver’s Dates are not, before the year 100)', async () => {
    const moments = fc.sample(fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }), 500);
    const rows = await database.db.query(sql `
    SELECT at::timestamptz::text AS text
      FROM unnest(${moments.map((moment) => moment.toISOString())}::text[]) WITH ORDINALITY AS m (at, n) ORDER BY n`);
    expect(rows.map(({ text }) => rfc3339(text))).toEqual(moments.map((moment) => moment.toISOString()));
    expect(rows).toHaveLength(500);
});
it('clipping keeps whole characters and never exceeds the maximum', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, max) => {
        const cut = clip(text, max);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(cut.isWellFormed()).toBe(true);
        expect(text.startsWith(cut)).toBe(true);
    }));
});
//# sourceMappingURL=view.test.js.map