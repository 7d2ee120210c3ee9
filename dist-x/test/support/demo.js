import { parseRecord } from '../../src/sources/engine/parse-record.js';
import { demoRecords } from '../../src/sources/files/demo.js';
/** The demo's records at `now`, as the import reads them. */
export async function demoAt(now) {
    const records = [];
    for await (const json of demoRecords(new Date(now))) {
        const parsed = parseRecord(json);
        if (!parsed.ok)
            throw new Error(`${JSON.stringify(json).slice(0, 200)}: ${JSON.stringify(parsed.problems)}`);
        records.push(parsed.record);
    }
    return records;
}
//# sourceMappingURL=demo.js.map