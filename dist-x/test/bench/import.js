import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { packageRoot } from '../../src/config/package.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { migrate } from '../../src/store/open/migrate.js';
import { generator, pickFrom } from '../support/random.js';
import { median } from './report.js';
const CONVERSATIONS = 50_000;
const TURNS = 20;
const PEOPLE = 10_000;
const script = fileURLToPath(new URL('dist/test/bench/importing.js', packageRoot));
const northwind = fileURLToPath(new URL('../shared/data/northwind-dev.ndjson', packageRoot));
const run = promisify(execFile);
/**
 * Compares the import with a plain COPY of the messages of the same file. The target of the COPY is a table without
 * indexes, keys and triggers. Each import runs in a process of its own, with a new database.
 *
 * The last two files have the same million messages. In the first of these files, each conversation is in one piece. In
 * the second of these files, all first messages come first, then all second messages, and so on.
 */
export async function importing(store, print) {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-import-'));
    try {
        const heads = [
            'records',
            'seconds',
            'records/s',
            'COPY rows/s',
            'COPY / import',
            'CPU seconds',
            'RSS at 10 %',
            'at 100 %',
        ];
        print(row('file', heads));
        if (existsSync(northwind))
            await compare(store, print, 'northwind-dev', northwind, folder, 5);
        for (const [name, together] of [
            ['by conversation', TURNS],
            ['by turn', 1],
        ]) {
            const path = join(folder, 'generated.ndjson');
            await write(path, generated(together));
            await compare(store, print, `a million messages, ${name}`, path, folder, 1);
            rmSync(path);
        }
    }
    finally {
        rmSync(folder, { recursive: true });
    }
}
async function compare(store, print, name, path, folder, rounds) {
    const rows = join(folder, 'rows.txt');
    await write(rows, messagesOf(path));
    const server = { host: store.host, port: store.port, username: 'postgres', onnotice: () => undefined };
    const admin = postgres({ ...server, database: 'gateway', max: 1 });
    const copies = [];
    const imports = [];
    for (let round = 0; round < rounds; round++) {
        const database = `import_${round}`;
        await admin `CREATE DATABASE ${admin(database)}`;
        const target = { host: store.host, port: store.port, username: 'postgres', database };
        const sql = postgres({ ...server, database, max: 1 });
        copies.push(await copied(sql, rows));
        await sql.end();
        const db = openDatabase({ target, connections: 1, statementTimeout: 600_000, name: 'bench' });
        await migrate(db);
        await db.close();
        const { stdout } = await run(process.execPath, [script, JSON.stringify(target), path]);
        imports.push(JSON.parse(stdout));
        await admin `DROP DATABASE ${admin(database)}`;
    }
    await admin.end();
    rmSync(rows);
    const of = (take) => median(imports.map(take));
    const [copy, rate] = [median(copies), of((one) => one.read / one.seconds)];
    const figures = [
        of((one) => one.read).toFixed(0),
        of((one) => one.seconds).toFixed(2),
        rate.toFixed(0),
        copy.toFixed(0),
        (copy / rate).toFixed(1),
        of((one) => one.cpu).toFixed(2),
        `${of((one) => one.tenth).toFixed(0)} MB`,
        `${of((one) => one.peak).toFixed(0)} MB`,
    ];
    print(row(name, figures));
}
const row = (name, cells) => name.padEnd(36) + cells.map((cell) => cell.padStart(14)).join('');
/** Rows a second that COPY writes into a bare table. */
async function copied(sql, rows) {
    await sql `CREATE TABLE bare (external_id text, conversation text, author_type text, author text, visibility text,
                               kind text, text text, language text, created_at timestamptz)`;
    const began = performance.now();
    await pipeline(createReadStream(rows), await sql `COPY bare FROM STDIN`.writable());
    const seconds = (performance.now() - began) / 1000;
    const [count] = await sql `SELECT count(*)::integer AS n FROM bare`;
    await sql `DROP TABLE bare`;
    return (count?.n ?? 0) / seconds;
}
async function write(path, lines) {
    const file = createWriteStream(path);
    let held = '';
    for await (const line of lines) {
        held += line;
        if (held.length < 65_536)
            continue;
        if (!file.write(held))
            await once(file, 'drain');
        held = '';
    }
    file.end(held);
    await once(file, 'close');
}
/** The messages of a file, in the text format of COPY. */
async function* messagesOf(path) {
    const escapes = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
    for await (const line of createInterface({ input: createReadStream(path) })) {
        const record = JSON.parse(line);
        if (record.type !== 'message')
            continue;
        const { external_id, conversation, author_type, author, visibility, kind, text, language, created_at } = record;
        const cells = [external_id, conversation, author_type, author, visibility, kind, text, language, created_at];
        yield `${cells.map((cell) => cell?.replaceAll(/[\\\n\r\t]/g, (found) => escapes[found] ?? '') ?? '\\N').join('\t')}\n`;
    }
}
/** Writes the lines of a million messages. `together` messages of one conversation follow each other. */
function* generated(together) {
    const random = generator(20_261_123);
    const words = vocabulary(random);
    const line = (record) => `${JSON.stringify(record)}\n`;
    const at = (seconds) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
    const websites = ['shop', 'help'];
    const siteOf = (i) => websites[i % 2] ?? '';
    yield line({ type: 'organization', external_id: 'org', name: 'Bench' });
    for (const external_id of websites)
        yield line({ type: 'website', external_id, organization: 'org', name: external_id, time_zone: 'Europe/Berlin' });
    for (let i = 0; i < 20; i++) {
        const name = `Operator ${i}`;
        yield line({ type: 'operator', external_id: `op${i}`, organization: 'org', name, role: 'operator', websites });
    }
    for (let i = 0; i < PEOPLE; i++) {
        const [website, name, created_at] = [siteOf(i), `${pickFrom(words, random)} ${pickFrom(words, random)}`, at(i)];
        yield line({ type: 'contact', external_id: `c${i}`, website, name, email: `p${i}@mail.example`, created_at });
        yield line({ type: 'visitor', external_id: `v${i}`, website, nickname: name, contacts: [`c${i}`], created_at });
    }
    for (let i = 0; i < CONVERSATIONS; i++) {
        const person = i % PEOPLE;
        yield line({
            type: 'conversation',
            external_id: `k${i}`,
            website: siteOf(i),
            visitor: `v${person}`,
            contacts: [`c${person}`],
            operator: `op${i % 20}`,
            status: i % 10 === 0 ? 'assigned' : 'closed',
            platform: 'chat',
            subject: `${pickFrom(words, random)} ${pickFrom(words, random)}`,
            created_at: at(i * 60),
        });
    }
    for (let from = 0; from < TURNS; from += together) {
        for (let i = 0; i < CONVERSATIONS; i++) {
            for (let turn = from; turn < from + together; turn++) {
                const asks = turn % 2 === 0;
                yield line({
                    type: 'message',
                    external_id: `k${i}-${turn}`,
                    conversation: `k${i}`,
                    author_type: asks ? 'visitor' : 'operator',
                    author: asks ? `v${i % PEOPLE}` : `op${i % 20}`,
                    visibility: turn === 7 ? 'internal' : 'public',
                    kind: 'text',
                    text: sentence(words, random),
                    language: 'en',
                    created_at: at(i * 60 + turn * 40),
                });
            }
        }
    }
}
/** Words of two to ten letters. */
export const vocabulary = (random) => Array.from({ length: 20_000 }, () => Array.from({ length: 1 + Math.floor(random() * 5) }, () => pickFrom([...'bdfgklmnprst'], random) + pickFrom([...'aeiou'], random)).join(''));
/** A text of 5 to 25 words. The first words of the vocabulary are the most frequent words, as in a language. */
export const sentence = (words, random) => Array.from({ length: 5 + Math.floor(random() * 21) }, () => words[Math.floor(words.length ** random()) - 1]).join(' ');
//# sourceMappingURL=import.js.map