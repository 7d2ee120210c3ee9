import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { serverFindings } from '../../../src/sources/chatwoot/check.js';
import { seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld, loaded } from '../../support/chatwoot/source-world.js';
import { freshDatabase } from '../../support/database.js';
let world;
afterEach(() => world.close());
const start = async (mode, options) => {
    world = await chatwootWorld(options);
    await seed(world.sql);
    await world.grant(mode);
    return world.open({ mode });
};
const brief = (findings) => findings.map(({ level, about }) => `${level} ${about}`);
test.each(['poll', 'live'])('a Chatwoot with the grants of %s mode has no findings', async (mode) => {
    const source = await start(mode);
    expect(await source.check()).toEqual([]);
});
test('a missing column or table that the mapping needs is refused, another one degrades the mapping', async () => {
    const source = await start('poll');
    await world.sql.unsafe(`ALTER TABLE messages DROP content_attributes; ALTER TABLE contacts DROP country_code;
    DROP TABLE captain_assistants; DROP TABLE team_members`);
    const findings = await source.check();
    expect(brief(findings)).toEqual([
        'refused team_members',
        'degraded captain_assistants',
        'degraded contacts.country_code',
        'refused messages.content_attributes',
    ]);
    expect(findings[2]?.text).toContain('the countries of contacts');
});
test('a degraded Chatwoot can be granted, checked and loaded', async () => {
    world = await chatwootWorld();
    await seed(world.sql);
    await world.sql.unsafe(`ALTER TABLE contacts DROP country_code, DROP blocked; ALTER TABLE users DROP display_name;
    DROP TABLE captain_assistants; DROP TABLE csat_survey_responses; DROP TABLE notes; DROP TABLE taggings;
    ALTER TABLE reporting_events DROP event_end_time; DROP TABLE canned_responses; DROP TABLE agent_bots`);
    await world.grant('live');
    const source = world.open();
    const findings = await source.check();
    expect(new Set(findings.map(({ level }) => level))).toEqual(new Set(['degraded']));
    expect(findings).toHaveLength(10);
    const records = await loaded(source);
    expect(records.find(({ type }) => type === 'operator')).toMatchObject({ name: 'Ada Lovelace' });
    expect(records.find(({ type }) => type === 'contact')).toMatchObject({ blocked: false });
    expect(await source.unmapped()).toMatchObject({ labels: 0 });
    expect((await source.changes(await source.begin())).changes).toEqual([]);
});
test('missing rights are refused, with the grant to run', async () => {
    const source = await start('poll');
    await world.sql.unsafe(`REVOKE SELECT (content) ON messages FROM ${world.role}; REVOKE SELECT (id, name) ON teams FROM ${world.role};
    REVOKE SELECT (name) ON accounts FROM ${world.role}`);
    const findings = await source.check();
    expect(brief(findings)).toEqual(['refused accounts.name', 'refused teams', 'refused messages.content']);
    for (const { text } of findings)
        await world.sql.unsafe(text.slice(text.indexOf('GRANT')));
    expect(await source.check()).toEqual([]);
});
test('a role with too many rights is warned of, by name', async () => {
    const source = await start('poll');
    await world.sql.unsafe(`GRANT SELECT (encrypted_password, tokens) ON users TO ${world.role};
    GRANT SELECT ON channel_email TO ${world.role}; GRANT SELECT ON access_tokens TO ${world.role}`);
    const [read, ...none] = await source.check();
    expect(none).toEqual([]);
    expect(read).toMatchObject({ level: 'warning', about: 'rights.read' });
    for (const name of ['users.encrypted_password', 'channel_email.imap_password', 'access_tokens.token']) {
        expect(read?.text).toContain(name);
    }
    await world.sql.unsafe(`GRANT UPDATE (status) ON messages TO ${world.role}; GRANT DELETE ON contacts TO ${world.role}`);
    const [, write] = await source.check();
    expect(write).toMatchObject({ level: 'warning', about: 'rights.write' });
    expect(write?.text).toContain('contacts, messages.');
});
test('a table whose row-level security can hide rows is refused, with the statement to run', async () => {
    const source = await start('poll');
    await world.sql.unsafe(`ALTER TABLE messages ENABLE ROW LEVEL SECURITY; ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE access_tokens ENABLE ROW LEVEL SECURITY`);
    const findings = await source.check();
    expect(brief(findings)).toEqual(['refused accounts', 'refused messages']);
    const text = findings[1]?.text ?? '';
    await world.sql.unsafe(text.slice(text.indexOf('ALTER ROLE')));
    expect(await source.check()).toEqual([]);
});
test('a superuser is warned of', async () => {
    await start('poll');
    const source = world.open({ mode: 'poll', address: world.address('postgres') });
    expect(brief(await source.check())).toEqual(['warning role', 'warning rights.read', 'warning rights.write']);
});
test('the address of a store of the gateway is refused', async () => {
    world = await chatwootWorld();
    const store = await freshDatabase();
    const source = world.open({
        address: `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/${store.name}`,
    });
    expect(brief(await source.check())).toEqual(['refused address']);
    await source.close();
    await store.close();
});
test('an account that does not exist is refused', async () => {
    await start('poll');
    expect(brief(await world.open({ mode: 'poll', account: 77 }).check())).toEqual(['refused account']);
    expect(() => world.open({ account: 0 })).toThrow('account');
});
test('live mode without the outbox, with a trigger that is off, or with an old outbox is refused', async () => {
    const poll = await start('poll');
    expect(await poll.check()).toEqual([]);
    const live = world.open();
    const [none] = await live.check();
    expect(none).toMatchObject({ level: 'refused', about: 'outbox' });
    expect(none?.text).toContain(`gateway source grants chatwoot --mode live --role ${world.role}`);
    await world.grant('live');
    expect(await live.check()).toEqual([]);
    await world.sql.unsafe('DROP TRIGGER gateway_outbox_update ON messages; ALTER TABLE notes DISABLE TRIGGER gateway_outbox_insert');
    const [off] = await live.check();
    expect(off?.text).toContain('messages.gateway_outbox_update, notes.gateway_outbox_insert');
    await world.grant('live');
    expect(await live.check()).toEqual([]);
    await world.sql.unsafe(`COMMENT ON SCHEMA gateway_outbox IS 'version 0'; REVOKE DELETE ON gateway_outbox.change FROM ${world.role}`);
    expect((await live.check()).map(({ text }) => text.split('.')[0])).toEqual([
        `The role ${world.role} cannot use the outbox`,
        'The outbox is of another version of the gateway',
    ]);
});
test('triggers that name a dropped column are refused until the script runs again', async () => {
    const source = await start('live');
    await world.sql.unsafe('ALTER TABLE conversations DROP contact_last_seen_at; ALTER TABLE contacts DROP country_code');
    const [outbox, ...rest] = (await source.check()).filter(({ level }) => level === 'refused');
    expect(rest).toEqual([]);
    expect(outbox?.text).toContain('do not fit the columns of Chatwoot: contacts, conversations. Run the output of');
    await world.grant('live');
    expect(brief(await source.check())).toEqual([
        'degraded contacts.country_code',
        'degraded conversations.contact_last_seen_at',
    ]);
    await world.sql `TRUNCATE gateway_outbox.change`;
    await world.sql `UPDATE conversations SET status = 1 WHERE id = 1`;
    await world.sql `INSERT INTO conversations SELECT * FROM json_populate_record((SELECT c FROM conversations c), '{"id":5,"display_id":5,"uuid":"00000000-0000-0000-0000-000000000005"}')`;
    await world.sql `DELETE FROM conversations WHERE id = 5`;
    expect([...(await world.sql `SELECT kind, id::integer FROM gateway_outbox.change ORDER BY seq`)]).toEqual([
        { kind: 'conversations', id: 1 },
        { kind: 'conversations', id: 5 },
        { kind: 'conversations', id: 5 },
    ]);
    await world.sql.unsafe('ALTER TABLE contacts ADD country_code text');
    const found = (await source.check()).filter(({ level }) => level === 'refused');
    expect(found.map(({ about }) => about)).toEqual(['contacts.country_code', 'outbox']);
    expect(found[1]?.text).toContain('do not fit the columns of Chatwoot: contacts. Run');
    await world.grant('live');
    expect(brief(await source.check())).toEqual(['degraded conversations.contact_last_seen_at']);
});
test('a database of another encoding is warned of', async () => {
    const source = await start('poll', { encoding: 'LATIN1' });
    expect(brief(await source.check())).toEqual(['warning encoding']);
});
test('an old server and a wrong clock are told', async () => {
    const source = await start('poll');
    const server = {
        version: 120_004,
        encoding: 'UTF8',
        gateway: false,
        role: 'r',
        superuser: false,
        standby: false,
        now: '0',
    };
    expect(brief(serverFindings(server, 0))).toEqual(['refused server']);
    expect(brief(serverFindings({ ...server, version: 130_000 }, 59_000))).toEqual([]);
    expect(brief(serverFindings({ ...server, version: 130_000 }, 62_000))).toEqual(['warning clock']);
    expect(await source.check()).toEqual([]);
});
test('a server that does not answer fails the check', async () => {
    world = await chatwootWorld({ schema: false });
    const closed = createServer();
    await new Promise((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const address = closed.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => closed.close(resolve));
    const source = world.open({ address: `postgres://nobody@127.0.0.1:${port}/none` });
    await expect(source.check()).rejects.toThrow('be reached');
});
//# sourceMappingURL=check.test.js.map