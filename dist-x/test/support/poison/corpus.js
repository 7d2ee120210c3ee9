import { contacts } from './contacts.js';
import { files } from './files.js';
import { html } from './html.js';
import { json } from './json.js';
import { names } from './names.js';
import { numbers } from './numbers.js';
import { CATEGORIES } from './poison.js';
import { queries } from './queries.js';
import { texts } from './texts.js';
import { unicode } from './unicode.js';
export const CORPUS = [
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
export const FLOORS = {
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
export const counted = (items) => Object.fromEntries(CATEGORIES.map((category) => [category, items.filter((one) => one.category === category).length]));
//# sourceMappingURL=corpus.js.map