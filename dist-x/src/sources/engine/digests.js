/** True for the external_id of an erased record that stays as a shell. No import or source may use such an id. */
export const isErased = (externalId) => externalId.startsWith('erased:');
/**
 * The digests by which a record of an erased person is found, first that of the record itself. The places of the others
 * matter (engine/sift.ts). Undefined for records that belong to nobody.
 */
export function digestsOf(digest, row) {
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
export const contactDigests = (digest, contact) => [
    ...new Set(addressDigests(digest, contact).filter((one) => one !== '')),
];
/** The columns of a contact with its addresses, in the order of their digests. */
export const ADDRESSES = ['email', 'mobile', 'mobile_e164', 'phone', 'phone_e164']; // the type keeps the names
/** A missing address has an empty digest. */
function addressDigests(digest, contact) {
    return ADDRESSES.map((column) => {
        const value = contact[column];
        const text = typeof value === 'string' ? value : '';
        const plain = column === 'email' ? plainEmail(text) : plainNumber(text);
        return plain === '' ? '' : digest(column === 'email' ? 'email' : 'phone', plain);
    });
}
/** An e-mail address without the name, the brackets and the final dots that some notations have. */
function plainEmail(address) {
    const text = address.normalize('NFKC').toLowerCase();
    return (/<([^<>]*)>\s*$/.exec(text)?.[1] ?? text).trim().replace(/\.+$/, '');
}
/** Shorter numbers are extensions and placeholders, which several people have. */
const SHORTEST = 6;
/** National numbers have about so many digits. What stands before them has many notations: +49 30, 0049 (0)30, 030. */
const LONGEST = 9;
function plainNumber(number) {
    const digits = number
        .normalize('NFKC')
        .replaceAll(/\p{Nd}/gu, ascii)
        .replaceAll(/\D/g, '')
        .replace(/^0+/, '');
    return digits.length < SHORTEST ? '' : digits.slice(-LONGEST);
}
/** The digits of each script are ten characters in a row. The first one has a number that ends with 0 or 6 (hexadecimal). */
function ascii(digit) {
    const code = digit.codePointAt(0) ?? 0;
    const low = code % 16;
    return String(/\p{Nd}/u.test(String.fromCodePoint(code - low)) ? low : low - 6);
}
//# sourceMappingURL=digests.js.map