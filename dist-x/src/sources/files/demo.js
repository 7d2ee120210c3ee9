import { createReadStream } from 'node:fs';
import { packageRoot } from '../../config/package.js';
import { blocksOf } from './lines.js';
const DAY = 86_400_000;
/** The current time of the demo's files. resources/demo/generate.mjs has the same time. */
const WRITTEN = Date.parse('2026-11-15T12:00:00Z');
/** Between the long past and the last hours of the files: at this time no conversation is under way. */
const LAST_HOURS = Date.parse('2026-11-15T07:00:00Z');
/**
 * Reads the records of the fictional demo organization, with times as if the files were written at `now`. Times move by
 * whole days, so that every conversation keeps its time of day. Only the last hours and the future move by the exact
 * difference, so that some conversations are active at `now`. No conversation has a time after `now`.
 */
export async function* demoRecords(now) {
    const exact = now.getTime() - WRITTEN;
    const days = Math.floor(exact / DAY) * DAY;
    for (const name of ['organization', 'conversations']) {
        const bytes = createReadStream(new URL(`resources/demo/${name}.ndjson`, packageRoot));
        for await (const { lines } of blocksOf(bytes, 0)) {
            for (const { text } of lines)
                yield JSON.parse(moved(text ?? '', exact, days));
        }
    }
}
/** Moves the times of a line, and the days in its texts. `{2026-11-04 M/D}` stands for a day and its written form. */
function moved(line, exact, days) {
    return line
        .replaceAll(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, text) => {
        const time = Date.parse(text);
        return JSON.stringify(new Date(time + (time > LAST_HOURS ? exact : days)));
    })
        .replaceAll(/\{(\d{4}-\d\d-\d\d) ([^}]+)\}/g, (_, text, form) => {
        const day = new Date(Date.parse(text) + days);
        const part = (letters) => (letters.startsWith('D') ? day.getUTCDate() : day.getUTCMonth() + 1);
        return form.replaceAll(/DD?|MM?/g, (letters) => String(part(letters)).padStart(letters.length, '0'));
    });
}
//# sourceMappingURL=demo.js.map