import { crc32, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js';
import { describe, expect, test } from 'vitest';
import { languages } from '../../../src/sources/demo/dialogues/index.ts';
import { demoRecords } from '../../../src/sources/demo/index.ts';
import { parseRecord } from '../../../src/sources/engine/parse-record.ts';
import type { ImportRecord, RecordType } from '../../../src/sources/engine/records.ts';
import { REFERENCES } from '../../support/references.ts';

const now = new Date('2026-11-21T12:00:00Z');
const records = demoRecords({ seed: 1, now });

type Of<T extends RecordType> = Extract<ImportRecord, { type: T }>;
const isOf =
  <T extends RecordType>(type: T) =>
  (record: ImportRecord): record is Of<T> =>
    record.type === type;
const of = <T extends RecordType>(type: T): Of<T>[] => records.filter(isOf(type));
const count = <T>(items: readonly T[]): Map<T, number> =>
  items.reduce((all, item) => all.set(item, (all.get(item) ?? 0) + 1), new Map<T, number>());
const some = <T>(items: readonly T[], test: (item: T) => boolean): number => items.filter(test).length;

describe('demo records', () => {
  test('parse with their schemas and have ids of their own', () => {
    for (const record of records) expect(parseRecord(JSON.parse(JSON.stringify(record)))).toEqual({ ok: true, record });
    expect(new Set(records.map(({ type, external_id }) => `${type} ${external_id}`)).size).toBe(records.length);
  });

  test('are the same for the same seed and clock, and others otherwise', () => {
    expect(demoRecords({ seed: 1, now })).toEqual(records);
    expect(demoRecords({ seed: 2, now })).not.toEqual(records);
  });

  test('refer only to records that exist, on the same website', () => {
    const known = new Map(records.map((record) => [`${record.type} ${record.external_id}`, record]));
    const siteOf = (record: ImportRecord | undefined): string | undefined => {
      if (record === undefined || record.type === 'operator' || record.type === 'website') return undefined;
      if ('website' in record) return record.website;
      if ('conversation' in record) return siteOf(known.get(`conversation ${record.conversation}`));
      if ('visitor' in record) return siteOf(known.get(`visitor ${record.visitor}`));
      return undefined;
    };
    let checked = 0;
    for (const record of records) {
      for (const { member, to, authorTypes } of REFERENCES[record.type]) {
        if (record.type === 'message' && authorTypes !== undefined && !authorTypes.includes(record.author_type))
          continue;
        const value: unknown = Object.getOwnPropertyDescriptor(record, member)?.value;
        for (const id of [value].flat()) {
          if (id === undefined) continue;
          checked += 1;
          const target = known.get(`${to} ${String(id)}`);
          expect(target, `${record.type} ${record.external_id} ${member}`).toBeDefined();
          const [own, other] = [siteOf(record), siteOf(target)];
          if (own !== undefined && other !== undefined) expect(other).toBe(own);
        }
      }
    }
    expect(checked).toBeGreaterThan(6000);
  });

  test('lie in the last 45 days in order, whatever seed and clock', () => {
    const clock = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(fc.integer(), clock, (seed, when) => {
        const made = demoRecords({ seed, now: when });
        const conversations = made.filter(isOf('conversation'));
        expect(conversations).toHaveLength(400);
        const starts = conversations.map(({ created_at }) => Date.parse(created_at));
        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
        expect(Math.min(...starts)).toBeGreaterThanOrEqual(when.getTime() - 45 * 86_400_000);
        for (const record of made) {
          for (const member of ['created_at', 'updated_at', 'edited_at', 'closed_at', 'last_seen_at']) {
            const value: unknown = Object.getOwnPropertyDescriptor(record, member)?.value;
            if (typeof value === 'string') expect(Date.parse(value)).toBeLessThanOrEqual(when.getTime());
          }
        }
        const replies = new Map(made.filter(isOf('message')).map((one) => [one.external_id, one]));
        for (const { in_reply_to, created_at, conversation } of replies.values()) {
          if (in_reply_to === undefined) continue;
          expect(replies.get(in_reply_to)?.conversation).toBe(conversation);
          expect(Date.parse(replies.get(in_reply_to)?.created_at ?? '')).toBeLessThan(Date.parse(created_at));
        }
      }),
      { numRuns: 8 },
    );
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
    expect(
      some(conversations, ({ created_at }) => now.getTime() - Date.parse(created_at) < 86_400_000),
    ).toBeGreaterThan(8);
    const dispositions = new Set(of('disposition').map(({ website, value }) => `${website} ${value}`));
    for (const { website, disposition } of conversations) {
      if (disposition !== undefined) expect(dispositions).toContain(`${website} ${disposition}`);
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
    expect(messages.filter(({ text }) => text !== undefined && /\{\w+\}/.test(text))).toEqual([]);
    expect(
      messages.filter(({ text, kind, redacted }) => (text === undefined) !== (kind === 'attachment_only' || redacted)),
    ).toEqual([]);
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
    expect(
      some(features, ({ versions }) => versions.some(({ active }) => active) && versions.some(({ active }) => !active)),
    ).toBeGreaterThan(8);
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
    expect(languages).toHaveLength(10);
    expect(languages.reduce((sum, { us, eu }) => sum + us + eu, 0)).toBe(400);
    for (const { dialogues } of languages) {
      expect(dialogues.scripts.length).toBeGreaterThanOrEqual(6);
      for (const { turns } of dialogues.scripts) expect(turns.length).toBeGreaterThanOrEqual(4);
    }
  });
});

describe('demo files', () => {
  const files = of('file').map((file) => ({ file, bytes: Buffer.from(file.content_base64 ?? '', 'base64') }));
  const typed = (type: string): Buffer[] =>
    files.filter(({ file }) => file.media_type.startsWith(type)).map(({ bytes }) => bytes);

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
      const chunks = new Map<string, Buffer>();
      for (let at = 8; at < png.length; ) {
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
