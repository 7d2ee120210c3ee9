import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { Failure } from '../../src/core/failures.ts';
import type { CustomerRequest } from '../../src/core/reads.ts';
import { holds } from '../../src/core/scopes.ts';
import { anyWebsite, data, defineTool, NextCursor } from '../../src/core/tool.ts';
import { CustomerSchema, customerOf, HISTORY } from '../../src/views/customer.ts';

const KEYS = ['email', 'phone', 'name', 'external_id'] as const;

const refused = (parameter: string, expected: string): Failure =>
  new Failure('invalid_parameter', { errors: [{ parameter, code: 'invalid_parameter', expected }] });

async function keyOf(
  input: Partial<Record<(typeof KEYS)[number], string | undefined>>,
): Promise<CustomerRequest['by']> {
  const given = KEYS.filter((one) => input[one] !== undefined);
  const { email, name, external_id } = input;
  if (given.length === 0) throw refused('email', `one of ${KEYS.join(', ')}`);
  if (external_id !== undefined && given.length > 1) throw refused('external_id', 'no other key beside external_id');
  if (input.phone === undefined) return { email, name, external_id };
  // Loaded for the first telephone number, because the package has 93 modules.
  const { readPhone } = await import('../../src/views/phone.ts');
  const phone = readPhone(input.phone);
  if (phone.length === 0) throw refused('phone', 'a telephone number with at least one digit');
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
      email: example(
        'en.us.74@example.org',
        z.string().min(1).max(320).optional().describe('Whole e-mail address, in any letter case.'),
      ),
      phone: z
        .string()
        .min(1)
        .max(60)
        .optional()
        .describe(
          'Telephone number in any spelling: without + or 00, its last seven digits are enough. After + or 00 the country is compared too.',
        ),
      name: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Start of any word of the name, in any letter case. Each of several words must start a word.'),
      external_id: z.string().min(1).max(200).optional().describe('Id of the contact in the source system.'),
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
