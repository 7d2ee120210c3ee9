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
      return [digest('contact', external_id), ...contactDigests(digest, data)];
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
export function contactDigests(digest: PersonDigest, contact: Readonly<Record<string, unknown>>): string[] {
  const text = (column: string): string => {
    const value = contact[column];
    return typeof value === 'string' ? value : '';
  };
  const email = text('email').trim().toLowerCase();
  const phones = ['mobile', 'mobile_e164', 'phone', 'phone_e164'].map((column) => phoneDigits(text(column)));
  return [
    ...(email === '' ? [] : [digest('email', email)]),
    ...[...new Set(phones)].filter((digits) => digits.length >= SHORTEST).map((digits) => digest('phone', digits)),
  ];
}

/** Shorter numbers are extensions and placeholders, which several people have. */
const SHORTEST = 6;

/** The digits of a telephone number, without the zeros that some notations put in front. */
const phoneDigits = (number: string): string => number.replaceAll(/\D/g, '').replace(/^0+/, '');
