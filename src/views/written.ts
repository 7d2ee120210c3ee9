import { z } from 'zod';

const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;

/** Removes Unicode White_Space from both ends. */
export const trimmed = (text: string): string => text.replace(EDGES, '');

/** Text for a write: not blank, and at most `max` UTF-16 code units, counted before trimming. */
export const writtenText = (max: number): z.ZodString =>
  // JSON Schema counts characters, and a text never has more characters than code units, so max() is safe.
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.length <= max && trimmed(text) !== '');
