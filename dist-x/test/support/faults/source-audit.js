/**
 * Marks each text of a message in Chatwoot, for example `cnr1n42z` for account 1. A changed text gets a new mark. So a
 * mark in the store shows exactly which text was stored.
 */
export const MARK_TEXTS = `
  CREATE SEQUENCE simulated.marks;
  CREATE FUNCTION simulated.mark() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF coalesce(NEW.content, '') IN ('', 'This message was deleted') THEN RETURN NEW; END IF;
    IF TG_OP = 'UPDATE' THEN
      IF NEW.content IS NOT DISTINCT FROM OLD.content THEN RETURN NEW; END IF;
    END IF;
    NEW.content := NEW.content || ' cnr' || NEW.account_id || 'n' || nextval('simulated.marks') || 'z';
    RETURN NEW;
  END $$;
  CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON public.messages FOR EACH ROW EXECUTE FUNCTION simulated.mark();`;
const TABLES = 'contact visitor visitor_contact note conversation conversation_contact message file operator team channel website saved_response';
/** Notes which transaction changed which table of which website, and which gateway (by its role) took which source. */
export const NOTE_CHANGES = `
  CREATE TABLE public.changed (tx bigint, tenant bigint, site bigint, name text, op text, assigned boolean);
  CREATE FUNCTION public.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE tx bigint := pg_current_xact_id()::text::bigint & 4294967295;
  BEGIN
    IF TG_OP = 'INSERT' THEN
      INSERT INTO public.changed SELECT DISTINCT tx, tenant, site, TG_TABLE_NAME, TG_OP, false FROM new_rows;
    ELSIF TG_OP = 'DELETE' THEN
      INSERT INTO public.changed SELECT DISTINCT tx, tenant, site, TG_TABLE_NAME, TG_OP, false FROM old_rows;
    ELSE
      INSERT INTO public.changed SELECT DISTINCT tx, tenant, site, TG_TABLE_NAME, TG_OP, false
        FROM (TABLE new_rows EXCEPT TABLE old_rows) x;
    END IF;
    RETURN NULL;
  END $$;
  CREATE FUNCTION public.note_assignment() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO public.changed VALUES (pg_current_xact_id()::text::bigint & 4294967295, NEW.tenant, NEW.site, 'conversation', TG_OP, true);
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_assignment AFTER UPDATE ON platform.conversation FOR EACH ROW
    WHEN ((OLD.operator_id, OLD.team_id) IS DISTINCT FROM (NEW.operator_id, NEW.team_id)) EXECUTE FUNCTION public.note_assignment();
  DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY string_to_array('${TABLES}', ' ') LOOP
      EXECUTE format('CREATE TRIGGER note_insert AFTER INSERT ON platform.%I REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_change()', name);
      EXECUTE format('CREATE TRIGGER note_update AFTER UPDATE ON platform.%I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_change()', name);
      EXECUTE format('CREATE TRIGGER note_delete AFTER DELETE ON platform.%I REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_change()', name);
    END LOOP;
  END $$;
  CREATE TABLE public.taken (source text, epoch bigint, who text, at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION public.note_taken() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.taken VALUES (NEW.id, NEW.epoch, current_user); RETURN NULL; END $$;
  CREATE TRIGGER note_taken AFTER UPDATE ON gateway.source FOR EACH ROW WHEN (OLD.epoch < NEW.epoch) EXECUTE FUNCTION public.note_taken();
  GRANT ALL ON public.changed, public.taken TO PUBLIC;`;
/** By changed table: its event family, and the receipts of a removed row. */
const FAMILIES = `(VALUES
  ('contact', 'visitor', 'visitor.removed'), ('contact', 'visitor', 'privacy.removed'),
  ('visitor', 'visitor', 'visitor.removed'), ('visitor', 'visitor', 'privacy.removed'),
  ('visitor_contact', 'visitor', 'visitor.changed'), ('note', 'visitor', 'visitor.removed'),
  ('conversation', 'conversation', 'conversation.removed'), ('conversation_contact', 'conversation', 'conversation.changed'),
  ('message', 'conversation', 'conversation.removed'), ('file', 'conversation', 'conversation.removed'),
  ('operator', 'operator', 'operator.removed'), ('team', 'operator', 'operator.removed'),
  ('channel', 'website', 'website.removed'), ('website', 'website', 'website.removed'),
  ('saved_response', 'website', 'website.removed')) AS f (name, family, removed)`;
