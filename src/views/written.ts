import { z } from 'zod';
import { accepts } from '../core/accepted-values.ts';

const EDGES = /^\p{White_Space}+|\p{White_Space}+$/gu;

export const trimmed = (text: string): string => text.replace(EDGES, '');

/** A text to write: not blank, at most `max` UTF-16 code units before the spaces at its ends are removed. */
export const writtenText = (max: number): z.ZodString =>
  // JSON Schema counts characters. A text never has more characters than UTF-16 code units, so the JSON Schema never
  // refuses a text that this schema accepts.
  accepts(
    z
      .string()
      .min(1)
      .max(max)
      .refine((text) => text.length <= max && trimmed(text) !== ''),
    `a text of 1 to ${max} UTF-16 code units with more than spaces`,
  );
