import { isUtf8 } from 'node:buffer';
export const LINE_MAX = 16 * 1024 * 1024;
const LF = 10;
/**
 * Splits bytes into blocks of whole lines. `offset`: where in the source the bytes start. Does not keep lines longer
 * than 16 MiB in memory.
 */
export async function* blocksOf(bytes, offset) {
    let held = [];
    let size = 0;
    let skipping = false;
    let position = offset; // the offset of the first byte in `held`
    for await (const piece of bytes) {
        let chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
        const lines = [];
        if (skipping) {
            const end = chunk.indexOf(LF);
            position += end < 0 ? chunk.length : end + 1;
            if (end < 0)
                continue;
            chunk = chunk.subarray(end + 1);
            skipping = false;
            lines.push({ text: null, code: 'line_too_long' });
        }
        const last = chunk.lastIndexOf(LF);
        if (last >= 0) {
            const whole = Buffer.concat([...held, chunk.subarray(0, last + 1)]);
            decode(whole, position === 0, lines);
            position += whole.length;
            chunk = chunk.subarray(last + 1);
            held = [];
            size = 0;
        }
        if (chunk.length > 0) {
            held.push(chunk);
            size += chunk.length;
        }
        if (size > LINE_MAX) {
            position += size;
            held = [];
            size = 0;
            skipping = true;
        }
        if (lines.length > 0)
            yield { lines, end: position };
    }
    const rest = [];
    if (skipping)
        rest.push({ text: null, code: 'line_too_long' });
    else if (size > 0)
        decode(Buffer.concat(held), position === 0, rest);
    if (rest.length > 0)
        yield { lines: rest, end: position + size };
}
function decode(whole, first, into) {
    const body = whole.at(-1) === LF ? whole.subarray(0, -1) : whole;
    if (isUtf8(body) && body.length <= LINE_MAX) {
        const text = body.toString('utf8');
        for (const line of (first ? text.replace(/^\u{feff}/u, '') : text).split('\n'))
            into.push({ text: line });
        return;
    }
    // The block contains an invalid line, so each line is decoded alone.
    let start = 0;
    while (start <= body.length) {
        const found = body.indexOf(LF, start);
        const line = body.subarray(start, found < 0 ? body.length : found);
        if (line.length > LINE_MAX)
            into.push({ text: null, code: 'line_too_long' });
        else if (!isUtf8(line))
            into.push({ text: null, code: 'invalid_utf8' });
        else
            into.push({
                text: start === 0 && first ? line.toString('utf8').replace(/^\u{feff}/u, '') : line.toString('utf8'),
            });
        start += line.length + 1;
    }
}
//# sourceMappingURL=lines.js.map