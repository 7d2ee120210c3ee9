import { z } from 'zod';
import { defineSkill } from '../src/core/skill.js';
import { CustomerKeys, checkCustomerKeys } from '../src/views/customer-keys.js';
export default defineSkill({
    name: 'customer_lookup',
    title: 'Look up a customer',
    description: 'People by e-mail address, telephone number or name, which narrow each other, or by external id.',
    tags: ['contacts', 'search'],
    tools: ['customer_find'],
    input: z.strictObject(CustomerKeys),
    examples: [{ email: 'en.us.74@example.org' }, { name: 'Callum' }],
    check: checkCustomerKeys,
    run: ({ input, call }) => call('customer_find', input),
});
//# sourceMappingURL=customer-lookup.js.map