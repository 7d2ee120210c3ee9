import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/surfaces/http/json.js';
/**
 * Checks HT-11 and MC-08: which JSON bodies the gateway accepts. The test writes each text itself, so it knows the
 * expected result without a parser. FC_SEED repeats a run.
 */
const seed = Number(process.env['FC_SEED'] ?? Math.floor(Date.now() % 2 ** 31));
process.stderr.write(`properties of JSON bodies: FC_SEED=${seed}\n`);
const DEPTH = 32;
const MEMBERS = 1_000;
const read = (text) => parseJson(Buffer.from(text));
/**
 * Generates a string and one way to write it in JSON. Each character is written directly, as a short escape, or as
 * \uXXXX.
 */
const spelled = (characters) => fc.array(fc.tuple(characters, fc.nat(2)), { maxLength: 6 }).map((parts) => {
    const value = parts.map(([character]) => character).join('');
    const text = parts
        .flatMap(([character, way]) => [...character].map((one) => [one, way]))
        .map(([one, way]) => {
        if (way === 0)
            return JSON.stringify(one).slice(1, -1);
        const hex = one
            .split('')
            .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
            .join('');
        return way === 1 ? hex : hex.toUpperCase().replaceAll('\\U', '\\u');
    });
    return { value, text: `"${text.join('')}"` };
});
/** Strings with brackets, quotes and backslashes, which a simple counter of characters would misread. */
const TRICKY = [
    ...['"', '\\', ':', ',', '{', '}', '[', ']', '/', 'a', 'b', ' ', '\n', '\u0000', '\u2028', 'é', '😀', '__proto__'],
];
const tricky = spelled(fc.constantFrom(...TRICKY));
/**
 * Only a few names of members are possible, so a name often occurs twice in an object. Some names are those of members
 * that every JavaScript object inherits.
 */
const key = fc.oneof(spelled(fc.constantFrom('a', 'b', ':', '"')), fc.constantFrom('__proto__', 'constructor', 'toString', '').map((value) => ({ value, text: JSON.stringify(value) })));
const good = (text) => ({ kind: 'leaf', text, good: true });
const leaf = fc.oneof(fc.constantFrom('null', 'true', 'false', '0', '-0', '1e5', '-1.5E-3', '9007199254740993', '1e-999').map(good), fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => good(JSON.stringify(value))), tricky.map(({ text }) => good(text)));
const bad = fc
    .constantFrom('1e999', '-1e999', '1e309', '9'.repeat(400), '"\\ud800"', '"a\\udfffb"', '"\\udc00\\ud800"', '"\\uD83D:"')
    .map((text) => ({ kind: 'leaf', text, good: false }));
