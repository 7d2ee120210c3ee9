import { z } from 'zod';
import { accepts, MOMENT_EXPECTED } from './expected.ts';

// PostgreSQL has no year 0, and PostgreSQL limits the length of a timestamp.
export const Moment = accepts(
  z.iso
    .datetime()
    .max(40)
    .refine((text) => !text.startsWith('0000')),
  MOMENT_EXPECTED,
).describe('Time in RFC 3339, in UTC.');
