import { execFile } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { crc32, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../../../src/config/package.js';
import { parseRecord } from '../../../src/sources/engine/parse-record.js';
import { demoAt } from '../../support/demo.js';
import { DEMO_NOW } from '../../support/postgres.js';
import { REFERENCES } from '../../support/references.js';
import { scratch } from '../../support/scratch.js';
const DAY = 86_400_000;
const now = new Date('2026-11-21T12:00:00Z');
const records = await demoAt(now);
const folder = fileURLToPath(new URL('resources/demo', packageRoot));
const isOf = (type) => (record) => record.type === type;
const of = (type) => records.filter(isOf(type));
const count = (items) => items.reduce((all, item) => all.set(item, (all.get(item) ?? 0) + 1), new Map());
const some = (items, test) => items.filter(test).length;
const Texts = z.object({
    languages: z.array(z.object({ us: z.number(), eu: z.number(), scripts: z.array(z.object({ turns: z.array(z.string()) })) })),
});
describe('demo records', () => {
    test('parse with their schemas and have ids of their own', () => {
        expect(records.map((record) => parseRecord(JSON.parse(JSON.stringify(record))))).toEqual(records.map((record) => ({ ok: true, record })));
        expect(new Set(records.map(({ type, external_id }) => `${type} ${external_id}`)).size).toBe(records.length);
    });
    test('are the same for the same clock, and others otherwise', async () => {
        expect(await demoAt(now)).toEqual(records);
        expect(await demoAt(new Date(now.getTime() + 1))).not.toEqual(records);
    });
    test('are what the files say, at the time of the files', async () => {
        const lines = ['organization', 'conversations'].flatMap((name) => readFileSync(join(folder, `${name}.ndjson`), 'utf8')
            .trimEnd()
            .split('\n'));
        const told = lines.map((line) => JSON.parse(line));
        const made = await demoAt(DEMO_NOW);
        expect(made).toHaveLength(told.length);
        expect(made).toMatchObject(told.map(({ text: _, ...rest }) => rest));
        let named = 0;
        const absent = told.flatMap(({ text }, i) => {
            if (typeof text !== 'string')
                return [];
            const around = text.split(/\{\d{4}-\d\d-\d\d [^}]+\}/);
            named += around.length - 1;
            const written = String(Object.getOwnPropertyDescriptor(made[i], 'text')?.value);
            return around.filter((part) => !written.includes(part));
        });
        expect(absent).toEqual([]);
        expect(named).toBeGreaterThan(150);
    });
    test('refer only to records that exist, on the same website', () => {
        const known = new Map(records.map((record) => [`${record.type} ${record.external_id}`, record]));
        const siteOf = (record) => {
            if (record === undefined || record.type === 'operator' || record.type === 'website')
                return undefined;
            if ('website' in record)
                return record.website;
            if ('conversation' in record)
                return siteOf(known.get(`conversation ${record.conversation}`));
            if ('visitor' in record)
                return siteOf(known.get(`visitor ${record.visitor}`));
            return undefined;
        };
        let checked = 0;
        const wrong = [];
        for (const record of records) {
            for (const { member, to, authorTypes } of REFERENCES[record.type]) {
                if (record.type === 'message' && authorTypes !== undefined && !authorTypes.includes(record.author_type))
                    continue;
                const value = Object.getOwnPropertyDescriptor(record, member)?.value;
                for (const id of [value].flat()) {
                    if (id === undefined)
                        continue;
                    checked += 1;
                    const target = known.get(`${to} ${String(id)}`);
                    const [own = '', other = own] = [siteOf(record), siteOf(target)];
                    if (target === undefined || (own !== '' && other !== own))
                        wrong.push(`${record.type} ${record.external_id} ${member}`);
                }
            }
        }
        expect(wrong).toEqual([]);
        expect(checked).toBeGreaterThan(6000);
    });
    test('a conversation moves as one: by whole days, or exactly if it belongs to the last hours', async () => {
        const moved = async (when) => {
            const before = await demoAt(DEMO_NOW);
            const after = new Map((await demoAt(when)).map((record) => [`${record.type} ${record.external_id}`, record]));
            const moves = new Map();
            for (const record of before) {
                if (!isOf('conversation')(record) && !isOf('message')(record) && !isOf('file')(record))
                    continue;
                const [conversation = ''] = /^cnv-\d+/.exec(record.external_id) ?? [];
                const same = after.get(`${record.type} ${record.external_id}`) ?? {};
                for (const [member, value] of Object.entries(record)) {
                    if (!member.endsWith('_at'))
                        continue;
                    const now = Object.getOwnPropertyDescriptor(same, member)?.value;
                    const by = Date.parse(String(now)) - Date.parse(String(value));
                    moves.set(conversation, (moves.get(conversation) ?? new Set()).add(by));
                }
            }
            expect([...moves.values()].filter(({ size }) => size !== 1)).toEqual([]);
            return count([...moves.values()].flatMap((all) => [...all]));
        };
        const part = 7 * 3_600_000 + 25 * 60_000;
        expect(await moved('2026-11-18T19:25:00Z')).toEqual(new Map([
            [3 * DAY, 387],
            [3 * DAY + part, 13],
        ]));
        expect(await moved('2026-11-14T19:25:00Z')).toEqual(new Map([
            [-DAY, 387],
            [part - DAY, 13],
        ]));
    });
    test('name the days that their time makes right, each in the form of its language', async () => {
        const named = async (when) => {
            const messages = (await demoAt(when)).filter(isOf('message'));
            return ['cnv-0001-3', 'cnv-0006-4', 'cnv-0009-3', 'cnv-0012-3', 'cnv-0026-1'].map((id) => {
                const text = messages.find(({ external_id }) => external_id === id)?.text ?? '';
                return /(?:z dnia|blijft op|Reist am|On|LO-94391は)\s*(\d\S*?)(?:,|\.$|に届く)/.exec(text)?.[1] ?? text;
            });
        };
        expect(await named(DEMO_NOW)).toEqual(['20.09', '8-10', '6.10.', '9/20', '9月21日']);
        // 166 days and 23 hours later.
        expect(await named('2027-05-01T11:00:00Z')).toEqual(['05.03', '23-3', '21.3.', '3/5', '3月6日']);
    });
    test('lie in the last 45 days in order, whatever clock', async () => {
        const clock = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });
        await fc.assert(fc.asyncProperty(clock, async (when) => {
            const made = await demoAt(when);
            const conversations = made.filter(isOf('conversation'));
            expect(conversations).toHaveLength(400);
            const starts = conversations.map(({ created_at }) => Date.parse(created_at));
            expect(starts).toEqual(starts.toSorted((a, b) => a - b));
            expect(Math.min(...starts)).toBeGreaterThanOrEqual(when.getTime() - 45 * DAY);
            expect(starts.filter((start) => when.getTime() - start < DAY).length).toBeGreaterThan(8);
            const times = ['created_at', 'updated_at', 'edited_at', 'closed_at', 'last_seen_at'];
            const later = made.flatMap((record) => times
                .map((member) => String(Object.getOwnPropertyDescriptor(record, member)?.value))
                .filter((value) => Date.parse(value) > when.getTime()));
            expect(later).toEqual([]);
            const messages = new Map(made.filter(isOf('message')).map((one) => [one.external_id, one]));
            const apart = [...messages.values()].filter(({ in_reply_to, created_at, conversation }) => {
                if (in_reply_to === undefined)
                    return false;
                const first = messages.get(in_reply_to);
                return first?.conversation !== conversation || !(Date.parse(first.created_at) < Date.parse(created_at));
            });
            expect(apart).toEqual([]);
        }), { numRuns: 8 });
    });
});
describe('the demo organization has', () => {
    test('two websites, four platforms, every role, a disabled operator', () => {
        expect(of('website').map((site) => [site.time_zone, site.crm_integrated])).toEqual([
            ['America/New_York', false],
            ['Europe/Berlin', true],
        ]);
        expect(new Set(of('channel').map(({ platform }) => platform)).size).toBe(4);
        expect(new Set(of('operator').map(({ role }) => role)).size).toBe(4);
        expect(some(of('operator'), ({ enabled }) => !enabled)).toBe(1);
    });
    test('400 conversations in ten languages and every status', () => {
        const conversations = of('conversation');
        expect(conversations).toHaveLength(400);
        expect(count(conversations.flatMap(({ language }) => language ?? [])).size).toBe(10);
        expect(count(conversations.map(({ status }) => status)).size).toBe(7);
        expect(some(conversations, ({ rating }) => rating !== undefined)).toBeGreaterThan(50);
        expect(some(conversations, ({ disposition }) => disposition !== undefined)).toBeGreaterThan(150);
        expect(some(conversations, ({ created_at }) => now.getTime() - Date.parse(created_at) < DAY)).toBeGreaterThan(8);
        const dispositions = new Set(of('disposition').map(({ website, value }) => `${website} ${value}`));
        for (const { website, disposition } of conversations) {
            if (disposition !== undefined)
                expect(dispositions).toContain(`${website} ${disposition}`);
        }
    });
    test('messages of every kind, author, visibility and delivery status', () => {
        const messages = of('message');
        expect(count(messages.map(({ kind }) => kind)).size).toBe(6);
        expect(count(messages.map(({ author_type }) => author_type)).size).toBe(4);
        expect(count(messages.map(({ delivery_status }) => delivery_status)).size).toBe(5);
        expect(some(messages, ({ visibility }) => visibility === 'internal')).toBeGreaterThan(60);
        expect(some(messages, ({ redacted }) => redacted)).toBeGreaterThan(2);
        expect(some(messages, ({ edited_at }) => edited_at !== undefined)).toBeGreaterThan(5);
        expect(some(messages, ({ ai_feature }) => ai_feature !== undefined)).toBeGreaterThan(200);
        expect(some(messages, ({ in_reply_to }) => in_reply_to !== undefined)).toBeGreaterThan(80);
        expect(some(messages, ({ text = '' }) => text.length > 32_768)).toBe(1);
        expect(messages.filter(({ text }) => text !== undefined && /\{[^}]*\}/.test(text))).toEqual([]);
        expect(messages.filter(({ text, kind, redacted }) => (text === undefined) !== (kind === 'attachment_only' || redacted))).toEqual([]);
    });
    test('contacts and visitors with and without each other, blocked and deleted', () => {
        const contacts = of('contact');
        const visitors = of('visitor');
        const linked = new Set(visitors.flatMap((one) => one.contacts));
        expect(some(contacts, ({ external_id }) => !linked.has(external_id))).toBeGreaterThan(10);
        expect(some(visitors, (one) => one.contacts.length === 0)).toBeGreaterThan(10);
        expect(some(visitors, (one) => one.contacts.length > 1)).toBeGreaterThan(2);
        expect(some(contacts, ({ blocked }) => blocked)).toBeGreaterThan(2);
        expect(some(contacts, ({ deleted }) => deleted)).toBeGreaterThan(2);
        expect(some(visitors, ({ blocked }) => blocked)).toBeGreaterThan(1);
        const numbers = contacts.flatMap(({ mobile, phone }) => [mobile, phone]).filter((one) => one !== undefined);
        const parsed = some(numbers, (one) => parsePhoneNumberFromString(one)?.isPossible() === true);
        expect(parsed / numbers.length).toBeGreaterThan(0.7);
        expect(parsed).toBeLessThan(numbers.length - 10);
    });
    test('every AI feature type, with active and inactive versions', () => {
        const features = of('ai_feature');
        const [first] = of('website');
        const onFirst = features.filter(({ website }) => website === first?.external_id);
        expect(new Set(onFirst.map(({ ai_type }) => ai_type)).size).toBe(16);
        expect(features.length - onFirst.length).toBeGreaterThan(3);
        expect(some(features, ({ versions }) => versions.some(({ active }) => active) && versions.some(({ active }) => !active))).toBeGreaterThan(8);
        expect(some(features, ({ versions }) => !versions.some(({ active }) => active))).toBe(1);
        const results = of('ai_result');
        expect(results.length).toBeGreaterThan(100);
        expect(new Set(results.map(({ outcome }) => outcome)).size).toBe(3);
    });
    test('a catalogue with every scope, kind and status', () => {
        expect(new Set(of('saved_response').map(({ language }) => language)).size).toBe(3);
        expect(new Set(of('saved_response').map(({ scope }) => scope)).size).toBe(4);
        expect(new Set(of('saved_link').map(({ kind }) => kind)).size).toBe(3);
        expect(new Set(of('offer').map(({ status }) => status)).size).toBe(4);
        expect(some(of('disposition'), ({ enabled }) => !enabled)).toBe(2);
        expect(of('note').length).toBeGreaterThan(50);
    });
    test('at least six scripts in each language, together 400 conversations', () => {
        const { languages } = Texts.parse(JSON.parse(readFileSync(join(folder, 'texts.json'), 'utf8')));
        expect(languages).toHaveLength(10);
        expect(languages.reduce((sum, { us, eu }) => sum + us + eu, 0)).toBe(400);
        for (const { scripts } of languages) {
            expect(scripts.length).toBeGreaterThanOrEqual(6);
            for (const { turns } of scripts)
                expect(turns.length).toBeGreaterThanOrEqual(4);
        }
    });
});
describe('the script of the demo', () => {
    const run = (place, ...args) => promisify(execFile)(process.execPath, [join(place, 'generate.mjs'), ...args]);
    test('gives the file, and finds a file that is not what the texts give', async () => {
        await run(folder, '--check');
        const copy = join(scratch('demo'), 'demo');
        cpSync(folder, copy, { recursive: true });
        const texts = join(copy, 'texts.json');
        writeFileSync(texts, readFileSync(texts, 'utf8').replace('Harriet', 'Henriette'));
        await expect(run(copy, '--check')).rejects.toMatchObject({
            code: 1,
            stderr: expect.stringContaining('node resources/demo/generate.mjs'),
        });
        await run(copy);
        const written = readFileSync(join(copy, 'conversations.ndjson'), 'utf8');
        expect(written).toBe(readFileSync(join(folder, 'conversations.ndjson'), 'utf8').replaceAll('Harriet', 'Henriette'));
        rmSync(join(copy, '..'), { recursive: true });
    });
});
describe('demo files', () => {
    const files = of('file').map((file) => ({ file, bytes: Buffer.from(file.content_base64 ?? '', 'base64') }));
    const typed = (type) => files.filter(({ file }) => file.media_type.startsWith(type)).map(({ bytes }) => bytes);
    test('are of several types, two of them longer than one chunk', () => {
        expect(files.length).toBeGreaterThan(40);
        expect(files.length).toBeLessThan(200);
        expect([...count(files.map(({ file }) => file.media_type)).keys()].toSorted()).toEqual([
            'application/pdf',
            'audio/wav',
            'image/png',
            'text/csv',
            'text/plain; charset=utf-8',
        ]);
        expect(some(files, ({ bytes }) => bytes.length > 2 * 65_536 && bytes.length < 3 * 65_536)).toBe(2);
    });
    test('PNG: signature, checksums, and as many pixels as the header says', () => {
        const pngs = typed('image/png');
        expect(pngs.length).toBeGreaterThan(5);
        for (const png of pngs) {
            expect(png.subarray(0, 8)).toEqual(Buffer.from('89504e470d0a1a0a', 'hex'));
            const chunks = new Map();
            for (let at = 8; at < png.length;) {
                const end = at + 8 + png.readUInt32BE(at);
                expect(png.readUInt32BE(end)).toBe(crc32(png.subarray(at + 4, end)));
                chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, end));
                at = end + 4;
            }
            expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND']);
            const header = chunks.get('IHDR') ?? Buffer.alloc(13);
            const pixels = inflateSync(chunks.get('IDAT') ?? Buffer.alloc(0));
            expect(pixels.length).toBe(header.readUInt32BE(4) * (1 + header.readUInt32BE(0) * 3));
        }
    });
    test('PDF: every cross-reference leads to its object, the stream is as long as it says', () => {
        const pdfs = typed('application/pdf').map((bytes) => bytes.toString('latin1'));
        expect(pdfs.length).toBeGreaterThan(5);
        for (const pdf of pdfs) {
            expect(pdf).toMatch(/^%PDF-1\.4\n/);
            const start = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(pdf)?.[1]);
            expect(pdf.slice(start, start + 5)).toBe('xref\n');
            const entries = [...pdf.slice(start).matchAll(/^(\d{10}) 00000 n $/gm)];
            expect(entries).toHaveLength(5);
            entries.forEach(([, offset], i) => {
                expect(pdf.slice(Number(offset)).startsWith(`${i + 1} 0 obj\n`)).toBe(true);
            });
            const [, length, stream = ''] = /\/Length (\d+) >>\nstream\n([\s\S]*?)endstream/.exec(pdf) ?? [];
            expect(stream.length).toBe(Number(length));
        }
    });
});
//# sourceMappingURL=demo.test.js.map