import { getCountries, getCountryCallingCode, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { expect, test } from 'vitest';
import { phoneToE164 } from '../../../src/sources/engine/text.ts';

const byLibrary = (number: string): string | null => parsePhoneNumberFromString(number)?.number ?? null;

test('numbers with a country code become what the library makes of them', () => {
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
  for (const code of codes) {
    for (const body of bodies) {
      const number = `+${code}${body}`;
      expect.soft([number, phoneToE164(number, undefined)]).toEqual([number, byLibrary(number)]);
    }
  }
});

test('a number without a country code needs a country', () => {
  expect(phoneToE164('202 555 0143', undefined)).toBeNull();
  expect(phoneToE164('202 555 0143', 'US')).toBe('+12025550143');
  expect(phoneToE164('030 901820', 'DE')).toBe('+4930901820');
});
