import { compile } from '../../core/sql.js';
/** The largest number of SQL texts that are kept. A gateway in normal use has some hundred. */
const TEXTS = 2_000;
export function openStatements() {
    const texts = new Map();
    const one = (text) => {
        const known = texts.get(text);
        if (known !== undefined)
            return known;
        if (texts.size >= TEXTS)
            texts.clear();
        texts.set(text, text);
        return text;
    };
    return (fragment) => {
        const { text, values } = compile(fragment);
        return { text: fragment.text ?? one(text), parameters: values.map(bound), lists: fragment.lists === true };
    };
}
const isList = (value) => Array.isArray(value);
/** The form in which the driver takes a value. */
export const bound = (value) => isList(value)
    ? `{${value.map((one) => (one === null ? 'NULL' : `"${String(one).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`
    : value;
/** The driver keeps `add`, and through it the rows, until `taken` drops them. */
export function collecting() {
    let rows = [];
    return {
        add: (row) => {
            rows.push(row);
        },
        taken: () => {
            const all = rows;
            rows = [];
            return all;
        },
    };
}
//# sourceMappingURL=statement.js.map