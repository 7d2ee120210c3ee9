import { join, raw, sql } from '../core/sql.js';
import { ADDRESSES, contactDigests } from '../sources/engine/digests.js';
import { placeOf } from './erase.js';
/** The value itself in place of its digest, so that addresses are compared as the suppression compares them. */
const itself = (of, value) => `${of} ${value}`;
const NUMBERS = ADDRESSES.filter((column) => column !== 'email').map((column) => raw(`regexp_replace(c.${column}, '[^0-9]', '', 'g')`));
/** A number is counted to this one. It tells the operator that an address belongs to nobody in particular. */
export const SHARERS_MAX = 1_000;
/**
 * Counts the other contacts of the organization with an e-mail address or a telephone number of this contact. An erasure
 * keeps them, too, from coming back by an import or a source. A visitor has no address.
 */
export async function countSharers(db, request) {
    const place = request.kind === 'contact' ? placeOf(request) : undefined;
    if (place === undefined)
        return 0;
    const { tenant, site, native } = place;
    const [own] = await db.query(sql `
    SELECT c.email, c.mobile, c.mobile_e164, c.phone, c.phone_e164 FROM platform.contact c
     WHERE c.tenant = ${tenant} AND c.site = ${site} AND c.id = ${native}`);
    const addresses = own === undefined ? [] : contactDigests(itself, own);
    if (addresses.length === 0)
        return 0;
    const values = addresses.map((address) => address.slice(address.indexOf(' ') + 1));
    // The statement finds a little too much: it knows the notations of addresses less exactly.
    const near = await db.query(sql `
    SELECT c.email, c.mobile, c.mobile_e164, c.phone, c.phone_e164 FROM platform.contact c
     WHERE c.tenant = ${tenant} AND (c.site <> ${site} OR c.id <> ${native}) AND EXISTS (
       SELECT FROM unnest(${values}::text[]) AS v (value)
        WHERE strpos(lower(c.email), v.value) > 0 OR strpos(concat_ws(' ', ${join(NUMBERS, ', ')}), v.value) > 0)
     LIMIT ${SHARERS_MAX}`);
    return near.filter((one) => contactDigests(itself, one).some((address) => addresses.includes(address))).length;
}
//# sourceMappingURL=addresses.js.map