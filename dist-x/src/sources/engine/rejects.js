import { raw, sql } from '../../core/sql.js';
const PAGE = 5000;
export async function* storedRejects(db, { place: { reject } }) {
    let [seq, place] = [0, -1];
    for (;;) {
        const page = await db.query(sql `
      SELECT seq::float8 AS seq, place, file, line::float8 AS line, origin, pointer, code FROM ${raw(reject)}
       WHERE (seq, place) > (${seq}::bigint, ${place}::integer) ORDER BY seq, place LIMIT ${PAGE}`);
        const last = page.at(-1);
        if (last === undefined)
            return;
        yield page;
        ({ seq, place } = last);
    }
}
//# sourceMappingURL=rejects.js.map