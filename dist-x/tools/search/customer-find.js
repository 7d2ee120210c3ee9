import { z } from 'zod';
import { holds } from '../../src/core/scopes.js';
import { anyWebsite, data, defineTool, NextCursor } from '../../src/core/tool.js';
import { CustomerSchema, customerOf, HISTORY } from '../../src/views/customer.js';
import { CustomerKeys, checkCustomerKeys, refusedKey } from '../../src/views/customer-keys.js';
async function keyOf(input) {
    checkCustomerKeys(input);
    const { email, name, external_id } = input;
    if (input.phone === undefined)
        return { email, name, external_id };
    // Loaded for the first telephone number, because the package has 93 modules.
    const { readPhone } = await import('../../src/views/phone.js');
    const phone = readPhone(input.phone);
    if (phone.length === 0)
        throw refusedKey('phone', 'a telephone number with at least one digit');
    return { email, name, phone };
}
export default defineTool({
    name: 'customer_find',
    title: 'Find a customer',
    summary: 'Find people by e-mail address, telephone number or name, which narrow each other, or by external id.',
    rest: 'GET /api/v1/customers',
    effect: 'read',
    tag: 'Search',
    scopes: ['contact_read', 'contact_read_pii'],
    dataAccess: ['pii'],
    restrictions: 'refused',
    page: { cursor: z.string().min(1).max(200), limit: 10, max: 50 },
    input: {
        query: {
            ...anyWebsite,
            ...CustomerKeys,
        },
    },
    output: data({
        customers: z.array(CustomerSchema).max(50).describe('People who match. The newest contact comes first.'),
        next_cursor: NextCursor,
    }),
    async handle({ input, authority, read }) {
        const { customers, next_cursor } = await read.customers({
            by: await keyOf(input),
            websites: [...authority.websites.values()].filter(({ id }) => (input.website_id ?? id) === id),
            conversations: holds(authority, HISTORY),
            limit: input.limit,
            cursor: input.cursor,
        });
        return { data: { customers: customers.map((one) => customerOf(one, authority)), next_cursor } };
    },
});
//# sourceMappingURL=customer-find.js.map