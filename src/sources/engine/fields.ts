import { z } from 'zod';
import { PLATFORMS } from '../../views/conversation.ts';

export const INT_MAX = 2_147_483_647;
/** The largest number of characters of inline content: 32 MiB in base64. A larger file must be given by `path`. */
export const INLINE_FILE_MAX = Math.ceil((32 * 1024 * 1024) / 3) * 4;

// With the flag u, \p{Surrogate} matches only unpaired surrogates. PostgreSQL can store neither them nor U+0000.
const isStorable = (value: string): boolean => !value.includes('\0') && !/\p{Surrogate}/u.test(value);

// The names that JavaScript lists need no DateTimeFormat, which takes 0.1 ms to make.
const zones = new Set<string>(Intl.supportedValuesOf('timeZone'));
export function isTimeZone(name: string): boolean {
  if (zones.has(name)) return true;
  // An IANA time zone starts with a letter. Newer JavaScript engines would also accept a UTC offset such as +01:00.
  if (!/^[A-Za-z][A-Za-z0-9+_/-]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch {
    return false;
  }
  // Upper and lower case do not matter, so a time zone has many spellings. Limit the cached names.
  if (zones.size < 2000) zones.add(name);
  return true;
}

// Years 1900 to 2999, so that PostgreSQL and RFC 3339 support the time with any UTC offset. PostgreSQL would refuse the
// whole batch for an offset of 16:00 or more. No leap seconds.
const RFC3339 =
  /^((?:19|2\d)\d\d)-(0[1-9]|1[0-2])-([0-2]\d|3[01])[Tt](?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:[Zz]|[+-](?:0\d|1[0-5]):[0-5]\d)$/;
function isTime(value: string): boolean {
  const [, year = '', month = '', day = '00'] = RFC3339.exec(value) ?? [];
  if (day === '00' || day <= '28') return day !== '00';
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}

function isWebAddress(value: string): boolean {
  return /^https?:\/\/[^\s\\]+$/i.test(value) && URL.canParse(value);
}

export function isInsideFolder(path: string): boolean {
  return !/^[/\\]|^[A-Za-z]:/.test(path) && !path.split(/[/\\]/).includes('..');
}

export const isBase64 = (value: string): boolean => value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);

/** One check instead of three zod checks, which took half of an import's parsing time (measured on 25,777 records). */
export const text = (max: number, min = 0) =>
  z
    .string()
    .check(({ value, issues }) => {
      if (value.length > max) issues.push({ code: 'too_big', origin: 'string', maximum: max, input: value });
      if (value.length < min) issues.push({ code: 'too_small', origin: 'string', minimum: min, input: value });
      if (!isStorable(value)) issues.push({ code: 'custom', message: 'invalid_text', input: value });
    })
    .meta(min > 0 ? { minLength: min, maxLength: max } : { maxLength: max });
export const required = (max: number, description: string) => text(max, 1).describe(description);
export const optional = (max: number, description: string) => text(max).optional().describe(description);
export const ref = (description: string) => text(200, 1).describe(`external_id of ${description}`);
export const optionalRef = (description: string) => text(200, 1).optional().describe(`external_id of ${description}`);
export const refs = (description: string) => z.array(text(200, 1)).max(1000).describe(`external_ids of ${description}`);
export const optionalRefs = (description: string) =>
  z.array(text(200, 1)).max(1000).default([]).describe(`external_ids of ${description}`);
export const flag = (absent: boolean, description: string) => z.boolean().default(absent).describe(description);
export const int = (min: number) => z.int().min(min).max(INT_MAX);

const instant = z.string().max(64).refine(isTime, 'invalid_time').meta({ format: 'date-time' });
export const time = (description: string) => instant.describe(`${description} (RFC 3339, offset at most 15:59)`);
export const optionalTime = (description: string) =>
  instant.optional().describe(`${description} (RFC 3339, offset at most 15:59)`);
export const languageTag = z.string().regex(/^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}$/);
export const language = (description: string) => languageTag.optional().describe(`${description} (BCP 47 tag)`);
export const zone = z.string().max(64).refine(isTimeZone, 'invalid_time_zone');
const address = z.string().max(2048).refine(isStorable, 'invalid_text').refine(isWebAddress, 'invalid_url');
export const webAddress = address.meta({ format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?://' });

export const platform = z.enum(PLATFORMS).describe('Platform of the conversation');
export const scope = z
  .enum(['global', 'operator', 'team', 'subsite'])
  .default('global')
  .describe('Who may use it; the API lists only global ones');

export const externalId = required(
  200,
  'Id of this record in its source system, unique for each organization and type',
);
export const website = ref('the website it belongs to');
