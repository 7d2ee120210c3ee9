import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../src/config/package.js';
const TABLES = `organization website native_id subsite channel team operator contact visitor visitor_contact conversation
  conversation_contact ai_feature message file file_chunk note disposition saved_response saved_link offer
  ai_result`.split(/\s+/);
/** Every row of every platform table in a fixed order, without the random public id of organizations. */
export async function dump(sql) {
    const all = {};
    for (const table of TABLES) {
        const rows = await sql.unsafe(`SELECT (to_jsonb(t) - 'public_id')::text AS row FROM platform.${table} t ORDER BY 1`);
        all[table] = rows.map(({ row }) => row);
    }
    return all;
}
const POINTS = {
    visitor_id: 'visitor',
    contact_id: 'contact',
    channel_id: 'channel',
    team_id: 'team',
    subsite_id: 'subsite',
    operator_id: 'operator',
    conversation_id: 'conversation',
    message_id: 'message',
    file_id: 'file',
    ai_feature_id: 'ai_feature',
    in_reply_to: 'message',
};
/** The stored content with external_ids, so that tests can compare runs that assign different ids. */
export async function content(sql) {
    const tables = new Map();
    for (const table of TABLES) {
        const rows = await sql.unsafe(`SELECT to_jsonb(t) - 'public_id' AS row FROM platform.${table} t`);
        tables.set(table, rows.map(({ row }) => row));
    }
    const name = (table, site, id) => {
        if (id === null || id === undefined)
            return null;
        const key = table === 'website' ? 'site' : 'id';
        const found = tables.get(table)?.find((row) => row[key] === id && (table === 'website' || row['site'] === site));
        return found?.['external_id'] ?? `dangling ${table}`;
    };
    const all = {};
    for (const [table, rows] of tables) {
        if (table === 'native_id')
            continue;
        all[table] = rows
            .map((row) => {
            const { id: _, site, tenant: __, ...rest } = row;
            for (const [column, value] of Object.entries(rest)) {
                const points = POINTS[column];
                if (points !== undefined)
                    rest[column] = name(points, site, value);
                if (column === 'author_id')
                    rest[column] = name(row['author_type'] === 'visitor' ? 'visitor' : 'operator', site, value);
                if (column === 'team_ids' && Array.isArray(value))
                    rest[column] = value.map((id) => name('team', site, id)).sort();
            }
            return JSON.stringify({ ...rest, website: name('website', null, site) });
        })
            .sort();
    }
    return all;
}
const day = (n) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString();
/** A small support desk with every record type and `scale` conversations. All times differ. */
export function desk(scale) {
    const records = [
        { type: 'organization', external_id: 'org', name: 'Desk' },
        {
            type: 'operator',
            external_id: 'ann',
            organization: 'org',
            name: 'Ann',
            role: 'owner',
            websites: ['w0', 'w1'],
            teams: ['t0', 't1'],
        },
        { type: 'operator', external_id: 'bot', organization: 'org', name: 'Bot', role: 'bot', websites: ['w0', 'w1'] },
    ];
    for (const w of [0, 1]) {
        const website = `w${w}`;
        records.push({ type: 'website', external_id: website, organization: 'org', name: `Site ${w}`, time_zone: 'Europe/Berlin' }, { type: 'subsite', external_id: `s${w}`, website, name: 'Shop' }, { type: 'channel', external_id: `c${w}`, website, platform: 'chat' }, { type: 'team', external_id: `t${w}`, website, name: 'First line' }, {
            type: 'ai_feature',
            external_id: `f${w}`,
            website,
            name: 'Autopilot',
            ai_type: 'autopilot',
            versions: [{ version: 2, active: true }, { version: 3 }],
        }, { type: 'disposition', external_id: `d${w}`, website, value: 'Solved', label: 'Solved' }, {
            type: 'saved_response',
            external_id: `r${w}`,
            website,
            language: 'EN-us',
            label: 'Hi',
            content: 'Hello',
            category_name: 'Start',
        }, { type: 'saved_link', external_id: `l${w}`, website, label: 'Docs', url: 'https://docs.example/' }, { type: 'offer', external_id: `o${w}`, website, name: 'Sale', offer_type: 'banner', status: 'active' });
    }
    for (let i = 0; i < scale; i++) {
        const w = i % 2;
        const at = (n) => day(i * 100 + n);
        const [contact, visitor, conversation] = [`con${i}`, `vis${i}`, `cnv${i}`];
        records.push({
            type: 'contact',
            external_id: contact,
            website: `w${w}`,
            name: `Name ${i}`,
            mobile: '030 901820',
            country: 'DE',
            created_at: at(0),
        }, { type: 'visitor', external_id: visitor, website: `w${w}`, contacts: [contact], created_at: at(1) }, {
            type: 'conversation',
            external_id: conversation,
            website: `w${w}`,
            visitor,
            contacts: [contact],
            channel: `c${w}`,
            team: `t${w}`,
            subsite: `s${w}`,
            operator: 'ann',
            status: 'assigned',
            platform: 'chat',
            created_at: at(2),
            updated_at: at(9),
        }, {
            type: 'message',
            external_id: `${conversation}-1`,
            conversation,
            author_type: 'visitor',
            author: visitor,
            visibility: 'public',
            kind: 'html',
            text: `<p>Hello <b>${i}</b></p><script>no()</script>`,
            created_at: at(3),
        }, {
            type: 'message',
            external_id: `${conversation}-2`,
            conversation,
            author_type: 'bot',
            author: 'bot',
            visibility: 'public',
            kind: 'text',
            text: `Answer ${i}`,
            created_at: at(5),
            in_reply_to: `${conversation}-1`,
            ai_generated: true,
            ai_feature: `f${w}`,
        }, { type: 'ai_result', external_id: `air${i}`, conversation, topics: ['a', 'b'], sentiment: 0.25, confidence: 0.5 }, { type: 'note', external_id: `not${i}`, visitor, operator: 'ann', text: 'Called back', created_at: at(6) });
        if (i % 10 === 0) {
            const bytes = Buffer.alloc(1000 + i, i % 251).toString('base64');
            records.push({
                type: 'file',
                external_id: `fil${i}`,
                message: `${conversation}-1`,
                name: `dir/../p${i}.txt`,
                media_type: 'text/plain',
                content_base64: bytes,
                created_at: at(4),
            });
        }
    }
    return records;
}
export const ndjson = (records) => records.map((record) => `${JSON.stringify(record)}\n`).join('');
export function shuffled(list, seed) {
    let state = seed;
    const random = () => {
        state = (state * 48_271) % 2_147_483_647;
        return state;
    };
    return list
        .map((one) => ({ one, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ one }) => one);
}
export const temporary = () => mkdtempSync(join(tmpdir(), 'import-'));
/** Writes a script that imports as a process that a test kills. Its arguments: a target as JSON, a file. Needs dist/. */
export function importerIn(folder) {
    const script = join(folder, 'child.mjs');
    const moduleAt = (path) => JSON.stringify(new URL(`dist/src/${path}`, packageRoot).href);
    writeFileSync(script, `import { openDatabase } from ${moduleAt('store/driver/postgres.js')};
import { importFiles } from ${moduleAt('sources/files/import.js')};
const [, , target, file] = process.argv;
const db = openDatabase({ target: JSON.parse(target), connections: 3, statementTimeout: 60000, name: 'import-child' });
const say = (what) => process.stdout.write(JSON.stringify(what) + '\\n');
const result = await importFiles(db, { files: [file], resume: true, onProgress: say });
say({ result });
await db.close();
`);
    return script;
}
//# sourceMappingURL=import.js.map