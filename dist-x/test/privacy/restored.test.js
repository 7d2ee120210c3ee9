import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { cliDatabase, document, gateway, refused } from '../support/cli.js';
const key = (fill) => `${fill}:${Buffer.alloc(32, fill).toString('base64')}`;
const file = join(mkdtempSync(join(tmpdir(), 'erasures-')), 'erasures.json');
let before;
let restored;
beforeAll(async () => {
    vi.stubEnv('GATEWAY_KEYS', key(7));
    restored = await cliDatabase('demo');
    before = await cliDatabase('demo');
});
afterAll(async () => {
    vi.unstubAllEnvs();
    await Promise.all([before.close(), restored.close()]);
});
it('erases the people of the list again, in a store from an older backup', async () => {
    const people = await before.sql `
    SELECT 'ctc_' || tenant || '_' || site || '_' || id AS id FROM platform.contact WHERE tenant = 1 AND site = 1 AND email IS NOT NULL ORDER BY id LIMIT 3`;
    const [first, second, third] = people.map(({ id }) => id);
    const certificates = [];
    for (const id of [first, second, third])
        certificates.push(await document('erase', 'contact', id ?? '', '--reason', 'asked', '--yes'));
    const listed = await document('erase', 'list');
    writeFileSync(file, JSON.stringify(listed));
    expect((await gateway('erase', 'list')).stdout).toContain(first);
    // The restored store has the first person, has somebody else in the place of the second, and lacks the third.
    vi.stubEnv('DATABASE_URL', `postgres:///${restored.name}`);
    const native = (id) => id?.split('_')[3] ?? '';
    await restored.sql `UPDATE platform.contact SET external_id = 'somebody else' WHERE tenant = 1 AND site = 1 AND id = ${native(second)}`;
    await restored.sql `DELETE FROM platform.contact WHERE tenant = 1 AND site = 1 AND id = ${native(third)}`;
    vi.stubEnv('GATEWAY_KEYS', key(8));
    expect(await gateway('restored', '--yes', '--erasures', file)).toEqual(refused('GATEWAY_KEYS must hold the key'));
    vi.stubEnv('GATEWAY_KEYS', `${key(8)},${key(7)}`);
    expect(await gateway('restored', '--yes', '--erasures', `${file}.txt`)).toEqual(refused('cannot be read'));
    writeFileSync(`${file}.txt`, '{"key": 1}');
    expect(await gateway('restored', '--yes', '--erasures', `${file}.txt`)).toEqual(refused('is no list of'));
    const ran = await gateway('restored', '--yes', '--erasures', file, '--json');
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining(`${second} is somebody else`) });
    expect(JSON.parse(ran.stdout)).toMatchObject({ erased: 1, absent: 1 });
    expect(await document('restored', '--yes', '--erasures', file)).toMatchObject({ erased: 0, absent: 2 });
    // Certificates are the same, but for the counts of the second time.
    const again = await document('erase', 'contact', first ?? '', '--reason', 'again', '--yes');
    expect({ ...again, counts: {} }).toEqual({ ...certificates[0], counts: {} });
    expect(await document('erase', 'contact', third ?? '', '--reason', 'again', '--yes')).toEqual(certificates[2]);
    expect(await gateway('erase', 'contact', 'ctc_1_1_99999', '--reason', 'x', '--yes')).toEqual(refused('There is no contact'));
    expect(await gateway('erase', 'contact', first ?? '', '--reason', ' ', '--yes')).toEqual(refused('--reason must have'));
    expect((await gateway('erase', 'contact', first ?? '')).code).toBe(2);
    // What the list suppresses stays out: the records of the demo come again.
    const counts = await document('import', join(import.meta.dirname, '../../resources/demo/conversations.ndjson'));
    expect(counts).toMatchObject({ rejected: 0, suppressed: expect.any(Number) });
    expect(Number(counts['suppressed'])).toBeGreaterThan(5);
    // After an upgrade of a large store, the index that erasures need can be missing.
    await restored.sql `DROP INDEX platform.message_visitor`;
    expect(await gateway('erase', 'contact', second ?? '', '--reason', 'asked', '--yes')).toEqual(refused('is not built yet. Run `gateway migrate`'));
});
//# sourceMappingURL=restored.test.js.map