const tree = (leaves) => fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 6, withCrossShrink: true }, leaves, fc.array(tie('node'), { maxLength: 4 }).map((items) => ({ kind: 'array', items })), fc.array(fc.tuple(key, tie('node')), { maxLength: 4 }).map((members) => ({ kind: 'object', members }))),
})).node;
const spaces = fc.constantFrom('', ' ', '\n', '\t\r ', '   ');
function write(node, space) {
    if (node.kind === 'leaf')
        return space + node.text + space;
    const inside = node.kind === 'array'
        ? node.items.map((item) => write(item, space))
        : node.members.map(([name, value]) => `${space}${name.text}${space}:${write(value, space)}`);
    const [open, close] = node.kind === 'array' ? '[]' : '{}';
    return `${space}${open}${space}${inside.join(',')}${close}${space}`;
}
const inner = (node) => node.kind === 'leaf' ? [] : node.kind === 'array' ? node.items : node.members.map(([, value]) => value);
function acceptable(node) {
    if (node.kind === 'leaf')
        return node.good;
    const names = node.kind === 'object' ? node.members.map(([name]) => name.value) : [];
    return new Set(names).size === names.length && inner(node).every(acceptable);
}
const run = (arbitrary, property, numRuns = 2_000) => fc.assert(fc.property(arbitrary, property), { seed, numRuns });
describe('HT-11 JSON bodies', () => {
    it('HT-11 reads whatever JSON.stringify has written, as JSON.parse does', () => {
        run(fc.jsonValue({ maxDepth: 8, stringUnit: 'grapheme' }), (value) => {
            const text = JSON.stringify(value);
            const parsed = read(text);
            expect(parsed).toBeDefined();
            expect(parsed?.value).toEqual(JSON.parse(text));
        });
    });
    it('HT-11 accepts a document if and only if no member is twice at any depth, however keys are spelled', () => {
        let refused = 0;
        run(fc.tuple(tree(leaf), spaces), ([node, space]) => {
            const text = write(node, space);
            const parsed = read(text);
            expect(parsed !== undefined, text).toBe(acceptable(node));
            if (parsed)
                expect(parsed.value).toEqual(JSON.parse(text));
            else
                refused++;
        });
        expect(refused).toBeGreaterThan(100);
    });
    it('HT-11 refuses a document with a number beyond a double or an unpaired surrogate anywhere', () => {
        let refused = 0;
        run(fc.tuple(tree(fc.oneof({ weight: 4, arbitrary: leaf }, { weight: 1, arbitrary: bad })), spaces), ([node, space]) => {
            const text = write(node, space);
            expect(read(text) !== undefined, text).toBe(acceptable(node));
            if (!acceptable(node))
                refused++;
        });
        expect(refused).toBeGreaterThan(100);
        for (const name of ['"\\ud800"', '"\\udfffa"', '"\\udc00\\ud800"']) {
            expect(read(`{${name}:1}`), name).toBeUndefined();
            expect(read(`[{"a":{${name}:1}}]`), name).toBeUndefined();
        }
    });
    it('HT-11 32 levels and no more, of arrays, objects and both, whatever strings stand among them', () => {
        run(fc.tuple(fc.array(fc.boolean(), { minLength: 1, maxLength: 64 }), tricky, spaces), ([levels, { text }, space]) => {
            const document = levels.reduceRight((inside, array) => (array ? `[${space}${text},${inside}]` : `{"k":${space}${text},"l":${inside}}`), text);
            expect(read(document) !== undefined, document).toBe(levels.length <= DEPTH);
        });
        for (const depth of [33, 10_000, 1_000_000]) {
            expect(read('['.repeat(depth))).toBeUndefined();
            expect(read('['.repeat(depth) + ']'.repeat(depth))).toBeUndefined();
            expect(read('{"a":'.repeat(depth))).toBeUndefined();
            expect(read(']'.repeat(depth) + '['.repeat(depth))).toBeUndefined();
        }
    });
    it('HT-11 1,000 members and no more, counted over the whole document', () => {
        const objects = (count, each) => {
            const members = Array.from({ length: each }, (_, i) => `"k${i}":":{"`).join(',');
            return `[${Array.from({ length: count }, () => `{${members}}`).join(',')}]`;
        };
        run(fc.tuple(fc.integer({ min: 1, max: 1_100 }), fc.integer({ min: 1, max: 1_100 })), ([count, each]) => {
            const fewer = Math.max(1, Math.min(count, Math.floor(2_200 / each)));
            expect(read(objects(fewer, each)) !== undefined).toBe(fewer * each <= MEMBERS);
        }, 200);
        for (const [count, each] of [
            [1, 1_000],
            [1_000, 1],
            [10, 100],
        ])
            expect(read(objects(count, each))).toBeDefined();
        for (const [count, each] of [
            [1, 1_001],
            [1_001, 1],
            [7, 143],
        ])
            expect(read(objects(count, each))).toBeUndefined();
        expect(read(`[${'0,'.repeat(20_000)}0]`)).toBeDefined();
    });
    it('HT-11 bytes that are not UTF-8, and a byte order mark, are refused; anything else never throws', () => {
        const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
        const utf8 = (bytes) => {
            try {
                strict.decode(bytes);
                return true;
            }
            catch {
                return false;
            }
        };
        run(fc.uint8Array({ maxLength: 64 }), (bytes) => {
            const parsed = parseJson(bytes);
            if (parsed)
                expect(parsed.value).toEqual(JSON.parse(Buffer.from(bytes).toString('utf8')));
        });
        // The random bytes are the content of a string, and no byte can end the string. The text is therefore valid JSON
        // exactly when the bytes are valid UTF-8.
        run(fc.uint8Array({ minLength: 1, maxLength: 4, min: 0x80 }), (bytes) => {
            const body = Buffer.concat([Buffer.from('"'), bytes, Buffer.from('"')]);
            expect(parseJson(body) !== undefined).toBe(utf8(bytes));
        });
        expect(parseJson(Buffer.from('\ufeff{}'))).toBeUndefined();
        expect(parseJson(new Uint8Array())).toBeUndefined();
    });
    it('HT-11 a text that is cut, doubled or has a character changed is read as JSON.parse reads it, or refused', () => {
        const change = fc.record({ at: fc.nat(), character: fc.constantFrom(...'"\\:,{}[]0a \n'), remove: fc.nat(2) });
        let accepted = 0;
        run(fc.tuple(tree(leaf), change), ([node, { at, character, remove }]) => {
            const text = write(node, '');
            const place = at % (text.length + 1);
            // Half of a surrogate pair has no encoding in UTF-8, so the gateway would receive U+FFFD in its place.
            const changed = (text.slice(0, place) + character + text.slice(place + remove)).toWellFormed();
            const parsed = read(changed);
            if (!parsed)
                return;
            accepted++;
            expect(parsed.value).toEqual(JSON.parse(changed));
        });
        expect(accepted).toBeGreaterThan(20);
    });
});
//# sourceMappingURL=json.test.js.map