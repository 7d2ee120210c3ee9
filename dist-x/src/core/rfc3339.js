import { z } from 'zod';
import { accepts, RFC3339_EXPECTED } from './accepted-values.js';
// PostgreSQL has no year 0, and PostgreSQL limits the length of a timestamp.
export const Rfc3339Time = accepts(z.iso
    .datetime()
    .max(40)
    .refine((text) => !text.startsWith('0000')), RFC3339_EXPECTED).describe('Time in RFC 3339, in UTC.');
//# sourceMappingURL=rfc3339.js.map