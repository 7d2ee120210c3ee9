import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressRanges, rangeOf } from '../../src/flow/address-ranges.js';
describe('a range', () => {
    it.each([
        ['203.0.113.7', '203.0.113.7'],
        ['203.0.113.7/32', '203.0.113.7'],
        ['10.0.0.0/8', '10.0.0.0/8'],
        ['0.0.0.0/0', '0.0.0.0/0'],
        ['2001:DB8:0:0::/32', '2001:db8::/32'],
        ['2001:db8::1/128', '2001:db8::1'],
        ['::/0', '::/0'],
        ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
        ['::ffff:203.0.113.7', '203.0.113.7'],
    ])('%s is %s', (text, canonical) => {
        expect(rangeOf(text)).toBe(canonical);
        expect(rangeOf(canonical)).toBe(canonical);
    });
    it.each([
        ...[
            '',
            ' ',
            '10.0.0.0/',
            '10.0.0.0/33',
            '10.0.0.0/-1',
            '10.0.0.0/08',
            '10.0.0.0/8/8',
            '10.0.0',
            '010.0.0.0',
            '1.2.3.4.5',
        ],
        ...['10.1.0.0/8', '10.0.0.1/31', '2001:db8::1/64', '2001:db8::/129', '::ffff:10.0.0.0/95', '::ffff:10.1.0.0/104'],
        ...['fe80::1%eth0', '[::1]', 'localhost', 'loopback', '10.0.0.0 /8', '10.0.0.0/8\n', '1.2.3.4:80', '٣.0.0.0', '*'],
    ])('%j is none', (text) => expect(rangeOf(text)).toBeUndefined());
});
describe('an address', () => {
    const inside = addressRanges(['10.0.0.0/8', '2001:db8::/33', '203.0.113.7', 'fe80::1']);
    it.each([
        ...['10.0.0.0', '10.255.255.255', '::ffff:10.2.3.4', '::FFFF:0a02:0304', '203.0.113.7', '2001:db8:7fff::1'],
        ...['2001:0db8:0000:0000:0000:0000:0000:0001', 'fe80::1%eth0', '2001:db8::1.2.3.4'],
    ])('%s is inside', (address) => expect(inside?.(address)).toBe(true));
    it.each([
        ...[
            '9.255.255.255',
            '11.0.0.0',
            '203.0.113.8',
            '2001:db8:8000::',
            '::10.2.3.4',
            '64:ff9b::10.2.3.4',
            'fe80::2%eth0',
        ],
        ...['unknown', '', '10.2.3.4:80', '10.2.3', '0x0a.2.3.4', ' 10.2.3.4', '10.2.3.4, 10.2.3.4', '[2001:db8::1]'],
        undefined,
    ])('%j is outside', (address) => expect(inside?.(address)).toBe(false));
    it('IPv4 addresses are not in a range of all IPv6 addresses, however they are written', () => {
        const six = addressRanges(['::/0']);
        for (const address of ['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304'])
            expect(six?.(address), address).toBe(false);
        expect(six?.('::1')).toBe(true);
    });
    it('no range means every address, and a list without a readable range means none', () => {
        expect(addressRanges([])).toBeNull();
        expect(addressRanges(['nonsense'])?.('1.2.3.4')).toBe(false);
    });
    it('is inside of the range of its first bits, and of no range with another bit', () => {
        const bits = (n) => n.toString(2).padStart(32, '0');
        const dotted = (text) => [0, 8, 16, 24].map((at) => Number.parseInt(text.slice(at, at + 8), 2)).join('.');
        fc.assert(fc.property(fc.nat(0xffffffff), fc.integer({ min: 1, max: 32 }), fc.nat(31), (n, prefix, flip) => {
            const range = `${dotted(bits(n).slice(0, prefix).padEnd(32, '0'))}/${prefix}`;
            const other = [...bits(n)].map((bit, i) => (i === flip % prefix ? (bit === '0' ? '1' : '0') : bit)).join('');
            const within = addressRanges([rangeOf(range) ?? '']);
            expect([dotted(bits(n)), `::ffff:${dotted(bits(n))}`, dotted(other)].map((one) => within?.(one))).toEqual([
                true,
                true,
                false,
            ]);
        }));
    });
});
//# sourceMappingURL=address-ranges.test.js.map