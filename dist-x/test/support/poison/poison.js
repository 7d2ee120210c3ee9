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
];
/** Items of one category at one place. An item's name begins with both. */
export const of = (category, at, values) => Object.entries(values).map(([name, value]) => ({ name: `${category} ${at}: ${name}`, category, at, value }));
export const across = (category, places, values) => places.flatMap((at) => of(category, at, values));
export const MILLION = 1_000_000;
export const lines = (count, line) => Array.from({ length: count }, (_, n) => line(n)).join('\n');
//# sourceMappingURL=poison.js.map