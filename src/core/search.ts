import { z } from 'zod';
import type { Demand } from './authority.ts';
import { example } from './example.ts';
import { wrongParameter } from './failures.ts';
import { both, MSG, needs, PII } from './scopes.ts';

/** The kinds of text that a search covers. Hits of the same time have this order. */
export const SAID = ['messages', 'subjects', 'notes', 'contacts'] as const;
export type Said = (typeof SAID)[number];

/** The grants that a search in each kind needs. */
export const SAID_NEEDS = {
  messages: both(needs('conversation_read'), MSG, PII),
  subjects: both(needs('conversation_read'), MSG, PII),
  notes: {
    scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii', 'internal_notes'],
    unrestricted: true,
  },
  contacts: { ...both(needs('contact_read'), PII), unrestricted: true },
} as const satisfies Record<Said, Demand>;

/** The kinds of text that a search asks for. Throws `invalid_parameter` for other kinds than messages beside an author. */
export function askedKinds({ kinds, author }: { kinds?: string | undefined; author?: string | undefined }): Said[] {
  const expected = 'messages, or absent, because only messages have an author';
  if (author !== undefined && (kinds ?? 'messages') !== 'messages')
    throw wrongParameter('invalid_parameter', 'kinds', expected);
  return author !== undefined ? ['messages'] : SAID.filter((kind) => kinds?.split(',').includes(kind) ?? true);
}

/** A query as people type it. */
export const SearchQuery = example(
  'translat',
  z
    .string()
    .min(1)
    .max(400)
    .describe(
      'Whole words that all stand in one text, "a phrase", -excluded, or. A text is one message, subject, note or name. Endings count: if nothing is found, try fewer words or other forms. Between alternatives stands the English or. Letter case and accents make no difference.',
    ),
);

/** Words that a text must contain side by side, or with `not` must not contain. */
export interface Term {
  readonly text: string;
  readonly not: boolean;
  /** True if quotation marks stood around the words. Such words are meant letter by letter. */
  readonly quoted: boolean;
}

/** A word of a query that no text holds, and the spellings that were found in its place. */
export interface Correction {
  readonly word: string;
  readonly used: readonly string[];
}

/** Quotation marks that keyboards and word processors write instead of the straight mark. */
const QUOTES = /[“”„‟«»＂「」『』]/g;
const TERM = /(-?)"([^"]*)(?:"|$)|(\S+)/g;

/**
 * Reads a query as people type it: words, "words side by side", -excluded and or. A text must match all terms of one
 * group. `or` begins the next group. Empty if a group has only excluded terms.
 */
export function readQuery(query: string): readonly (readonly Term[])[] {
  const groups: Term[][] = [[]];
  for (const [, minus, quoted, word = ''] of query.replace(QUOTES, '"').matchAll(TERM)) {
    if (quoted !== undefined) groups.at(-1)?.push({ text: quoted, not: minus === '-', quoted: true });
    else if (/^or$/i.test(word)) groups.push([]);
    else if (/^-[^-]/.test(word)) groups.at(-1)?.push({ text: word.slice(1), not: true, quoted: false });
    else groups.at(-1)?.push({ text: word, not: false, quoted: false });
  }
  const filled = groups.filter((group) => group.length > 0).map(onlyOnce);
  return filled.every((group) => group.some(({ not }) => !not)) ? filled : [];
}

/** A repeated term changes no result. */
const onlyOnce = (terms: readonly Term[]): readonly Term[] => [
  ...new Map(terms.map((term) => [`${term.not} ${term.quoted} ${term.text}`, term])).values(),
];
