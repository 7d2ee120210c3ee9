import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
// The zeros of the non-European digits that people type.
const ROWS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50];
/**
 * The numbers that a person can mean by this text, in any spelling. `00` at the start means `+`, but a local number can
 * also start with `00`. Empty for a text without digits.
 */
export function readPhone(typed) {
    const plain = typed.normalize('NFKC').replace(/\p{Nd}/gu, (digit) => {
        const code = digit.codePointAt(0) ?? 0;
        const first = ROWS.find((row) => code >= row && code < row + 10);
        return first === undefined ? digit : String(code - first);
    });
    const digits = digitsOf(plain);
    if (digits === '')
        return [];
    const number = plain.trim().replace(/^\(?\s*00/, '+');
    const parsed = number.includes('+') ? parsePhoneNumberFromString(number) : undefined;
    const meant = { digits: digitsOf(number), e164: parsed?.number ?? null };
    if (meant.digits === digits || parsed?.isPossible())
        return [meant];
    // No country code starts with 0.
    return [...(/^[1-9]/.test(meant.digits) ? [meant] : []), { digits, e164: null }];
}
const digitsOf = (text) => text.replace(/\D/g, '');
//# sourceMappingURL=phone.js.map