import { parsePhoneNumberFromString as parseWith } from 'libphonenumber-js/core';
import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import all from 'libphonenumber-js/min/metadata';
// 25 countries share the country code +1 and the rules for numbers, and no trunk prefix of theirs starts with 2 to 9.
// The gateway needs no country, and the search for it took half of the time (measured). So the first country stands for
// all.
const NORTH_AMERICAN = /^\+1[ .()-]*[2-9]/;
const northAmerica = {
    ...all,
    country_calling_codes: { ...all.country_calling_codes, 1: ['US'] },
};
/** A phone number in E.164 form, or null if invalid. `country` is for a number without a country code. */
export function phoneToE164(number, country) {
    if (number === undefined)
        return null;
    if (country !== undefined && isSupportedCountry(country)) {
        return parsePhoneNumberFromString(number, country)?.number ?? null;
    }
    if (NORTH_AMERICAN.test(number))
        return parseWith(number, northAmerica)?.number ?? null;
    // A number with neither a country nor a country code cannot be completed, so the result is null.
    return number.includes('+') ? (parsePhoneNumberFromString(number)?.number ?? null) : null;
}
/** A file name without folders and control characters: at most 255 UTF-16 units, no unpaired surrogate. */
export function fileName(name) {
    const last = name.split(/[/\\]/).at(-1) ?? '';
    const clean = last
        .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '')
        .slice(0, 255)
        .replace(/\p{Surrogate}$/u, '')
        .trim();
    return clean === '' || clean === '.' || clean === '..' ? 'file' : clean;
}
//# sourceMappingURL=text.js.map