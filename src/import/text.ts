import { compile } from 'html-to-text';
import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min';

const convert = compile({
  wordwrap: false,
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

export function htmlToText(html: string): string {
  return convert(html);
}

/** The number in E.164, or null when it is not one; `country` says where a number without a country code is. */
export function phoneToE164(number: string | undefined, country: string | undefined): string | null {
  if (number === undefined) return null;
  const home: CountryCode | undefined = country !== undefined && isSupportedCountry(country) ? country : undefined;
  // Without either there is no way to say which country the number belongs to.
  if (home === undefined && !number.includes('+')) return null;
  return parsePhoneNumberFromString(number, home)?.number ?? null;
}

/** RFC 5646 canonical form; a tag that Intl does not take stays as it is. */
export function canonicalLanguage(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    return tag;
  }
}

/** A name without folders and control characters, at most 255 UTF-16 units and never half a surrogate pair. */
export function fileName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const clean = last
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '')
    .slice(0, 255)
    .replace(/\p{Surrogate}$/u, '')
    .trim();
  return clean === '' || clean === '.' || clean === '..' ? 'file' : clean;
}
