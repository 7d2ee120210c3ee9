import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** A telephone number as a person typed the number. */
export interface TypedPhone {
  readonly digits: string;
  /** The number in E.164 form. Null if the number names no country, or if the number is not valid. */
  readonly e164: string | null;
}

// The first digit of each row of ten digits that people type besides the European digits.
const ROWS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50];

/** Reads a telephone number in any spelling. `00` at the start means the same as `+`. Null if the text has no digit. */
export function readPhone(typed: string): TypedPhone | null {
  const plain = typed.normalize('NFKC').replace(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    const first = ROWS.find((row) => code >= row && code < row + 10);
    return first === undefined ? digit : String(code - first);
  });
  const number = plain.trim().replace(/^\(?\s*00/, '+');
  const digits = number.replace(/\D/g, '');
  if (digits === '') return null;
  return { digits, e164: (number.includes('+') && parsePhoneNumberFromString(number)?.number) || null };
}
