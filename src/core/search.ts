import type { Demand } from './authority.ts';
import { both, MSG, needs, PII } from './scopes.ts';

/** The kinds of text that the search finds, in the order of hits of the same time. */
export const SAID = ['messages', 'subjects', 'notes', 'contacts'] as const;
export type Said = (typeof SAID)[number];

/** What a caller needs to search a kind. */
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

/** A term of a query: words that must stand side by side, or that must not. */
export interface Term {
  readonly text: string;
  readonly not: boolean;
}

/** Quotation marks that keyboards and word processors put in place of the straight mark. */
const QUOTES = /[“”„‟«»＂「」『』]/g;
const TERM = /(-?)"([^"]*)(?:"|$)|(\S+)/g;

/**
 * Reads a query as people type it: words, "words side by side", -excluded and or. A text must match all terms of one
 * group; `or` begins the next group. Returns an empty list if a group has no term that must be found.
 */
export function readQuery(query: string): readonly (readonly Term[])[] {
  const groups: Term[][] = [[]];
  for (const [, minus, quoted, word = ''] of query.replace(QUOTES, '"').matchAll(TERM)) {
    if (quoted !== undefined) groups.at(-1)?.push({ text: quoted, not: minus === '-' });
    else if (/^or$/i.test(word)) groups.push([]);
    else if (/^-[^-]/.test(word)) groups.at(-1)?.push({ text: word.slice(1), not: true });
    else groups.at(-1)?.push({ text: word, not: false });
  }
  const filled = groups.filter((group) => group.length > 0).map(onlyOnce);
  return filled.every((group) => group.some(({ not }) => !not)) ? filled : [];
}

/** A repeated term finds nothing more. */
const onlyOnce = (terms: readonly Term[]): readonly Term[] => [
  ...new Map(terms.map((term) => [`${term.not} ${term.text}`, term])).values(),
];
