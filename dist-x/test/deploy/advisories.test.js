import { expect, it } from 'vitest';
import { advisories } from '../advisories.js';
const lock = (ws = {}) => JSON.stringify({
    packages: {
        '': { dependencies: { ws: '8.22.0' } },
        'node_modules/ws': { version: '8.22.0', ...ws },
        'node_modules/a/node_modules/b': { version: '1.0.0' },
    },
});
const REFUSED = '{"message":"405 Method Not Allowed","statusCode":405,"error":{"summary":"","detail":""}}';
/** An npm whose registry answers so. `view` is undefined for a registry that cannot be reached. */
const npm = (audit, view) => async ([command]) => command === 'audit' ? audit : view === undefined ? '{"error":{"code":"ENOTFOUND"}}' : JSON.stringify(view);
it('a registry with advisories decides', async () => {
    const none = await advisories(lock(), npm('{"vulnerabilities":{}}'));
    expect(none).toEqual({ code: 0, lines: ['Asked the registry about 2 packages.', 'No finding.'] });
    const one = await advisories(lock(), npm('{"vulnerabilities":{"ws":{"severity":"high","range":"<8.22.1"}}}'));
    expect(one.code).toBe(1);
    expect(one.lines[0]).toBe('ws has a known vulnerability (high) in the versions <8.22.1');
});
it('a registry without advisories is named, and the packages’ own data decide', async () => {
    const newer = await advisories(lock(), npm(REFUSED, ['8.22.0', '8.22.2']));
    expect(newer.code).toBe(0);
    expect(newer.lines[0]).toBe('ws 8.22.0 has the newer patch 8.22.2. Read what it mends.');
    expect(newer.lines[1]).toContain('does not answer questions about advisories');
    const view = [{ version: '8.22.0', deprecated: 'critical bug' }, { version: '8.22.1' }];
    const deprecated = await advisories(lock(), npm(REFUSED, view));
    expect([deprecated.code, deprecated.lines[0]]).toEqual([1, 'ws 8.22.0 is deprecated: critical bug']);
    const noted = await advisories(lock({ deprecated: 'unmaintained' }), npm(REFUSED, '8.22.0'));
    expect([noted.code, noted.lines[0]]).toEqual([1, 'ws is deprecated: unmaintained']);
});
it('a registry that tells nothing is a failure, never a silent success', async () => {
    for (const view of [undefined, [], ['8.23.0'], { version: 7 }]) {
        const { code, lines } = await advisories(lock(), npm(REFUSED, view));
        expect([code, lines.at(-1)], JSON.stringify(view)).toEqual([2, expect.stringContaining('either: ws.')]);
    }
    expect((await advisories(lock(), npm('', undefined))).code).toBe(2);
});
//# sourceMappingURL=advisories.test.js.map