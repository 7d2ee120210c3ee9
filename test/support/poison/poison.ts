/** A place that an outsider or the helpdesk's staff can write. */
export type Place =
  | 'message.text'
  | 'message.html'
  | 'message.attributes'
  | 'message.time'
  | 'message.type'
  | 'message.format'
  | 'note.text'
  | 'contact.name'
  | 'contact.last_name'
  | 'contact.email'
  | 'contact.phone'
  | 'contact.company'
  | 'contact.country'
  | 'contact.time'
  | 'conversation.subject'
  | 'conversation.language'
  | 'conversation.rating'
  | 'conversation.score'
  | 'conversation.status'
  | 'conversation.time'
  | 'channel.name'
  | 'channel.type'
  | 'team.name'
  | 'operator.name'
  | 'saved_response.content'
  | 'saved_response.label'
  | 'file.name'
  | 'file.media_type'
  | 'file.size'
  /** A link or an offer, which only files of records can bring. */
  | 'saved_link.url'
  /** A whole line of a file. */
  | 'line'
  | 'query';

export const CATEGORIES = [
  'html',
  'unicode',
  'numbers',
  'times',
  'texts',
  'json',
  'names',
  'contacts',
  'files',
  'queries',
] as const;
export type Category = (typeof CATEGORIES)[number];

export interface Poison {
  readonly name: string;
  readonly category: Category;
  readonly at: Place;
  readonly value: string;
  readonly bytes?: Buffer;
}

/** Items of one category at one place. An item's name begins with both. */
export const of = (category: Category, at: Place, values: Readonly<Record<string, string>>): Poison[] =>
  Object.entries(values).map(([name, value]) => ({ name: `${category} ${at}: ${name}`, category, at, value }));

export const across = (
  category: Category,
  places: readonly Place[],
  values: Readonly<Record<string, string>>,
): Poison[] => places.flatMap((at) => of(category, at, values));

export const MILLION = 1_000_000;
export const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');
