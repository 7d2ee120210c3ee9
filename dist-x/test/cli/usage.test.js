import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliDatabase, demoApp, gateway, issueArguments, refused } from '../support/cli.js';
let database;
let installation;
beforeAll(async () => {
    database = await cliDatabase('demo');
    ({ installation } = await demoApp());
});
afterAll(() => database.close());
const credentials = async () => (await database.sql `SELECT count(*)::integer AS n FROM gateway.credential`)[0]?.['n'];
describe('wrong usage: exit code 2, one line that helps, nothing on standard output', () => {
    test.each([
        ['no such command', ['frob'], 'unknown command'],
        ['no such option', ['app', 'list', '--frob'], 'unknown option'],
        ['too many arguments', ['migrate', 'now'], 'too many arguments'],
        ['app without a name', ['app', 'create', '--organization', 'larkspur'], '--name'],
        ['an empty name', ['app', 'create', '--organization', 'larkspur', '--name', ' '], 'A name has'],
        ['a quota of nothing', ['app', 'update', 'Demo agent', '--burst', '0'], 'whole number'],
        ['a quota beyond all need', ['app', 'update', 'Demo agent', '--burst', '1000001'], 'whole number'],
        ['an operation that is none', ['app', 'update', 'Demo agent', '--switch-off', 'No-Name'], 'names of operations'],
        [
            'off and on',
            ['app', 'update', 'Demo agent', '--switch-off', 'search', '--switch-on', 'search'],
            'both name the same operation',
        ],
        ['nothing to update', ['app', 'update', 'Demo agent'], 'nothing to change'],
        ['no credential', ['credential', 'show'], 'CRD'],
        ['nothing to change', ['credential', 'update', 'crd_x'], 'nothing to change'],
        ['only --json', ['credential', 'update', 'crd_x', '--json'], 'nothing to change'],
        [
            'set and cleared',
            ['credential', 'update', 'crd_x', '--clear', 'data-access', '--data-access', 'pii'],
            'contradicts',
        ],
        ['clearing what must be', ['credential', 'update', 'crd_x', '--clear', 'website'], 'Expected one of channel'],
        ['an overlap without unit', ['credential', 'rotate', 'crd_x', '--overlap', '60'], '30s, 15m, 24h or 90d'],
        [
            'issue of nothing',
            ['credential', 'issue'],
            "'--installation <INS>', '--environment <ENV>', '--website <WEB>', '--scope <SCOPE>' or '--scopes <SET>'",
        ],
        ['an import of nothing', ['import'], 'FILE'],
        ['no such type', ['import', '--schema', 'zebra'], 'The record types are organization, website'],
        ['a rehearsal that resumes', ['import', 'x', '--dry-run', '--resume'], 'cannot be used'],
        ['a clock that is none', ['demo', '--now', 'yesterday'], 'RFC 3339'],
        ['a date that is none', ['demo', '--now', '2026-13-01T00:00:00Z'], 'RFC 3339'],
    ])('%s', async (_, argv, help) => {
        const { code, stdout, stderr } = await gateway(...argv);
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toContain(help);
        expect(stderr).not.toContain('    at ');
    });
    test.each([
        ['no website', ['--scopes', 'all'], '--website'],
        ['no scope', ['--website', 'larkspur-us'], '--scope'],
        ['unknown scope', ['--website', 'larkspur-us', '--scope', 'conversation_reed'], 'Did you mean conversation_read?'],
        ['scope in another order', ['--website', 'larkspur-us', '--scope', 'read:contact'], 'Did you mean contact_read?'],
        ['unknown set', ['--website', 'larkspur-us', '--scopes', 'most'], 'all and read'],
        ['unknown flag', ['--website', 'larkspur-us', '--scopes', 'all', '--data-access', 'all'], 'message_content, pii'],
    ])('issue with %s', async (_, options, help) => {
        const before = await credentials();
        const ran = await gateway('credential', 'issue', '--installation', installation, '--environment', 'test', ...options);
        expect(ran).toMatchObject(refused(help, 2));
        expect(await credentials()).toBe(before);
    });
    test.each([
        ['--environment', 'staging'],
        ['--expires', '0s'],
        ['--expires', '366d'],
        ['--expires', '90'],
        ['--expires', '1.5h'],
        ['--expires', '-1d'],
        ['--expires', '1w'],
        ['--callback', 'http://a.example/cb'],
        ['--callback', 'https://a.example/cb#'],
        ['--callback', 'https://user@a.example/cb'],
        ['--callback', 'https://:pw@a.example/cb'],
        ['--callback', 'https://*.a.example/cb'],
        ['--callback', 'https://a.example/c b'],
        ['--callback', 'https:\\\\a.example\\cb'],
        ['--callback', 'javascript:alert(1)'],
        ['--callback', '/cb'],
        ['--origin', 'https://a.example/'],
        ['--origin', 'https://a.example/app'],
        ['--origin', 'https://A.example'],
        ['--origin', 'https://a.example:443'],
        ['--origin', 'https://*.a.example'],
        ['--origin', 'ftp://a.example'],
        ['--origin', 'null'],
    ])('%s %s', async (option, value) => {
        const { code, stdout, stderr } = await gateway(...issueArguments(installation), option, value);
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).toContain(option);
    });
    test.each([
        ['no address', 'localhost'],
        ['no range', '10.0.0.0/8,'],
        ['bits after the prefix', '10.0.0.1/8'],
        ['twenty-one', Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`).join()],
    ])('addresses: %s', async (_, ranges) => {
        const before = await credentials();
        const { code, stdout, stderr } = await gateway(...issueArguments(installation), '--allow-ip', ranges);
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
        expect(stderr).not.toContain(ranges);
        expect(stderr).toMatch(/203\.0\.113\.7|at most 20 address ranges/);
        expect(await credentials()).toBe(before);
    });
    test('eleven callbacks', async () => {
        const callbacks = Array.from({ length: 11 }, (_, i) => ['--callback', `https://a.example/${i}`]).flat();
        expect(await gateway(...issueArguments(installation), ...callbacks)).toMatchObject({ code: 2 });
        expect(await gateway(...issueArguments(installation), ...callbacks.slice(2))).toMatchObject({ code: 0 });
    });
});
describe('refused: exit code 1, one sentence, nothing on standard output', () => {
    test.each([
        [['app', 'create', '--organization', 'nobody', '--name', 'x'], 'There is no organization "nobody".'],
        [['app', 'update', 'nobody', '--burst', '9'], 'There is no app "nobody".'],
        [['credential', 'show', 'crd_none'], 'There is no credential "crd_none".'],
        [['credential', 'revoke', 'crd_none'], 'There is no credential "crd_none".'],
        [['credential', 'list', '--installation', 'nobody'], 'There is no installation "nobody".'],
        [['author', 'list', '--website', 'nobody'], 'There is no website "nobody".'],
        [['import', 'nofile'], 'There is no file "nofile".'],
        [['import', '/'], 'The file "/" cannot be read (EISDIR).'],
        [['website', 'list', '--organization', 'nobody'], 'There is no organization "nobody".'],
        [['demo'], 'The store is not empty. The demo loads only into an empty store.'],
    ])('%j', async (argv, sentence) => {
        for (const flags of [[], ['--json']]) {
            expect(await gateway(...argv, ...flags)).toEqual({ code: 1, stdout: '', stderr: `gateway: ${sentence}\n` });
        }
    });
    test('a store that cannot be reached', async () => {
        const url = process.env['DATABASE_URL'];
        process.env['DATABASE_URL'] = 'postgres://someone:hidden@127.0.0.1:1/none';
        try {
            const { code, stdout, stderr } = await gateway('doctor', '--json');
            expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
            expect(stderr).toMatch(/^gateway: DATABASE_URL cannot be reached \(127\.0\.0\.1:1\/none\)[^\n]+\n$/);
        }
        finally {
            process.env['DATABASE_URL'] = url;
        }
    });
});
test.each([
    ['--help', ['serve', 'migrate', 'demo', 'import', 'app', 'credential', 'author', 'doctor']],
    ['credential --help', ['issue', 'list', 'show', 'update', 'rotate', 'revoke']],
    ['credential update --help', ['--clear', '--expires', '--website', '--json']],
])('%s', async (argv, words) => {
    const { code, stdout } = await gateway(...argv.split(' '));
    expect(code).toBe(0);
    for (const word of words)
        expect(stdout).toContain(word);
});
//# sourceMappingURL=usage.test.js.map