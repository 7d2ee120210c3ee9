import { z } from 'zod';

const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** Removes characters of Unicode White_Space from both ends of a text. */
export const trimmed = (text: string): string => text.replace(EDGES, '');

/** Schema of a text to write: not blank, and at most `max` UTF-16 code units, counted before trimming. */
export const writtenText = (max: number): z.ZodString =>
  // JSON Schema counts characters. A text never has more characters than UTF-16 code units, so `max` never refuses a
  // text within the limit.
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.length <= max && trimmed(text) !== '');
