import { describe, expect, it } from 'vitest';
import { readQuery } from '../../src/core/search.js';
// All quoted terms of these queries have two words.
const found = (text) => ({ text, not: false, quoted: text.includes(' ') });
const without = (text) => ({ ...found(text), not: true });
describe('a query', () => {
    it.each([
        '"two words" three',
        '“two words” three',
        '”two words” three',
        '„two words“ three',
        '«two words» three',
        '»two words« three',
        '＂two words＂ three',
        '「two words」 three',
        '『two words』 three',
        '“two words" three',
    ])('%s has one phrase and one word', (query) => {
        expect(readQuery(query)).toEqual([[found('two words'), found('three')]]);
    });
    it('excludes words and phrases, and takes alternatives', () => {
        expect(readQuery('a -“b c” -d or „e f')).toEqual([[found('a'), without('b c'), without('d')], [found('e f')]]);
        expect(readQuery('-“b c”')).toEqual([]);
    });
});
//# sourceMappingURL=search.test.js.map