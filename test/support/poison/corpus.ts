import { contacts } from './contacts.ts';
import { files } from './files.ts';
import { html } from './html.ts';
import { json } from './json.ts';
import { names } from './names.ts';
import { numbers } from './numbers.ts';
import { CATEGORIES, type Category, type Poison } from './poison.ts';
import { queries } from './queries.ts';
import { texts } from './texts.ts';
import { unicode } from './unicode.ts';

export const CORPUS: readonly Poison[] = [
  ...html,
  ...unicode,
  ...numbers,
  ...texts,
  ...json,
  ...names,
  ...contacts,
  ...files,
  ...queries,
];

export const FLOORS: Readonly<Record<Category, number>> = {
  html: 60,
  unicode: 100,
  numbers: 25,
  times: 50,
  texts: 60,
  json: 70,
  names: 80,
  contacts: 60,
  files: 50,
  queries: 38,
};

export const counted = (items: readonly Poison[]): Readonly<Record<string, number>> =>
  Object.fromEntries(CATEGORIES.map((category) => [category, items.filter((one) => one.category === category).length]));
