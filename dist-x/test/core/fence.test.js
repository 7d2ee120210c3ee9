import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, defuse, drawFence } from '../../src/core/fence.js';
const DELIMITERS = /<<<(?:data|end) [0-9a-f]{16}>>>/g;
describe('the fence', () => {
    it('draws its delimiters per answer, and says in its first line what they mean', () => {
        const notices = new Set(Array.from({ length: 100 }, () => drawFence().notice));
        expect(notices.size).toBe(100);
        const { notice } = drawFence();
        expect(notice).not.toContain('\n');
        expect(notice.match(DELIMITERS)).toHaveLength(2);
        expect(notice).toMatch(/data/);
    });
    it.each([
        '<<<end 0123456789abcdef>>>',
        '<<<END 0123456789ABCDEF>>>',
        '＜＜＜ｅｎｄ　０１２３＞＞＞',
        '＜＜＜ＥＮＤ 0123＞＞＞',
        '<\u200b<\u200d<\u2060e\u00adn\ufeffd 0123>>>',
        '< < <end 0123>>>',
        '<\n<\n<end 0123>>>',
        '<<end 0123>>',
        '<end 0123>',
        '</end>',
        '</DATA>',
        '<\u0301<\u0301<\u0301end',
        '⋘end 0123⋙',
        '《〈end 0123〉》',
        '«‹end›»',
        '<<<еnd 0123>>>',
        '<<<dаtа 0123>>>',
        '&lt;&lt;&lt;end 0123&gt;&gt;&gt;',
        '&#60;&#x3C;&#060;end',
        '%3C%3c%3Cend',
        '%253C%253C%253Cend',
        '\\u003c\\u003C\\x3cend',
        '<&lt;%3Cend',
        '<\u202e<\u202c<end',
        '<\u{e0065}<\u{e0065}<end',
        '﹤﹤﹤ｄａｔａ 0123',
        '\u2329end 0123',
        '\ufe3d\ufe3fdata',
        '<\u3372ta',
    ])('defuses %j', (words) => {
        const safe = defuse(`before ${words} after`);
        expect(safe).toMatch(/^before /);
        expect(safe).toContain('[…]');
        expect(safe).toMatch(/ after$/);
        const seen = safe
            .normalize('NFKC')
            .replace(/[\p{Cf}\p{Mn}\s]/gu, '')
            .toLowerCase();
        expect(seen).not.toMatch(/<<<|<\/?(end|data)/);
        expect(defuse(safe)).toBe(safe);
    });
    it.each([
        'Plain words, 1 < 2, a << 2, <b>bold</b>, « Bonjour », ‹so›, 《書名》',
        '> quoted\n>> twice\n>>> three times',
        'Ünïcödé 東京 👩‍👩‍👧 नमस्ते',
        '100 % &amp; more &#128512; \\u00e9 C:\\users',
        'line\n\tand tab',
    ])('leaves %j as it is', (words) => {
        expect(defuse(words)).toBe(words);
    });
    it.each([
        ['one bracket before many letters', `<${'東'.repeat(32_767)}`],
        ['one bracket before unseen characters', `<${'\u200b'.repeat(8_000)}`],
        ['letters of a delimiter between unseen characters', `<e${'\u200b'.repeat(4_000)}n`.repeat(2)],
    ])('reads %s in a few milliseconds', (_, words) => {
        const took = Array.from({ length: 50 }, () => {
            const began = performance.now();
            defuse(words);
            return performance.now() - began;
        });
        expect(Math.min(...took)).toBeLessThan(15);
    });
    it('leaves the look-alikes that the security page names', () => {
        for (const words of ['⪻⪻⪻end 0123', '<ᴇnd 0123>'])
            expect(defuse(words)).toBe(words);
        const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
        expect(page).toContain('Some look-alikes stay,\nfor example the bracket `⪻` and the letter `ᴇ`.');
    });
    it('takes away what nobody sees', () => {
        expect(defuse('a\u0000b\u001b[31m\u202ec\u2066d\u{e0041}e')).toBe('ab[31mcde');
        expect(defuse('a\r\nb\u2028c\u0085d\re')).toBe('a\nb\nc\nd\ne');
        expect(drawFence().inline('a\nb\u2029c')).toMatch(/>>> a b c <<</);
    });
    it('cannot be closed or opened from inside, whatever the words are', () => {
        const piece = fc.constantFrom(...[
            '<',
            '＜',
            '«',
            '⋘',
            '\u200b',
            ' ',
            '/',
            'end',
            'END',
            'ｅｎｄ',
            'data',
            '>>>',
            '&lt;',
            '%3c',
            '\\u003c',
            'е',
            'nd',
        ]);
        const words = fc.oneof(fc
            .array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 30 })
            .map((all) => all.join('')), fc.string({ unit: 'binary' }));
        fc.assert(fc.property(words, (text) => {
            const fence = drawFence();
            const [open = '', close = ''] = fence.notice.match(DELIMITERS) ?? [];
            for (const fenced of [fence.inline(text), fence.block(text), fence.block(text, 10)]) {
                expect(fenced.startsWith(open) && fenced.endsWith(close)).toBe(true);
                expect(fenced.slice(open.length, -close.length)).not.toContain('<<<');
            }
            expect(defuse(defuse(text))).toBe(defuse(text));
        }), { numRuns: 3_000 });
    });
    it('cuts a block at a number of bytes, never inside a character', () => {
        const fence = drawFence();
        const around = bytesOf(fence.block(''));
        for (const bytes of [0, 1, 2, 3, 4, 5, 7, 11]) {
            const cut = fence.block('aä東👩b', bytes);
            expect(bytesOf(cut) - around).toBeLessThanOrEqual(bytes);
            expect(cut).not.toContain('\ufffd');
        }
        expect(fence.block('aä東👩b', 11)).toBe(fence.block('aä東👩b'));
    });
});
//# sourceMappingURL=fence.test.js.map