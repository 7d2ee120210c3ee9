import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RECORD_TYPES } from '../../src/sources/engine/records.js';
import { cliDatabase, document, gateway, parse } from '../support/cli.js';
let database;
let folder;
beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gateway-cli-import-'));
    database = await cliDatabase('empty');
});
afterAll(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
});
beforeEach(async () => {
    await database.sql `DELETE FROM platform.organization`;
});
const file = (name) => join(folder, name);
function ndjson(name, records) {
    writeFileSync(file(name), records.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''));
    return file(name);
}
const base = [
    { type: 'organization', external_id: 'acme', name: 'Acme' },
    { type: 'website', external_id: 'shop', organization: 'acme', name: 'Shop', time_zone: 'UTC' },
];
const contacts = (n) => Array.from({ length: n }, (_, i) => ({
    type: 'contact',
    external_id: `c${i}`,
    website: 'shop',
    created_at: '2026-01-01T00:00:00Z',
}));
const stored = async () => (await database.sql `SELECT count(*)::integer AS n FROM platform.contact`)[0]?.['n'];
test('counts, again without effect, and takes several files', async () => {
    const files = [ndjson('a.ndjson', base), ndjson('b.ndjson', contacts(3))];
    expect(await document('import', ...files)).toMatchObject({
        ...{ read: 5, written: 5, unchanged: 0, removed: 0, rejected: 0, dry_run: false },
        types: { organization: { read: 1 }, contact: { written: 3 } },
    });
    expect(await document('import', ...files)).toMatchObject({ read: 5, written: 0, unchanged: 5 });
    const { stdout, stderr } = await gateway('import', ...files);
    expect(stdout).toMatch(/^TYPE +READ +WRITTEN +UNCHANGED +REMOVED +REJECTED\n(.+\n)+total +5 +0 +5 +0 +0\n$/);
    expect(stderr).toMatch(/^read: \d+ of \d+ bytes \(100%\)\n/m);
});
test('rejected lines are reported with line, pointer and code, and the exit code is 1', async () => {
    const mixed = ndjson('mixed.ndjson', [
        ...base,
        'not json',
        { type: 'contact', external_id: 'x', website: 'nowhere', created_at: '2026-01-01T00:00:00Z' },
    ]);
    const { code, stdout, stderr } = await gateway('import', mixed, '--rejects', file('rejects.ndjson'), '--json');
    expect(code).toBe(1);
    expect(parse(stdout)).toMatchObject({ read: 4, written: 2, rejected: 2 });
    expect(stderr).toContain(`2 of 4 lines were rejected. The first reasons:\n  ${mixed}:3  (the whole line)  invalid_json\n  ${mixed}:4  /website  unknown_reference\nAll reasons are in ${file('rejects.ndjson')}.`);
    const rejects = readFileSync(file('rejects.ndjson'), 'utf8').trim().split('\n').map(parse);
    expect(rejects).toMatchObject([
        { file: mixed, line: 3, pointer: '' },
        { file: mixed, line: 4, pointer: '/website' },
    ]);
    const bad = await gateway('import', ndjson('bad.ndjson', ['nothing', 'at all']), '--json');
    expect(bad.code).toBe(1);
    expect(parse(bad.stdout)).toMatchObject({ read: 2, rejected: 2 });
    expect(await document('import', ndjson('none.ndjson', []))).toMatchObject({ read: 0 });
});
test('of many rejected lines the first five reasons are printed', async () => {
    const many = ndjson('many.ndjson', [...base, ...Array.from({ length: 8 }, () => 'not json')]);
    const { code, stderr } = await gateway('import', many);
    expect(code).toBe(1);
    expect(stderr.match(/ndjson:\d+/g)).toEqual([3, 4, 5, 6, 7].map((line) => `ndjson:${line}`));
    expect(stderr).toContain('Write all reasons with --rejects FILE.');
});
test('a conversation without updated_at was last changed when it was created', async () => {
    const at = '2026-01-02T03:04:05Z';
    const visitor = { type: 'visitor', external_id: 'v', website: 'shop', created_at: at };
    const conversation = { type: 'conversation', website: 'shop', visitor: 'v', status: 'closed', platform: 'chat' };
    await document('import', ndjson('times.ndjson', [
        ...base,
        visitor,
        { ...conversation, external_id: 'a', created_at: at },
        { ...conversation, external_id: 'b', created_at: at, updated_at: '2026-02-02T00:00:00Z' },
    ]));
    expect(await database.sql `SELECT external_id, updated_at FROM platform.conversation ORDER BY external_id`).toMatchObject([
        { external_id: 'a', updated_at: new Date(at) },
        { external_id: 'b', updated_at: new Date('2026-02-02T00:00:00Z') },
    ]);
});
test('a place where the rejects cannot be written is refused before the import', async () => {
    const files = ndjson('a.ndjson', base);
    const missing = join(folder, 'missing');
    expect(await gateway('import', files, '--rejects', join(missing, 'rejects.ndjson'))).toEqual({
        code: 1,
        stdout: '',
        stderr: `gateway: There is no folder ${JSON.stringify(missing)}. Make the folder, or name another file.\n`,
    });
    expect(await gateway('import', files, '--rejects', folder)).toMatchObject({
        code: 1,
        stderr: `gateway: ${JSON.stringify(folder)} is a folder. Name a file.\n`,
    });
    expect(await gateway('import', files, '--rejects', '')).toMatchObject({ code: 2, stdout: '' });
    expect(await database.sql `SELECT FROM platform.organization`).toHaveLength(0);
});
test('rejects replace neither an input, nor a link, a pipe or a socket, nor a file with a similar name', async () => {
    const input = ndjson('input.ndjson', [...base, 'not json']);
    const before = readFileSync(input, 'utf8');
    linkSync(input, file('second-name'));
    symlinkSync(input, file('link'));
    symlinkSync(file('nothing'), file('dangling'));
    execFileSync('mkfifo', [file('pipe')]);
    const server = createServer().listen(file('socket'));
    await once(server, 'listening');
    for (const [name, refusal] of [
        ['input.ndjson', 'The import reads '],
        ['second-name', 'The import reads '],
        ['link', ' is not a regular file.'],
        ['dangling', ' is not a regular file.'],
        ['pipe', ' is not a regular file.'],
        ['socket', ' is not a regular file.'],
        ['new/', ' is a folder.'],
        ['input.ndjson/new', ' cannot be written (ENOTDIR).'],
        ['x'.repeat(300), ' cannot be written (ENAMETOOLONG).'],
    ]) {
        const { code, stderr } = await gateway('import', input, '--rejects', `${folder}/${name}`);
        expect([code, stderr], name).toEqual([1, expect.stringContaining(refusal)]);
    }
    server.close();
    expect(await database.sql `SELECT FROM platform.organization`).toHaveLength(0);
    expect(readFileSync(input, 'utf8')).toBe(before);
    expect([lstatSync(file('link')).isSymbolicLink(), lstatSync(file('pipe')).isFIFO()]).toEqual([true, true]);
    // An older import wrote to this name, which anybody can guess.
    symlinkSync(input, file('list.partial'));
    writeFileSync(file('list'), 'the list of the last import');
    expect((await gateway('import', input, '--rejects', file('list'))).code).toBe(1);
    expect(parse(readFileSync(file('list'), 'utf8'))).toMatchObject({ file: input, line: 3 });
    expect(readFileSync(input, 'utf8')).toBe(before);
    expect(readdirSync(folder).filter((name) => name.endsWith('.partial'))).toEqual(['list.partial']);
});
test('--dry-run changes nothing', async () => {
    const files = [ndjson('a.ndjson', [...base, ...contacts(2)])];
    expect(await document('import', '--dry-run', ...files)).toMatchObject({ read: 4, written: 4, dry_run: true });
    expect(await stored()).toBe(0);
    expect((await gateway('import', '--dry-run', ...files)).stdout).toContain('Nothing was changed');
});
test('an organization that does not exist is refused', async () => {
    const ran = await gateway('import', ndjson('a.ndjson', base), '--organization', `org_${'0'.repeat(32)}`);
    expect(ran).toEqual({ code: 1, stdout: '', stderr: 'gateway: The organization does not exist.\n' });
});
describe('interrupted', () => {
    test('says how to go on, and going on finishes the work', async () => {
        const big = ndjson("it's big.ndjson", [...base, ...contacts(30_000)]);
        const running = gateway('import', big);
        await untilStaged();
        process.emit('SIGINT', 'SIGINT');
        const { code, stdout, stderr } = await running;
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain(`gateway: Interrupted. No record is half written. Continue with: gateway import --resume '${big.replace("'", "'\\''")}'\n`);
        expect(await document('import', '--resume', big)).toMatchObject({ read: 30_002, written: 30_002, rejected: 0 });
        expect(await stored()).toBe(30_000);
    });
    async function untilStaged() {
        for (;;) {
            const [row] = await database.sql `SELECT bool_or(unfinished AND line > 0) AS staged FROM gateway.import_run`;
            if (row?.['staged'] === true)
                return;
            await new Promise((resolve) => setTimeout(resolve, 2));
        }
    }
});
describe('--schema', () => {
    test('of one type', async () => {
        const schema = await document('import', '--schema', 'message');
        expect(schema).toMatchObject({
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            title: 'message',
            additionalProperties: false,
        });
        const { stdout } = await gateway('import', '--schema', 'message');
        expect(JSON.parse(stdout)).toEqual(schema);
    });
    test('of all', async () => {
        expect(Object.keys(await document('import', '--schema'))).toEqual(RECORD_TYPES);
    });
});
//# sourceMappingURL=import.test.js.map