import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { describe, expect, test } from 'vitest';
import { type ParsedRecord, parseRecord } from '../../../src/sources/engine/parse-record.ts';
import { RECORD_TYPES, recordJsonSchema, recordSchemas } from '../../../src/sources/engine/records.ts';
import { phoneToE164 } from '../../../src/sources/engine/text.ts';
import { REFERENCES } from '../../support/references.ts';

const northwind = new URL('../../../../shared/data/northwind-dev.ndjson', import.meta.url);

const contact = { type: 'contact', external_id: 'c1', website: 'w1', created_at: '2026-03-01T10:00:00Z' };
const message = {
  type: 'message',
  external_id: 'm1',
  conversation: 'k1',
  author_type: 'visitor',
  visibility: 'public',
  kind: 'text',
  created_at: '2026-03-01T10:00:00Z',
};
const file = {
  type: 'file',
  external_id: 'f1',
  message: 'm1',
  name: 'a.txt',
  media_type: 'text/plain; charset=utf-8',
  content_base64: 'aGk=',
  created_at: '2026-03-01T10:00:00Z',
};
const feature = {
  type: 'ai_feature',
  external_id: 'a1',
  website: 'w1',
  name: 'A',
  ai_type: 'copilot',
  versions: [{ version: 1 }],
};
const operator = {
  type: 'operator',
  external_id: 'o1',
  organization: 'g1',
  name: 'O',
  role: 'admin',
  websites: ['w1'],
};

const problems = (json: unknown): string[] => {
  const result = parseRecord(json);
  return result.ok ? [] : result.problems.map(({ pointer, code }) => `${pointer} ${code}`);
};

