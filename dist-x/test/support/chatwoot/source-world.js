import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { inject } from 'vitest';
import { openChatwoot } from '../../../src/sources/chatwoot/chatwoot.js';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.js';
import { parseRecord } from '../../../src/sources/engine/parse-record.js';
const SCHEMA = readFileSync(new URL('./schema.sql', import.meta.url), 'utf8');
const TEMPLATE = 'chatwoot_template';
/** Makes the database with Chatwoot's tables that worlds clone. The first world of a run makes it. */
async function makeTemplate(admin, connect) {
    await admin `SELECT pg_advisory_lock(hashtext(${TEMPLATE}))`;
    const there = await admin `SELECT FROM pg_database WHERE datname = ${TEMPLATE}`;
    if (there.length === 0) {
        await admin.unsafe(`CREATE DATABASE ${TEMPLATE} TEMPLATE template0`);
        const sql = connect(TEMPLATE);
        await sql.unsafe(SCHEMA);
        await sql.end();
    }
    await admin `SELECT pg_advisory_unlock(hashtext(${TEMPLATE}))`;
}
/** A new database with Chatwoot's tables, or a copy of the database `template`, and its own role. */
export async function chatwootWorld(options = {}) {
    const { encoding, schema = true } = options;
    const { host, port } = inject('server');
    const name = `c_${randomBytes(6).toString('hex')}`;
    const role = `r_${name}`;
    const base = { host, port, max: 1, onnotice: () => undefined, connection: { TimeZone: 'UTC' } };
    const open = (database) => postgres({ ...base, database, username: 'postgres' });
    const admin = open('postgres');
    const template = options.template ?? (schema && encoding === undefined ? TEMPLATE : undefined);
    if (template === TEMPLATE)
        await makeTemplate(admin, open);
    const how = encoding === undefined ? '' : ` ENCODING '${encoding}' LOCALE 'C'`;
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template ? `${template} STRATEGY FILE_COPY` : `template0${how}`}`);
    const opened = [];
    const sources = [];
    const connect = (username = 'postgres') => {
        const connection = postgres({ ...base, database: name, username });
        opened.push(connection);
        return connection;
    };
    const sql = connect();
    if (schema && template === undefined)
        await sql.unsafe(SCHEMA);
    const address = (username = role) => `postgres://${username}@${encodeURIComponent(host)}:${port}/${name}`;
    return {
        sql,
        role,
        host,
        port,
        database: name,
        address,
        grant: async (mode) => {
            await sql.unsafe(chatwootGrants({ role, mode }));
        },
        connect,
        open: (settings = {}) => {
            const source = openChatwoot({
                address: address(),
                account: 1,
                mode: 'live',
                period: 1,
                timeZone: 'Europe/Berlin',
                reader: 'src_1',
                ...settings,
            });
            sources.push(source);
            return source;
        },
        close: async () => {
            await Promise.all(sources.map((source) => source.close()));
            await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`).catch(() => undefined);
            await Promise.all(opened.map((one) => one.end({ timeout: 1 })));
            await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
            await admin.unsafe(`DROP ROLE IF EXISTS ${role}`);
            await admin.end();
        },
    };
}
export async function loaded(source) {
    const all = [];
    let after = null;
    do {
        const page = await source.load(after);
        all.push(...recordsIn(page.changes));
        after = page.after;
    } while (after !== null);
    return all;
}
/** Reads all pages of changes and returns the place after them. */
export async function followed(source, from) {
    const changes = [];
    for (let after = from;;) {
        const page = await source.changes(after);
        changes.push(...page.changes);
        if (page.after === null)
            throw new Error('following has no end');
        after = page.after;
        if (!page.more)
            return { changes, after };
    }
}
export const recordsIn = (changes) => changes.flatMap((change) => ('record' in change ? [told(change.record)] : []));
export const goneIn = (changes) => changes.flatMap((change) => ('gone' in change ? [change.gone.external_id] : [])).sort();
function told(record) {
    const { type, external_id } = record;
    if (typeof type !== 'string' || typeof external_id !== 'string')
        throw new Error('a record has no type or no id');
    return { ...record, type, external_id };
}
/** Why the import would refuse a record. A file without content has `size`, which the import learns later. */
export function problemsOf({ size, ...record }) {
    const parsed = parseRecord(size === undefined ? record : { ...record, content_base64: '' });
    return parsed.ok ? [] : parsed.problems.map(({ pointer, code }) => `${code} ${pointer}`);
}
//# sourceMappingURL=source-world.js.map