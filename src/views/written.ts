import { z } from 'zod';

const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** Without the Unicode White_Space at both ends. */
export const trimmed = (text: string): string => text.replace(EDGES, '');

/** Text that is written: not blank, and at most `max` UTF-16 code units as it is sent (decisions, section 10). */
export const writtenText = (max: number): z.ZodString =>
  // The length of JSON Schema counts characters, of which there are never more than code units.
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.length <= max && trimmed(text) !== '');