describe('a record', () => {
  test('gets its defaults', () => {
    expect(parseRecord(contact)).toEqual({ ok: true, record: { ...contact, blocked: false, deleted: false } });
    const expected = { ...message, delivery_status: 'unknown', ai_generated: false, redacted: false };
    expect(parseRecord(message)).toEqual({ ok: true, record: expected });
    expect(parseRecord(operator)).toEqual({ ok: true, record: { ...operator, enabled: true, teams: [] } });
  });

  const bad: readonly (readonly [string, unknown, readonly string[]])[] = [
    ['no object', [contact], [' invalid_type']],
    ['null', null, [' invalid_type']],
    ['no type', { external_id: 'x' }, ['/type missing']],
    ['an unknown type', { type: 'ticket', external_id: 'x' }, ['/type unknown_type']],
    ['a type that is no string', { type: 7 }, ['/type invalid_type']],
    ['an inherited name for a type', { type: 'constructor' }, ['/type unknown_type']],
    ['nothing else', { type: 'team' }, ['/external_id missing', '/website missing']],
    ['an unknown member', { ...contact, 'a/b~c': 1 }, ['/a~1b~0c unknown_member']],
    [
      '__proto__',
      JSON.parse('{"type":"team","external_id":"t","website":"w","__proto__":{}}'),
      ['/__proto__ unknown_member'],
    ],
    ['null for an absent member', { ...contact, name: null }, ['/name invalid_type']],
    ['an empty id', { ...contact, external_id: '' }, ['/external_id too_short']],
    ['a long id', { ...contact, external_id: 'x'.repeat(201) }, ['/external_id too_long']],
    ['U+0000', { ...contact, name: 'a\0b' }, ['/name invalid_text']],
    ['half a surrogate pair', { ...contact, name: 'a\ud83d' }, ['/name invalid_text']],
    ['a nested reference of the wrong type', { ...operator, websites: ['w1', 2] }, ['/websites/1 invalid_type']],
    ['an operator of no website', { ...operator, websites: [] }, ['/websites too_short']],
    ['a day that does not exist', { ...contact, created_at: '2026-02-29T10:00:00Z' }, ['/created_at invalid_time']],
    ['a time without offset', { ...contact, created_at: '2026-02-28T10:00:00' }, ['/created_at invalid_time']],
    ['a date', { ...contact, created_at: '2026-02-28' }, ['/created_at invalid_time']],
    ["a time zone of one's own", { ...contact, time_zone: 'Europe/Atlantis' }, ['/time_zone invalid_time_zone']],
    ['an offset for a zone', { ...contact, time_zone: '+01:00' }, ['/time_zone invalid_time_zone']],
    ['a country in lower case', { ...contact, country: 'de' }, ['/country invalid_value']],
    ['a language in words', { ...contact, language: 'German (Austria)' }, ['/language invalid_value']],
    ['an unknown kind', { ...message, kind: 'sms' }, ['/kind invalid_value']],
    ['a missing kind', { ...message, kind: undefined }, ['/kind missing']],
    ['no content', { ...file, content_base64: undefined }, ['/content_base64 missing']],
    ['content twice', { ...file, path: 'a.txt' }, ['/path conflicting_members']],
    ['content that is not base64', { ...file, content_base64: 'aGk' }, ['/content_base64 invalid_base64']],
    ['a path that leads out', { ...file, content_base64: undefined, path: 'a/../../b' }, ['/path invalid_path']],
    ['an absolute path', { ...file, content_base64: undefined, path: '/etc/hosts' }, ['/path invalid_path']],
    ['a media type without subtype', { ...file, media_type: 'text' }, ['/media_type invalid_value']],
    [
      'a version twice',
      { ...feature, versions: [{ version: 1 }, { version: 1, active: true }] },
      ['/versions duplicate'],
    ],
    ['version 0', { ...feature, versions: [{ version: 0 }] }, ['/versions/0/version out_of_range']],
    ['no version', { ...feature, versions: [] }, ['/versions too_short']],
    [
      'a script for an address',
      { type: 'saved_link', external_id: 'l', website: 'w', label: 'L', url: 'javascript:alert(1)' },
      ['/url invalid_url'],
    ],
    [
      'too good a mood',
      { type: 'ai_result', external_id: 'r', conversation: 'k', sentiment: 1.1 },
      ['/sentiment out_of_range'],
    ],
    ['deleting a deletion', { type: 'delete', of: 'delete', external_id: 'x' }, ['/of invalid_value']],
  ];
  test.each(bad)('is refused for %s', (_, json, expected) => {
    expect(problems(json)).toEqual(expected);
  });

  test.each(['2026-03-01T10:00:00+05:30', '2026-03-01t10:00:00.123456z', '2024-02-29T23:59:59-00:00'])(
    'may hold the time %s',
    (created_at) => {
      expect(problems({ ...contact, created_at })).toEqual([]);
    },
  );

  test('names at most 20 problems, with short pointers', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}${'x'.repeat(1000)}`, i]));
    const found = problems({ ...contact, ...many });
    expect(found).toHaveLength(20);
    expect(Math.max(...found.map((one) => one.length))).toBeLessThan(130);
  });

  test('never throws, whatever the JSON', () => {
    const typed = fc.tuple(fc.constantFrom(...RECORD_TYPES), fc.dictionary(fc.string(), fc.jsonValue()));
    const shaped = fc.tuple(fc.constantFrom(contact, message, file, feature, operator), fc.string(), fc.jsonValue());
    const any = fc.oneof(
      fc.jsonValue(),
      typed.map(([type, rest]) => ({ ...rest, type })),
      shaped.chain(([base, key, value]) =>
        fc.constantFrom(...Object.keys(base), key).map((changed) => ({ ...base, [changed]: value })),
      ),
    );
    const check = (result: ParsedRecord): boolean => result.ok || result.problems.length > 0;
    fc.assert(
      fc.property(any, (json) => check(parseRecord(json))),
      { numRuns: 2000 },
    );
  });
});

describe('the published schemas', () => {
  test('cover 19 types and describe every member', () => {
    expect(RECORD_TYPES).toHaveLength(19);
    expect(Object.keys(recordSchemas).toSorted()).toEqual([...RECORD_TYPES].toSorted());
    const undescribed = RECORD_TYPES.flatMap((type) => members(recordJsonSchema(type), type));
    expect(undescribed).toEqual([]);
  });

  test('agree with parseRecord on the examples', () => {
    // By default, Ajv ignores `format`. parseRecord checks formats, so Ajv must check them here too.
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    for (const example of [contact, message, file, feature, operator]) {
      const validate = ajv.compile(recordJsonSchema(RECORD_TYPES.find((type) => type === example.type) ?? 'delete'));
      expect(validate(example), example.type).toBe(true);
      expect(validate({ ...example, surprise: 1 })).toBe(false);
      expect(validate({ ...example, external_id: '' })).toBe(false);
    }
  });
});

function members(schema: object, at: string): string[] {
  if ('items' in schema && typeof schema.items === 'object' && schema.items !== null)
    return members(schema.items, `${at}/*`);
  if (!('properties' in schema) || typeof schema.properties !== 'object' || schema.properties === null) return [];
  return Object.entries(schema.properties).flatMap(([name, member]: [string, object]) => [
    ...('description' in member && String(member.description).length > 3 ? [] : [`${at}/${name}`]),
    ...members(member, `${at}/${name}`),
  ]);
}

test('a time zone can have any name that JavaScript knows, also an old name or a name in lower case', () => {
  for (const time_zone of ['Europe/Berlin', 'UTC', 'US/Eastern', 'Asia/Kolkata', 'Asia/Calcutta', 'europe/berlin'])
    expect(parseRecord({ ...contact, time_zone })).toMatchObject({ ok: true, record: { time_zone } });
});

test('references name members that exist and types that come earlier', () => {
  for (const type of RECORD_TYPES) {
    for (const { member, to, many } of REFERENCES[type]) {
      const property = recordJsonSchema(type).properties?.[member];
      expect(property, `${type}.${member}`).toBeTypeOf('object');
      expect(typeof property === 'object' && property.type === 'array').toBe(many);
      expect(RECORD_TYPES.indexOf(to)).toBeLessThanOrEqual(RECORD_TYPES.indexOf(type));
    }
  }
});

test.runIf(existsSync(northwind))('all 25,777 records of the development data are accepted', () => {
  const lines: unknown[] = readFileSync(northwind, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const refused = lines.filter((line) => !parseRecord(line).ok);
  expect({ lines: lines.length, refused }).toEqual({ lines: 25_777, refused: [] });
});

const byLibrary = (number: string): string | null => parsePhoneNumberFromString(number)?.number ?? null;

test('phone numbers with a country code become what the library makes of them', () => {
  const bodies = [
    '5550418',
    '2025550143',
    '1 202 555 0143',
    '(242) 555-0143',
    '310700x12',
    '876 5550143 ext. 7',
    '0',
    '911',
  ];
  const codes = ['1', '1 ', '1-', '1.', ...new Set(getCountries().map((country) => getCountryCallingCode(country)))];
  const numbers = codes.flatMap((code) => bodies.map((body) => `+${code}${body}`));
  expect(numbers.length).toBeGreaterThan(1_500);
  expect(numbers.map((number) => [number, phoneToE164(number, undefined)])).toEqual(
    numbers.map((number) => [number, byLibrary(number)]),
  );
});

test('a phone number without a country code needs a country', () => {
  expect(phoneToE164('202 555 0143', undefined)).toBeNull();
  expect(phoneToE164('202 555 0143', 'US')).toBe('+12025550143');
  expect(phoneToE164('030 901820', 'DE')).toBe('+4930901820');
});
