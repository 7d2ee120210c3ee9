import { z } from 'zod';
import { example } from '../core/example.ts';
import { type Failure, wrongParameter } from '../core/failures.ts';

/** The parameters by which a customer is found. */
export const CustomerKeys = {
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
};

export type CustomerKey = keyof typeof CustomerKeys;
const KEYS = Object.keys(CustomerKeys) as readonly CustomerKey[]; // Object.keys returns string[]

export const refusedKey = (parameter: CustomerKey, expected: string): Failure =>
  wrongParameter('invalid_parameter', parameter, expected);

/** Throws `invalid_parameter` without a key, and for an external id beside another key. */
export function checkCustomerKeys(input: Partial<Record<CustomerKey, string | undefined>>): void {
  const given = KEYS.filter((one) => input[one] !== undefined);
  if (given.length === 0) throw refusedKey('email', `one of ${KEYS.join(', ')}`);
  if (input.external_id !== undefined && given.length > 1)
    throw refusedKey('external_id', 'no other key beside external_id');
}
