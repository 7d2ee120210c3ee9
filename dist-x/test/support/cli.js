import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { expect, vi } from 'vitest';
import { run } from '../../src/cli/program.js';
import { freshDatabase } from './database.js';
const wired = {
    serve: () => Promise.reject(new Error('serve is main.ts’s')),
    generate: () => Promise.reject(new Error('generate is main.ts’s')),
};
/** Creates a database for the test file. Commands find its address in DATABASE_URL. */
export async function cliDatabase(template) {
    const database = await freshDatabase(template);
    // The driver takes a socket folder only from PGHOST, not from an address.
    Object.assign(process.env, {
        DATABASE_URL: `postgres:///${database.name}`,
        PGHOST: database.host,
        PGPORT: String(database.port),
        PGUSER: 'postgres',
    });
    return database;
}
export async function gateway(...argv) {
    const written = { stdout: '', stderr: '' };
    const spies = ['stdout', 'stderr'].map((name) => vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
        written[name] += Buffer.from(chunk).toString();
        return true;
    }));
    try {
        const code = await run(argv, wired);
        return { code, ...written };
    }
    finally {
        for (const spy of spies)
            spy.mockRestore();
        process.exitCode = undefined;
    }
}
/** Runs a command with this standard input. */
export async function fed(input, ...argv) {
    const stdin = Readable.from([Buffer.from(input)]); // the command only reads from standard input
    const spy = vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin);
    try {
        return await gateway(...argv);
    }
    finally {
        spy.mockRestore();
    }
}
/** What a refused command prints: nothing on standard output, and a text with `said` on standard error. */
export const refused = (said, code = 1) => ({ code, stdout: '', stderr: expect.stringContaining(said) });
/** Runs a command that must succeed. Returns the JSON document on its one line of standard output. */
export async function document(...argv) {
    const { code, stdout, stderr } = await gateway(...argv, '--json');
    if (code !== 0 || !/^[^\n]+\n$/.test(stdout))
        throw new Error(`exit code ${code}: ${stdout}${stderr}`);
    return parse(stdout);
}
export function parse(line) {
    const value = JSON.parse(line);
    if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new Error(`not an object: ${line}`);
    return Object.fromEntries(Object.entries(value));
}
export function text(from, member) {
    const value = from[member];
    if (typeof value !== 'string')
        throw new Error(`${member} is not text`);
    return value;
}
/** Creates an app and an installation in the demo organization, ready for a credential. */
export async function demoApp() {
    const made = await document('app', 'create', '--organization', 'larkspur', '--name', 'Test agent');
    return { app: text(made, 'app_id'), installation: text(made, 'installation_id') };
}
export const issueArguments = (installation) => [
    ...['credential', 'issue', '--installation', installation, '--environment', 'test'],
    ...['--website', 'larkspur-us', '--scopes', 'all'],
];
export const issue = (installation, ...more) => document(...issueArguments(installation), ...more);
export const digest = (secret) => createHash('sha256').update(secret).digest();
export async function dump({ sql }) {
    const tables = await sql `
    SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema IN ('platform', 'gateway', 'public') AND table_type = 'BASE TABLE'`;
    const parts = [];
    for (const { name } of tables) {
        const rows = await sql.unsafe(`SELECT t::text AS row FROM ${name} t`);
        parts.push(...rows.map(({ row }) => row));
    }
    const all = parts.join('\n');
    const bytes = [...all.matchAll(/\\x((?:[0-9a-f]{2})+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'));
    return `${all}\n${bytes.join('\n')}`;
}
//# sourceMappingURL=cli.js.map