/** Checks for each change that its own transaction appended the receipt. A receipt has the transaction's number. */
export async function receipts(sql) {
    const types = await sql `
    SELECT event_type, count(*) AS n FROM gateway.journal GROUP BY 1 ORDER BY 1`;
    const [row] = await sql.unsafe(`
    WITH due AS MATERIALIZED (
      SELECT DISTINCT c.tx, c.tenant, c.site, c.name,
             CASE WHEN c.assigned THEN 'queue.changed' WHEN c.op = 'DELETE' THEN f.removed ELSE f.family || '.changed' END AS event_type
        FROM public.changed c JOIN ${FAMILIES} USING (name)
    ), told AS MATERIALIZED (SELECT DISTINCT j.xmin::text::bigint AS tx, tenant, site, event_type FROM gateway.journal j)
    SELECT count(*) AS due, coalesce(json_agg(DISTINCT d.name || ' ' || d.event_type) FILTER (WHERE t.tx IS NULL), '[]') AS missing
      FROM due d LEFT JOIN told t USING (tx, tenant, site, event_type)`);
    return {
        due: Number(row?.due ?? 0),
        missing: row?.missing ?? [],
        types: Object.fromEntries(types.map(({ event_type, n }) => [event_type, Number(n)])),
    };
}
const MARK = 'cnr[0-9]+n[0-9]+z';
/** Finds texts in the store that Chatwoot does not show any more, and rows in the organization of another account. */
export async function leaks({ rails, sql, sources }) {
    const shown = await rails.unsafe(`SELECT m[1] AS mark FROM messages x, regexp_matches(x.content, '(${MARK})', 'g') m
      WHERE x.content_attributes::text NOT LIKE '%deleted%' OR x.content_attributes IS NULL`);
    const marks = new Set(shown.map(({ mark }) => mark));
    const accounts = new Map(sources.map(({ tenant, account }) => [String(tenant), String(account)]));
    const found = [];
    const tables = await sql `
    SELECT format('%I.%I', n.nspname, c.relname) AS name,
           bool_or(a.attname = 'tenant') AS tenant, bool_or(a.attname = 'external_id') AS external,
           coalesce(json_agg(quote_ident(a.attname)) FILTER (WHERE a.atttypid = 'bytea'::regtype), '[]') AS bytes
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname IN ('platform', 'gateway') AND c.relkind IN ('r', 'm') GROUP BY 1`;
    for (const { name, tenant, external, bytes } of tables) {
        const text = ['t::text', ...bytes.map((column) => `encode(t.${column}, 'escape')`)].join(` || ' ' || `);
        const rows = await sql.unsafe(`SELECT DISTINCT m[1] AS mark, ${tenant ? 't.tenant::text' : "''"} AS tenant FROM ${name} t, regexp_matches(concat(${text}), '(${MARK})', 'g') m`);
        for (const { mark, tenant: number } of rows) {
            if (!marks.has(mark))
                found.push(`${name}: ${mark} is not shown in Chatwoot`);
            const account = accounts.get(number);
            if (account !== undefined && !mark.startsWith(`cnr${account}n`))
                found.push(`${name}: ${mark} of another account`);
        }
        if (!tenant || !external || name === 'platform.organization')
            continue;
        for (const [number, account] of accounts) {
            const strange = await sql.unsafe(`SELECT external_id AS id FROM ${name} WHERE tenant = ${number} AND external_id NOT LIKE 'cw:${account}:%' LIMIT 3`);
            for (const { id } of strange)
                found.push(`${name}: ${id} in the organization of account ${account}`);
        }
    }
    return found;
}
//# sourceMappingURL=source-audit.js.map