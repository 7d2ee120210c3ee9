import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_FAMILIES, EVENT_KINDS } from '../../src/core/events.js';
import { freshDatabase } from '../support/database.js';
import { appended, heads, plant, receipts } from '../support/events/journal.js';
import { openTestGateway } from '../support/gateway.js';
let database;
beforeAll(async () => {
    database = await freshDatabase();
    await plant(database.sql);
    expect(await receipts(database.sql)).toEqual([]);
});
afterAll(() => database.close());
const row = (table, columns, values) => `INSERT INTO platform.${table} (tenant, site, id, external_id, ${columns}) VALUES (1, 1, 90, '${table}90', ${values})`;
/** The columns of a conversation that a test must set, and their values. */
const TIMED = 'status, platform, created_at, updated_at';
const TIMES = "'closed', 'web', now(), now()";
describe('plain SQL: insert, update and delete of each table', () => {
    const OF_CONVERSATION = 'conversation.changed conversation.removed';
    it.each([
        ['contact', 'created_at', 'now()', 'name', 'visitor', 'privacy.removed visitor.removed'],
        ['visitor', 'created_at', 'now()', 'nickname', 'visitor', 'privacy.removed visitor.removed'],
        ['note', 'visitor_id, text, created_at', "1, 'x', now()", 'text', 'visitor', 'visitor.removed'],
        ['conversation', `visitor_id, ${TIMED}`, `1, ${TIMES}`, 'subject', 'conversation', 'conversation.removed'],
        [
            'message',
            'conversation_id, author_type, visibility, kind, created_at',
            "1, 'visitor', 'public', 'text', now()",
            'text',
            'conversation',
            OF_CONVERSATION,
        ],
        [
            'file',
            'conversation_id, message_id, name, media_type, size, version, created_at',
            "1, 1, 'f', 'a/b', 0, '0123456789abcdef', now()",
            'name',
            'conversation',
            OF_CONVERSATION,
        ],
        ['ai_result', 'conversation_id', '1', 'outcome', 'conversation', OF_CONVERSATION],
        ['operator', 'name, role', "'n', 'admin'", 'name', 'operator', 'operator.removed'],
        ['team', 'name', "'n'", 'name', 'operator', 'operator.removed'],
        ['channel', 'platform', "'web'", 'name', 'website', 'website.removed'],
        ['subsite', 'name', "'n'", 'name', 'website', 'website.removed'],
        ['disposition', 'value, label', "'v', 'l'", 'label', 'website', 'website.removed'],
        [
            'saved_response',
            'language, label, content, category_name',
            "'en', 'l', 'c', 'n'",
            'label',
            'website',
            'website.removed',
        ],
        ['saved_link', 'label, url', "'l', 'u'", 'label', 'website', 'website.removed'],
        ['offer', 'name, type, status', "'n', 't', 's'", 'name', 'website', 'website.removed'],
        ['ai_feature', 'name, type, versions', "'n', 't', '{1}'", 'name', 'website', 'website.removed'],
    ])('%s', async (table, columns, values, column, family, removed) => {
        const { sql } = database;
        const changed = [`1_1 ${family}.changed`];
        const update = `UPDATE platform.${table} SET ${column} = 'N' WHERE`;
        const mine = `(tenant, site, id) = (1, 1, 90)`;
        expect(await appended(sql, row(table, columns, values))).toEqual(changed);
        expect(await appended(sql, `${update} ${mine}`)).toEqual(changed);
        expect(await appended(sql, `${update} ${mine}`)).toEqual([]);
        expect(await appended(sql, `${update} false`)).toEqual([]);
        expect(await appended(sql, `DELETE FROM platform.${table} WHERE false`)).toEqual([]);
        expect(await appended(sql, `DELETE FROM platform.${table} WHERE ${mine}`)).toEqual(removed.split(' ').map((type) => `1_1 ${type}`));
    });
    it('website, links and held families', async () => {
        const { sql } = database;
        const cases = [
            [
                "INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (1, 9, 'w9', 'W', 'UTC')",
                ['1_9 website.changed'],
            ],
            ["UPDATE platform.website SET name = 'X' WHERE site = 9", ['1_9 website.changed']],
            ['DELETE FROM platform.website WHERE site = 9', ['1_9 website.removed']],
            ['INSERT INTO platform.visitor_contact VALUES (1, 1, 1, 1)', ['1_1 visitor.changed']],
            ['DELETE FROM platform.visitor_contact', ['1_1 visitor.changed']],
            ['INSERT INTO platform.conversation_contact VALUES (1, 1, 1, 1)', ['1_1 conversation.changed']],
            ['DELETE FROM platform.conversation_contact', ['1_1 conversation.changed']],
            ["INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 2, 'queue')", ['1_2 capture.changed']],
            ['DELETE FROM gateway.family_hold', ['1_2 capture.changed']],
            [
                'TRUNCATE platform.offer',
                ['1_1', '1_2', '1_3', '2_1'].flatMap((w) => [`${w} capture.gap`, `${w} website.gap`]),
            ],
        ];
        for (const [statement, expected] of cases)
            expect(await appended(sql, statement), statement).toEqual(expected);
    });
    it('who serves a conversation is the queue’s', async () => {
        const { sql } = database;
        const both = ['1_1 conversation.changed', '1_1 queue.changed'];
        const cases = [
            [
                row('conversation', 'team_id, status, platform, created_at, updated_at', "1, 'assigned', 'web', now(), now()"),
                both,
            ],
            ['UPDATE platform.conversation SET operator_id = 1 WHERE id = 90', both],
            ['UPDATE platform.conversation SET team_id = 2, operator_id = 2 WHERE id = 90', both],
            ["UPDATE platform.conversation SET status = 'closed' WHERE id = 90", ['1_1 conversation.changed']],
            [
                'DELETE FROM platform.operator WHERE id = 2',
                ['1_1 conversation.changed', '1_1 operator.removed', '1_1 queue.changed'],
            ],
            ['DELETE FROM platform.conversation WHERE id = 90', ['1_1 conversation.removed']],
        ];
        for (const [statement, expected] of cases)
            expect(await appended(sql, statement), statement).toEqual(expected);
    });
    it('one that touches several websites: each has its own', async () => {
        expect(await appended(database.sql, "UPDATE platform.visitor SET nickname = 'several' WHERE (tenant, site) <> (1, 2)")).toEqual(['1_1 visitor.changed', '1_3 visitor.changed', '2_1 visitor.changed']);
    });
    it('a contact that is never shown again is removed; a website takes its people with it', async () => {
        const { sql } = database;
        const cases = [
            [
                'UPDATE platform.contact SET deleted = true WHERE (tenant, site, id) = (1, 1, 1)',
                ['1_1 privacy.removed', '1_1 visitor.changed', '1_1 visitor.removed'],
            ],
            ["UPDATE platform.contact SET name = 'D' WHERE (tenant, site, id) = (1, 1, 1)", ['1_1 visitor.changed']],
            ['UPDATE platform.contact SET deleted = false WHERE (tenant, site, id) = (1, 1, 1)', ['1_1 visitor.changed']],
            [
                `INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (1, 8, 'w8', 'W', 'UTC');
         INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (1, 8, 1, 'v8', now())`,
                ['1_8 visitor.changed', '1_8 website.changed'],
            ],
            [
                'DELETE FROM platform.website WHERE site = 8',
                ['1_8 privacy.removed', '1_8 visitor.removed', '1_8 website.removed'],
            ],
        ];
        for (const [statement, expected] of cases)
            expect(await appended(sql, statement), statement).toEqual(expected);
    });
    it('by every kind of statement', async () => {
        const { sql } = database;
        const values = "(1, 2, 70, 'v70', now())";
        const cases = [
            [
                `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES ${values}`,
                ['1_2 visitor.changed'],
            ],
            [
                `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES ${values} ON CONFLICT DO NOTHING`,
                [],
            ],
            [
                `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES ${values}
           ON CONFLICT (tenant, site, id) DO UPDATE SET nickname = 'conflict'`,
                ['1_2 visitor.changed'],
            ],
            [
                `MERGE INTO platform.visitor v USING (VALUES (70), (71)) AS n (id) ON (v.tenant, v.site, v.id) = (1, 2, n.id)
           WHEN MATCHED THEN DELETE
           WHEN NOT MATCHED THEN INSERT (tenant, site, id, external_id, created_at) VALUES (1, 2, n.id, 'v71', now())`,
                ['1_2 privacy.removed', '1_2 visitor.changed', '1_2 visitor.removed'],
            ],
            [
                "WITH u AS (UPDATE platform.visitor SET nickname = 'with' WHERE (tenant, site, id) = (1, 2, 71) RETURNING id) SELECT * FROM u",
                ['1_2 visitor.changed'],
            ],
        ];
        for (const [statement, expected] of cases)
            expect(await appended(sql, statement), statement).toEqual(expected);
        const before = await heads(sql);
        const copy = await sql `COPY platform.visitor (tenant, site, id, external_id, created_at) FROM STDIN`.writable();
        await finished(copy.end('1\t3\t72\tv72\t2026-01-01\n2\t1\t72\tv72\t2026-01-01\n'));
        expect(await receipts(sql, before)).toEqual(['1_3 visitor.changed', '2_1 visitor.changed']);
    });
    it('websites that are truncated with all they have: each journal says that it lost its place', async () => {
        const lost = await freshDatabase();
        await plant(lost.sql);
        await lost.sql `UPDATE platform.visitor SET nickname = 'n' WHERE (tenant, site) IN ((1, 1), (2, 1))`;
        const told = await appended(lost.sql, 'TRUNCATE platform.website CASCADE');
        for (const line of ['1_1 capture.gap', '1_1 visitor.gap', '2_1 capture.gap', '2_1 website.gap'])
            expect(told).toContain(line);
        await lost.close();
    });
});
describe('a transaction', () => {
    it('that need not wait for the disk does, once it has a receipt', async () => {
        const settings = await database.sql.begin(async (transaction) => {
            await transaction `SET LOCAL synchronous_commit = off`;
            await transaction `UPDATE platform.visitor SET nickname = 'durable' WHERE (tenant, site) = (1, 3)`;
            const [before] = await transaction `SHOW synchronous_commit`;
            await transaction `SET CONSTRAINTS ALL IMMEDIATE`;
            const [after] = await transaction `SHOW synchronous_commit`;
            return [before?.['synchronous_commit'], after?.['synchronous_commit']];
        });
        expect(settings).toEqual(['off', 'on']);
    });
    it('has one receipt of a website and type, after all its changes', async () => {
        const statements = `
      UPDATE platform.visitor SET nickname = 'a' WHERE site = 3; UPDATE platform.visitor SET nickname = 'b' WHERE site = 3;
      UPDATE platform.contact SET name = 'a'; UPDATE platform.visitor SET nickname = 'c' WHERE (tenant, site) = (1, 1)`;
        expect(await appended(database.sql, statements)).toEqual(['1_1 visitor.changed', '1_3 visitor.changed']);
    });
    it('has its receipts from itself: the row and its receipt name the same transaction', async () => {
        const { sql } = database;
        await sql `UPDATE platform.visitor SET nickname = 'mine' WHERE (tenant, site, id) = (1, 2, 1)`;
        const [same] = await sql `
      SELECT v.xmin = j.xmin AND v.xmin = h.xmin AS same FROM platform.visitor v
        JOIN gateway.journal_head h USING (tenant, site) JOIN gateway.journal j USING (tenant, site, position)
       WHERE (v.tenant, v.site, v.id) = (1, 2, 1)`;
        expect(same?.['same']).toBe(true);
    });
    it('that is rolled back has none, and neither has a savepoint; what goes on has', async () => {
        const { sql } = database;
        const change = (site, name) => `UPDATE platform.visitor SET nickname = '${name}' WHERE site = ${site};`;
        const before = await heads(sql);
        await expect(sql.unsafe(`${change(1, 'r')} SELECT 1 / 0`)).rejects.toThrow('division');
        expect(await receipts(sql, before)).toEqual([]);
        await sql.begin(async (transaction) => {
            await transaction
                .savepoint(async (inner) => {
                await inner.unsafe(change(1, 'inner'));
                throw new Error('back');
            })
                .catch(() => undefined); // the savepoint fails on purpose
            await transaction.unsafe(change(2, 'outer'));
        });
        expect(await receipts(sql, before)).toEqual(['1_2 visitor.changed']);
        await sql.begin(async (transaction) => {
            await transaction.unsafe(change(2, 'first'));
            await transaction
                .savepoint(async (inner) => {
                await inner.unsafe(change(3, 'inner'));
                throw new Error('back');
            })
                .catch(() => undefined); // the savepoint fails on purpose
            await transaction.unsafe(change(3, 'again'));
        });
        expect(await receipts(sql, before)).toEqual(['1_2 visitor.changed', '1_2 visitor.changed', '1_3 visitor.changed']);
    });
    it('that asks for its constraints at once has them at once, and what follows once more', async () => {
        const { sql } = database;
        const statements = `SET CONSTRAINTS ALL IMMEDIATE; UPDATE platform.visitor SET nickname = 'i' WHERE site = 3;
      UPDATE platform.visitor SET nickname = 'j' WHERE site = 3; UPDATE platform.visitor SET nickname = 'i' WHERE site = 2`;
        expect(await appended(sql, statements)).toEqual(['1_2 visitor.changed', '1_3 visitor.changed']);
    });
    it('does not hold a journal while it goes on, and two in opposite order do not lock each other out', async () => {
        const { sql } = database;
        const before = await heads(sql);
        const both = (first, second) => sql.unsafe(`UPDATE platform.visitor SET nickname = '${first}' WHERE (tenant, site, id) = (1, ${first}, ${first});
        SELECT pg_sleep(0.1); UPDATE platform.visitor SET nickname = '${first}' WHERE (tenant, site, id) = (1, ${second}, ${first})`);
        await Promise.all([both(2, 3), both(3, 2)]);
        expect(await receipts(sql, before)).toEqual([2, 2, 3, 3].map((site) => `1_${site} visitor.changed`));
    });
});
it('consent given and ended is told to its websites, also where it goes with its person or its credential', async () => {
    const { sql } = database;
    const id = (prefix, n) => `${prefix}_${String(n).repeat(32)}`;
    await sql `INSERT INTO gateway.app (id, tenant, name) VALUES (${id('app', 1)}, 1, 'a')`;
    await sql `INSERT INTO gateway.installation (id, app_id) VALUES (${id('ins', 1)}, ${id('app', 1)})`;
    const give = async (n) => {
        await sql `INSERT INTO gateway.credential (id, installation_id, environment, secret_digest, sites, scopes, expires_at)
      VALUES (${id('crd', n)}, ${id('ins', 1)}, 'test', ${Buffer.alloc(32)}, '{2,3}', '{}', now() + interval '1 day')`;
        await sql `INSERT INTO gateway.person (id, tenant, email, role) VALUES (${id('prs', n)}, 1, ${`p${n}@example.test`}, 'owner')`;
        return appended(sql, `INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
         code_challenge, code_expires_at, redirect_uri, expires_at)
       SELECT '${id('cns', n)}', '${id('crd', n)}', '${id('prs', n)}', d, 'rest', '{}', '{3,2,3}', true, d, 'c', now(), 'u', now()
         FROM sha256('${n}') AS d`);
    };
    const told = ['1_2 privacy.changed', '1_3 privacy.changed'];
    for (const n of [1, 2, 3, 4])
        expect(await give(n)).toEqual(told);
    const ends = [
        [`UPDATE gateway.consent SET code_used_at = now() WHERE id = '${id('cns', 1)}'`, []],
        [`UPDATE gateway.consent SET revoked_at = now(), revoked_because = 'client' WHERE id = '${id('cns', 1)}'`, told],
        [`DELETE FROM gateway.consent WHERE id = '${id('cns', 1)}'`, []],
        [`UPDATE gateway.person SET disabled_at = now() WHERE id = '${id('prs', 2)}'`, told],
        [`DELETE FROM gateway.person WHERE id = '${id('prs', 3)}'`, told],
        [`DELETE FROM gateway.credential WHERE id = '${id('crd', 4)}'`, told],
    ];
    for (const [statement, expected] of ends)
        expect(await appended(sql, statement), statement).toEqual(expected);
});
it('a change of 3,000 conversations spends its time on the rows, not on comparing each with each', async () => {
    const connection = await database.sql.reserve();
    try {
        const change = "UPDATE platform.conversation SET subject = 'x' WHERE id > 2000000";
        // The connection keeps the sizes of the sets from its first call of the trigger. An import can begin with empty sets.
        await connection.unsafe(change);
        await connection.unsafe(`INSERT INTO platform.conversation (tenant, site, id, external_id, ${TIMED})
      SELECT 1, 3, n, 'many' || n, 'closed', 'web', now(), now() FROM generate_series(2000001, 2003000) AS n`);
        const [row] = await connection.unsafe(`EXPLAIN (ANALYZE, FORMAT JSON) ${change}`);
        const plan = row?.['QUERY PLAN'][0];
        const spent = plan?.Triggers.find((one) => one['Trigger Name'] === 'assignment_update')?.Time;
        expect(plan?.Plan.Plans[0]?.['Actual Rows']).toBe(3000);
        expect(spent).toBeLessThan((plan?.['Execution Time'] ?? 0) / 2);
    }
    finally {
        await connection.unsafe('DELETE FROM platform.conversation WHERE id > 2000000');
        connection.release();
    }
});
it('35 types, and no other', async () => {
    const { sql } = database;
    const types = EVENT_FAMILIES.flatMap((family) => EVENT_KINDS.map((kind) => `${family}.${kind}`));
    expect(types).toHaveLength(35);
    const before = await heads(sql);
    await sql `SELECT gateway.append_receipts(1, 2, ${types})`;
    expect(await receipts(sql, before)).toEqual(types.map((type) => `1_2 ${type}`));
    const [first = ''] = types;
    for (const type of [
        '',
        'conversation',
        'conversation.',
        'conversation.*',
        'message.changed',
        `${first}x`,
        `x${first}`,
        `${first}\n`,
        first.toUpperCase(),
        `${first}.x`,
    ]) {
        await expect(sql `SELECT gateway.append_receipts(1, 2, ${[type]})`, type).rejects.toMatchObject({ code: '23514' });
    }
    expect(await receipts(sql, before)).toHaveLength(35);
});
describe('roads with receipts of their own', () => {
    it('an import has snapshots, one of a website and family', async () => {
        const demo = await freshDatabase('demo');
        const told = await receipts(demo.sql);
        const [owed] = await demo.sql `SELECT count(*)::integer AS n FROM gateway.import_owed`;
        await demo.close();
        expect(told.length).toBeGreaterThan(8);
        expect(told.filter((line) => !line.endsWith('.snapshot'))).toEqual([]);
        expect(new Set(told).size).toBe(told.length);
        expect(owed?.['n']).toBe(0);
    });
    it('a reviewed write has the one that it declares, in its own transaction; a replay and a refused one have none', async () => {
        const gateway = await openTestGateway('demo');
        const { sql } = gateway.database;
        const { token } = await gateway.issue({ authors: ['opr_1_1_1'] });
        const [visitor] = await sql `SELECT visitor_id AS id FROM platform.conversation WHERE (tenant, site) = (1, 1) AND visitor_id IS NOT NULL LIMIT 1`;
        const path = `/api/v1/visitors/vis_1_1_${visitor?.['id']}/notes?website_id=web_1_1`;
        const before = await heads(sql);
        const note = (key, text) => gateway.ask(path, { token, headers: { 'idempotency-key': key }, body: { text } });
        expect((await note('capture-1-of-this-test', 'Noted.')).status).toBe(200);
        expect((await note('capture-1-of-this-test', 'Noted.')).status).toBe(200);
        expect((await note('capture-1-of-this-test', 'Other.')).status).toBe(409);
        expect(await receipts(sql, before)).toEqual(['1_1 visitor.changed']);
        const [same] = await sql `
      SELECT n.xmin = j.xmin AND o.xmin = j.xmin AS same FROM platform.note n JOIN gateway.operation o ON o.operation_id = n.external_id
        JOIN gateway.journal_head h ON (h.tenant, h.site) = (n.tenant, n.site) JOIN gateway.journal j ON (j.tenant, j.site, j.position) = (h.tenant, h.site, h.position)
       WHERE n.text = 'Noted.'`;
        expect(same?.['same']).toBe(true);
        await gateway.close();
    });
});
//# sourceMappingURL=capture.test.js.map