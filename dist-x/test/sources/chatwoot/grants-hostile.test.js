import { afterEach, beforeEach, expect, test } from 'vitest';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.js';
import { put, seed } from '../../support/chatwoot/source-rows.js';
import { chatwootWorld, followed } from '../../support/chatwoot/source-world.js';
let world;
/** The role of Chatwoot, which owns the database and the tables but is no superuser. */
let chatwoot;
let owned;
beforeEach(async () => {
    world = await chatwootWorld();
    await seed(world.sql);
    await put(world.sql, 'canned_responses', { id: 1, account_id: 1, short_code: 'hi', content: 'x' });
    chatwoot = `a_${world.role}`;
    await world.sql.unsafe(`CREATE ROLE ${chatwoot} LOGIN; ALTER DATABASE ${world.database} OWNER TO ${chatwoot};
    ALTER SCHEMA public OWNER TO ${chatwoot};
    DO $$ DECLARE one regclass; BEGIN
      FOR one IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO ${chatwoot}', one);
      END LOOP;
    END $$`);
    owned = world.connect(chatwoot);
    await owned.unsafe(`CREATE TABLE public.seen (who text, super text); GRANT ALL ON public.seen TO PUBLIC;
    CREATE FUNCTION public.see() RETURNS void LANGUAGE sql AS
      $$ INSERT INTO public.seen VALUES (current_user, (SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user)) $$;
    GRANT USAGE ON SCHEMA public TO PUBLIC`);
});
afterEach(async () => {
    await world.sql.unsafe(`ALTER DATABASE ${world.database} OWNER TO postgres; DROP OWNED BY ${chatwoot} CASCADE; DROP ROLE ${chatwoot}`);
    await world.close();
});
const seen = async () => [...(await world.sql `SELECT DISTINCT who, super FROM public.seen`)];
const owner = async () => {
    const [row] = await world.sql `
    SELECT 'gateway_outbox_owner_' || oid AS name FROM pg_database WHERE datname = current_database()`;
    return row?.name ?? '';
};
const roles = async (name) => (await world.sql `SELECT FROM pg_roles WHERE rolname = ${name}`).length;
test('a schema that Chatwoot prepared stops the script before any change', async () => {
    await owned.unsafe(`CREATE SCHEMA gateway_outbox; GRANT ALL ON SCHEMA gateway_outbox TO PUBLIC;
    CREATE TABLE gateway_outbox.change (seq bigint, kind text, id bigint, account_id bigint, xid xid8, at timestamptz);
    CREATE FUNCTION gateway_outbox.hit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM public.see(); RETURN NEW; END $$;
    CREATE TRIGGER hit BEFORE INSERT ON gateway_outbox.change FOR EACH ROW EXECUTE FUNCTION gateway_outbox.hit();
    GRANT ALL ON gateway_outbox.change TO PUBLIC`);
    await expect(world.grant('live')).rejects.toThrow(`belongs to the role ${chatwoot}`);
    expect(await roles(await owner())).toBe(0);
    expect(await roles(world.role)).toBe(0);
    // psql goes on after the error. The later statements must give nothing away either.
    expect((await oneByOne(world.connect())).length).toBeGreaterThan(20);
    await owned `UPDATE contacts SET name = 'x' WHERE id = 1`;
    expect(await seen()).toEqual([]);
    expect(await world.sql `SELECT FROM pg_trigger WHERE tgname LIKE 'gateway%'`).toEqual([]);
    expect(await world.sql `SELECT FROM pg_proc WHERE pronamespace = 'gateway_outbox'::regnamespace`).toHaveLength(1);
});
test('a cast of Chatwoot runs without the rights of a superuser, and does not break Chatwoot', async () => {
    await world.grant('live');
    await owned.unsafe(`CREATE TYPE public.odd AS ENUM ('1');
    CREATE FUNCTION public.odd_to(public.odd) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM public.see(); RETURN 1; END $$;
    CREATE CAST (public.odd AS bigint) WITH FUNCTION public.odd_to(public.odd) AS ASSIGNMENT;
    ALTER TABLE canned_responses ALTER account_id DROP DEFAULT;
    DROP INDEX IF EXISTS index_canned_responses_on_account_id;
    ALTER TABLE canned_responses ALTER account_id TYPE public.odd USING '1'::public.odd`);
    await owned `UPDATE canned_responses SET content = 'y' WHERE id = 1`;
    await owned `DELETE FROM canned_responses`;
    expect(await seen()).toEqual([{ who: await owner(), super: 'false' }]);
    await owned.unsafe(`CREATE OR REPLACE FUNCTION public.odd_to(public.odd) RETURNS bigint LANGUAGE plpgsql AS
    $$ BEGIN ALTER ROLE ${chatwoot} SUPERUSER; RETURN 1; END $$`);
    await owned `INSERT INTO canned_responses (id, account_id, short_code, content, created_at, updated_at) VALUES (2, '1', 'a', 'b', now(), now())`;
    expect(await world.sql `SELECT kind FROM gateway_outbox.change ORDER BY seq DESC LIMIT 1`).toEqual([{ kind: 'lost' }]);
    expect(await world.sql `SELECT FROM pg_roles WHERE rolname = ${chatwoot} AND rolsuper`).toEqual([]);
});
test('the script calls no function of the schema public', async () => {
    await owned.unsafe(`CREATE FUNCTION public.quote_ident(name) RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN PERFORM public.see(); RETURN pg_catalog.quote_ident($1::text); END $$;
    CREATE FUNCTION public.format(text, name) RETURNS text LANGUAGE plpgsql AS
      $$ BEGIN PERFORM public.see(); RETURN pg_catalog.format($1, $2); END $$`);
    await world.grant('live');
    await world.grant('poll');
    expect(await seen()).toEqual([]);
});
test('the script stops at objects, rights and members that it does not know, and names them', async () => {
    await world.grant('live');
    const name = await owner();
    const cases = [
        [
            'CREATE TABLE gateway_outbox.more ()',
            'DROP TABLE gateway_outbox.more',
            'The table gateway_outbox.more belongs to',
        ],
        [
            `CREATE FUNCTION gateway_outbox.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; ALTER FUNCTION gateway_outbox.f() OWNER TO ${name}`,
            'DROP FUNCTION gateway_outbox.f() CASCADE',
            'does not know: function gateway_outbox.f()',
        ],
        [
            'CREATE TRIGGER t BEFORE DELETE ON gateway_outbox.change EXECUTE FUNCTION gateway_outbox.note_messages()',
            'DROP TRIGGER t ON gateway_outbox.change',
            'does not know: trigger t on table gateway_outbox.change',
        ],
        [
            'CREATE RULE r AS ON DELETE TO gateway_outbox.reader DO ALSO NOTIFY r',
            'DROP RULE r ON gateway_outbox.reader',
            'does not know: rule r on table gateway_outbox.reader',
        ],
        [`ALTER ROLE ${name} LOGIN`, `ALTER ROLE ${name} NOLOGIN`, 'has attributes'],
        [`GRANT ${name} TO ${chatwoot}`, `REVOKE ${name} FROM ${chatwoot}`, `The role ${chatwoot} is a member`],
        [`GRANT pg_monitor TO ${name}`, `REVOKE pg_monitor FROM ${name}`, 'is a member of the role pg_monitor'],
        [
            `GRANT SELECT ON users TO ${name}`,
            `REVOKE SELECT ON users FROM ${name}`,
            'outside of the outbox: table public.users',
        ],
        [
            'ALTER TABLE gateway_outbox.reader OWNER TO postgres',
            `ALTER TABLE gateway_outbox.reader OWNER TO ${name}`,
            'The table gateway_outbox.reader belongs to the role postgres. If an older script',
        ],
    ];
    for (const [plant, clean, message] of cases) {
        await world.sql.unsafe(plant);
        await expect(world.grant('live')).rejects.toThrow(message);
        await world.sql.unsafe(clean);
        await world.grant('live');
    }
});
test('an outbox of an older script is named, with the statement that removes it', async () => {
    await world.sql.unsafe('CREATE SCHEMA gateway_outbox; CREATE TABLE gateway_outbox.change (seq bigint)');
    const message = await world.grant('live').then(() => '', (error) => String(error));
    expect(message).toContain('belongs to the role postgres');
    await world.sql.unsafe(/DROP SCHEMA gateway_outbox CASCADE;/.exec(message)?.[0] ?? '');
    await world.grant('live');
    expect((await world.open().check()).filter(({ level }) => level === 'refused')).toEqual([]);
});
/** Sends statement after statement, as psql does. Like psql, it goes on after an error. */
async function oneByOne(connection) {
    const lines = chatwootGrants({ role: world.role, mode: 'live' }).split('\n');
    const errors = [];
    let statement = [];
    for (const line of lines.filter((one) => !one.startsWith('--'))) {
        statement.push(line);
        const quotes = statement.join('\n').match(/\$\w*\$/g) ?? [];
        const closed = [...new Set(quotes)].every((tag) => quotes.filter((one) => one === tag).length % 2 === 0);
        if (!line.endsWith(';') || !closed)
            continue;
        await connection.unsafe(statement.join('\n')).catch((error) => errors.push(String(error)));
        statement = [];
    }
    return errors;
}
test('the script runs statement by statement, again and again, also without a superuser', async () => {
    await world.sql.unsafe(`ALTER ROLE ${chatwoot} CREATEROLE`);
    expect(await oneByOne(owned)).toEqual([]);
    expect(await oneByOne(owned)).toEqual([]);
    const source = world.open();
    expect((await source.check()).filter(({ level }) => level === 'refused')).toEqual([]);
    const begun = await source.begin();
    await owned `UPDATE contacts SET name = 'Grace Hopper' WHERE id = 1`;
    expect((await followed(source, begun)).changes.map(({ from }) => from)).toEqual(['contacts/1']);
});
//# sourceMappingURL=grants-hostile.test.js.map