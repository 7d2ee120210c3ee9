import type { StagedRow } from './row.ts';

/** What a digest stands for. Records of different kinds can have the same external_id. */
export type PersonMark = 'contact' | 'visitor' | 'conversation' | 'message' | 'email' | 'phone' | 'subject';

/** True for the external_id of an erased record that stays as a shell. No import or source may use such an id. */
export const isErased = (externalId: string): boolean => externalId.startsWith('erased:');

/** The keyed digest of something that identifies a person (src/privacy/digests.ts). */
export type PersonDigest = (of: PersonMark, value: string) => string;

/**
 * The digests by which a record of an erased person is found, first that of the record itself. The places of the others
 * matter (engine/sift.ts). Undefined for records that belong to nobody.
 */
export function digestsOf(digest: PersonDigest, row: StagedRow): string[] | undefined {
  const { type, external_id, owner = '', refs = [], links = [], data } = row;
  switch (type) {
    case 'contact':
      return [digest('contact', external_id), ...addressDigests(digest, data)];
    case 'visitor':
      return [digest('visitor', external_id), ...links.map((link) => digest('contact', link))];
    case 'conversation': {
      const [visitor] = refs;
      const written = visitor == null ? '' : digest('visitor', visitor);
      return [digest('conversation', external_id), written, ...links.map((link) => digest('contact', link))];
    }
    case 'message': {
      const [author] = refs;
      const written = author == null ? [] : [digest('visitor', author)];
      return [digest('message', external_id), digest('conversation', owner), ...written];
    }
    case 'file':
      return [digest('message', owner)];
    case 'note':
      return [digest('visitor', owner)];
    case 'ai_result':
      return [digest('conversation', owner)];
    default:
      return undefined;
  }
}

/** The digests of the addresses of a contact. `contact` has the columns of platform.contact. */
export const contactDigests = (digest: PersonDigest, contact: Readonly<Record<string, unknown>>): string[] => [
  ...new Set(addressDigests(digest, contact).filter((one) => one !== '')),
];

/** The columns of a contact with its addresses, in the order of their digests. */
export const ADDRESSES = ['email', 'mobile', 'mobile_e164', 'phone', 'phone_e164'] as const; // the type keeps the names

/** A missing address has an empty digest. */
function addressDigests(digest: PersonDigest, contact: Readonly<Record<string, unknown>>): string[] {
  return ADDRESSES.map((column) => {
    const value = contact[column];
    const text = typeof value === 'string' ? value : '';
    const plain = column === 'email' ? plainEmail(text) : plainNumber(text);
    return plain === '' ? '' : digest(column === 'email' ? 'email' : 'phone', plain);
  });
}

/** An e-mail address without the name, the brackets and the final dots that some notations have. */
function plainEmail(address: string): string {
  const text = address.normalize('NFKC').toLowerCase();
  return (/<([^<>]*)>\s*$/.exec(text)?.[1] ?? text).trim().replace(/\.+$/, '');
}

/** Shorter numbers are extensions and placeholders, which several people have. */
const SHORTEST = 6;
/** National numbers have about so many digits. What stands before them has many notations: +49 30, 0049 (0)30, 030. */
const LONGEST = 9;

function plainNumber(number: string): string {
  const digits = number
    .normalize('NFKC')
    .replaceAll(/\p{Nd}/gu, ascii)
    .replaceAll(/\D/g, '')
    .replace(/^0+/, '');
  return digits.length < SHORTEST ? '' : digits.slice(-LONGEST);
}

/** The digits of each script are ten characters in a row. The first one has a number that ends with 0 or 6 (hexadecimal). */
function ascii(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const low = code % 16;
  return String(/\p{Nd}/u.test(String.fromCodePoint(code - low)) ? low : low - 6);
}
