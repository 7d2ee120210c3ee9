export const STORED = [
    'organization',
    'website',
    'channel',
    'team',
    'operator',
    'contact',
    'visitor',
    'saved_response',
    'conversation',
    'message',
    'file',
    'note',
];
export const emptyWorld = () => Object.fromEntries(STORED.map((type) => [type, new Map()])); // every type of STORED gets its map
/** Compares both worlds. The list has at most `most` differences of each kind. */
export function difference(expected, stored, most = 5) {
    const kinds = {};
    const list = [];
    const found = (one) => {
        const kind = `${one.type} ${one.what}${one.what === 'different' ? ` ${one.member}` : ''}`;
        kinds[kind] = (kinds[kind] ?? 0) + 1;
        if (kinds[kind] <= most)
            list.push(one);
    };
    for (const type of STORED) {
        for (const [id, { members, optional }] of expected[type]) {
            const held = stored[type].get(id)?.members;
            if (held === undefined) {
                if (!optional)
                    found({ type, id, what: 'missing', row: members });
                continue;
            }
            for (const [member, value] of Object.entries(members)) {
                if (value === undefined || same(value, held[member]))
                    continue;
                found({ type, id, what: 'different', member, expected: value, stored: held[member] });
            }
        }
        for (const [id, { members }] of stored[type]) {
            if (!expected[type].has(id))
                found({ type, id, what: 'superfluous', row: members });
        }
    }
    return { count: Object.values(kinds).reduce((sum, n) => sum + n, 0), kinds, list };
}
const same = (one, other) => one === other || (Array.isArray(one) && JSON.stringify(one) === JSON.stringify(other));
//# sourceMappingURL=difference.js.map