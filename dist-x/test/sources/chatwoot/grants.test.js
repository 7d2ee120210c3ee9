import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL } from '../../../src/sources/chatwoot/columns.js';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.js';
import { seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld, followed, loaded } from '../../support/chatwoot/source-world.js';
let world;
beforeAll(async () => {
    world = await chatwootWorld();
    await seed(world.sql);
});
afterAll(() => world.close());
const readable = async () => {
    const rows = await world.sql `
    SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
       AND has_column_privilege(${world.role}, c.oid, a.attnum, 'SELECT')`;
    return rows.map(({ name }) => name).sort();
};
const ownerOf = async (sql) => {
    const [row] = await sql `
    SELECT nspowner::regrole::text AS name FROM pg_namespace WHERE nspname = 'gateway_outbox'`;
    return row?.name ?? 'nobody';
};
const declared = ALL.flatMap(([name, { columns }]) => Object.keys(columns).map((column) => `${name}.${column}`)).sort();
test('the role can read the declared columns and no other column', async () => {
    await world.grant('poll');
    const [all] = await world.sql `
    SELECT count(*)::integer AS n FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0`;
    expect(all?.n).toBeGreaterThan(declared.length + 100);
    expect(await readable()).toEqual(declared);
    await expect(world.connect(world.role) `SELECT encrypted_password FROM users`).rejects.toThrow('permission denied');
});
test('the role has no right to write and no right beyond the public schema', async () => {
    const rows = await world.sql `
    SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
       AND (has_table_privilege(${world.role}, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES')
         OR has_any_column_privilege(${world.role}, c.oid, 'INSERT, UPDATE, REFERENCES'))`;
    expect([...rows]).toEqual([]);
});
test('a poll source loads and follows with these rights', async () => {
    const source = world.open({ mode: 'poll' });
    const begun = await source.begin();
    expect((await loaded(source)).map(({ external_id }) => external_id)).toContain('cw:1:conversation:1');
    expect((await followed(source, begun)).changes.length).toBeGreaterThan(5);
    expect(await source.unmapped()).toMatchObject({ labels: 0, custom_attributes: 0 });
});
test('a live source loads and follows, and the script can run again', async () => {
    await world.grant('live');
    await world.grant('live');
    expect(await readable()).toEqual(declared);
    const source = world.open();
    const begun = await source.begin();
    await world.sql `UPDATE contacts SET name = 'Grace Hopper' WHERE id = 1`;
    expect((await followed(source, begun)).changes.map(({ from }) => from)).toEqual(['contacts/1']);
});
test('the triggers note changes of a role without any right on the outbox', async () => {
    const app = `a_${world.role}`;
    await world.sql.unsafe(`CREATE ROLE ${app} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${app}`);
    await world.connect(app) `UPDATE contacts SET name = 'Grace' WHERE id = 1`;
    const [noted] = await world.sql `
    SELECT count(*)::integer AS n FROM gateway_outbox.change WHERE kind = 'contacts'`;
    expect(noted?.n).toBe(2);
    await world.sql.unsafe(`DROP OWNED BY ${app}; DROP ROLE ${app}`);
});
test('the name of the role cannot end a comment or a block of the script', () => {
    for (const role of ['a\nDROP TABLE messages; --', 'a\rb', 'a\u0000', 'a$$; DROP TABLE messages; --']) {
        expect(() => chatwootGrants({ role, mode: 'live' })).toThrow('the name of the role');
    }
    expect(chatwootGrants({ role: 'lé "o\'', mode: 'poll' })).toContain('"lé ""o\'"');
});
test('the comments at the end of the script remove everything', async () => {
    await Promise.all([world.open().close()]);
    const script = chatwootGrants({ role: world.role, mode: 'live' });
    const removal = script.slice(script.indexOf('-- To remove')).split('\n').slice(1);
    const statements = removal.map((line) => line.replace(/^--\s*/, '')).join('\n');
    const owner = await ownerOf(world.sql);
    await world.sql.unsafe(statements);
    const [left] = await world.sql `
    SELECT (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'gateway%')
         + (SELECT count(*) FROM pg_roles WHERE rolname = ${world.role}) + (SELECT count(*) FROM pg_namespace WHERE nspname = 'gateway_outbox')
         + (SELECT count(*) FROM pg_roles WHERE rolname = ${owner}) AS n`;
    expect(Number(left?.n)).toBe(0);
});
//# sourceMappingURL=grants.test.js.map