-- A cell is one PostgreSQL with its gateways and its base URL (docs/cells.md). An organization lives in one cell. All its
-- public ids begin with its number, so two cells must never give out the same number.

-- The number of this cell. A store that had organizations before this migration is cell 1. `gateway.cell` is a setting of
-- the transaction (src/store/open/migrate.ts).
CREATE TABLE gateway.cell (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  number integer NOT NULL CHECK (number BETWEEN 1 AND 9999)
);
INSERT INTO gateway.cell (number)
SELECT CASE WHEN EXISTS (SELECT FROM platform.organization) THEN 1
            ELSE coalesce(nullif(current_setting('gateway.cell', true), '')::integer, 1) END;

-- New organizations of a cell get numbers from cell x 1,000,000 on. Cell 1 began at 1. A cell 1 that `gateway restored` has
-- already moved past its range keeps its counter.
DO $do$
DECLARE
  cell bigint := (SELECT number FROM gateway.cell);
  last bigint := (SELECT last_value FROM pg_sequences
                   WHERE format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence('platform.organization', 'tenant'));
BEGIN
  IF cell = 1 AND last >= 2000000 THEN RETURN; END IF;
  EXECUTE format('ALTER TABLE platform.organization ALTER COLUMN tenant SET MAXVALUE %s', (cell + 1) * 1000000 - 1);
  IF cell > 1 THEN
    EXECUTE format('ALTER TABLE platform.organization ALTER COLUMN tenant SET MINVALUE %1$s SET START WITH %1$s RESTART', cell * 1000000);
  END IF;
END $do$;

-- As in 0005_journal.sql. A range of a million numbers has no room for the leap of a journal. Nobody adds 10,000
-- organizations between a backup and the loss of the store.
CREATE OR REPLACE FUNCTION gateway.leap_tenants(p_leap bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  numbers text := pg_get_serial_sequence('platform.organization', 'tenant');
  most bigint := (SELECT s.seqmax FROM pg_sequence s WHERE s.seqrelid = numbers::regclass);
BEGIN
  LOCK TABLE platform.organization IN SHARE MODE;
  PERFORM setval(numbers, least(most, nextval(numbers) + CASE WHEN most < p_leap * 100 THEN 10000 ELSE p_leap END));
END $$;

-- The base URL of the cell in which the organization lives now. Null: it lives here.
ALTER TABLE platform.organization ADD COLUMN moved_to text, ADD COLUMN moved_at timestamptz;
CREATE INDEX organization_moved ON platform.organization (tenant) WHERE moved_to IS NOT NULL;

-- The host by which the organization's clients reach the gateway, such as acme.support.example. Null: they use the base URL
-- of the cell.
ALTER TABLE platform.organization ADD COLUMN host text;
CREATE UNIQUE INDEX organization_host ON platform.organization (host);

-- True if the organization lives in this cell. Work that no caller asks for looks here. What a caller asks for is proved by
-- the authority.
CREATE FUNCTION gateway.lives_here(p_tenant bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN NOT EXISTS (SELECT FROM platform.organization o WHERE o.tenant = p_tenant AND o.moved_to IS NOT NULL);
END $$;

CREATE FUNCTION gateway.refuse_moved(p_tenant bigint) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  o platform.organization;
BEGIN
  SELECT * INTO o FROM platform.organization x WHERE x.tenant = p_tenant AND x.moved_to IS NOT NULL;
  IF FOUND THEN
    RAISE EXCEPTION 'Organization % has moved to %. Work in the cell of this URL.', o.public_id, o.moved_to USING ERRCODE = 'GW421';
  END IF;
END $$;

-- The move raises the revision of each credential (0004_apps.sql). So every statement under an authority from before the
-- move is refused, and no statement looks at the organization for that. The look-up of a new authority, which reads the
-- organization anyway, then tells the new cell.
CREATE FUNCTION gateway.organization_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.moved_at := CASE WHEN NEW.moved_to IS NOT NULL THEN coalesce(NEW.moved_at, now()) END;
  UPDATE gateway.credential c SET updated_at = '-infinity'
    FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id
   WHERE i.id = c.installation_id AND a.tenant = NEW.tenant;
  RETURN NEW;
END $$;
CREATE TRIGGER organization_moved BEFORE UPDATE OF moved_to ON platform.organization FOR EACH ROW
  WHEN (OLD.moved_to IS DISTINCT FROM NEW.moved_to) EXECUTE FUNCTION gateway.organization_moved();

-- The base URL to which the organization of a credential has moved, or null.
CREATE FUNCTION gateway.credential_moved_to(p_credential text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT o.moved_to FROM gateway.credential c
            JOIN gateway.installation i ON i.id = c.installation_id
            JOIN gateway.app a ON a.id = i.app_id
            JOIN platform.organization o ON o.tenant = a.tenant
           WHERE c.id = p_credential);
END $$;

-- Each of these functions does work that no caller asks for, or works for a client without a secret, who has proved no
-- authority yet. They get one condition more, and are otherwise as before: old text, new text.
DO $do$
DECLARE
  f record;
  was text;
BEGIN
  FOR f IN SELECT * FROM (VALUES
    -- The only road of a change of records: imports, sources, erasures, the clearing of old messages, and SQL by hand.
    -- Reviewed writes do not note their receipts, because their authority is proved.
    ('gateway.note_captured(text,text)', '  IF p_fresh IS NULL THEN RETURN; END IF;
', '  IF p_fresh IS NULL THEN RETURN; END IF;
  PERFORM gateway.refuse_moved(o.tenant) FROM platform.organization o
    WHERE o.moved_to IS NOT NULL
      AND o.tenant = ANY (ARRAY(SELECT split_part(e, ''/'', 1)::bigint FROM string_to_table(rtrim(p_fresh), '' '') AS e));
'),
    ('gateway.trim_journals(interval,integer)', 'j.recorded_at < now() - p_age)
', 'j.recorded_at < now() - p_age)
              AND gateway.lives_here(x.tenant)
'),
    ('gateway.beat_families(interval,integer)', 'AND NOT EXISTS (SELECT FROM gateway.family_hold o',
     'AND gateway.lives_here(f.tenant) AND NOT EXISTS (SELECT FROM gateway.family_hold o'),
    ('gateway.claim_deliveries(bytea,bytea,integer,integer,integer,integer,interval,interval,boolean)',
     'THEN x.disabled_because IS DISTINCT FROM ''ended'' AND NOT gateway.may_deliver(x) ELSE false END',
     'THEN x.disabled_because IS DISTINCT FROM ''ended'' AND NOT gateway.may_deliver(x) AND gateway.lives_here(x.tenant)
                       ELSE false END'),
    ('gateway.claim_deliveries(bytea,bytea,integer,integer,integer,integer,interval,interval,boolean)',
     'THEN NOT x.enabled OR gateway.may_deliver(x) ELSE false END',
     'THEN (NOT x.enabled OR gateway.may_deliver(x)) AND gateway.lives_here(x.tenant) ELSE false END'),
    ('gateway.end_mcp_subscriptions()', '     LIMIT 100 FOR UPDATE OF o SKIP LOCKED);',
     '       AND gateway.lives_here(o.tenant)
     LIMIT 100 FOR UPDATE OF o SKIP LOCKED);'),
    ('gateway.end_mcp_subscriptions()', '            WHERE x.ended_at IS NULL
', '            WHERE x.ended_at IS NULL AND gateway.credential_moved_to(x.credential_id) IS NULL
'),
    ('gateway.source_take(text,integer,text)', 'WHERE NOT paused AND lease_until < now()',
     'WHERE NOT paused AND lease_until < now() AND gateway.lives_here(tenant)'),
    ('gateway.source_fence(text,bigint)', 'AND NOT paused FOR NO KEY UPDATE',
     'AND NOT paused AND gateway.lives_here(tenant) FOR NO KEY UPDATE'),
    ('gateway.import_scope(integer,bigint,text,bigint[],text[])', '  UPDATE gateway.import_run SET scope',
     '  PERFORM gateway.refuse_moved(o.tenant) FROM platform.organization o
    WHERE o.moved_to IS NOT NULL AND o.tenant = ANY (p_scope) AND o.external_id = ANY (p_names);
  UPDATE gateway.import_run SET scope'),
    ('gateway.erase_outcomes(integer)', '          AND NOT EXISTS (SELECT FROM gateway.approval a',
     '          AND gateway.lives_here(l.tenant) AND NOT EXISTS (SELECT FROM gateway.approval a'),
    ('gateway.take_lapsed(interval,integer)', 'l.lease_until < now()
', 'l.lease_until < now() AND gateway.lives_here(l.tenant)
'),
    ('gateway.lapse_approvals(integer,boolean)', '            WHERE x.state = ''pending'' AND (',
     '            WHERE x.state = ''pending'' AND gateway.lives_here(x.tenant) AND ('),
    ('gateway.interrupt_tasks(integer)', 'WHERE l.lease_until < now() ORDER BY',
     'WHERE l.lease_until < now() AND gateway.credential_moved_to(l.credential_id) IS NULL ORDER BY'),
    ('gateway.delete_tasks(integer)', 'WHERE l.expires_at <= now() ORDER BY',
     'WHERE l.expires_at <= now() AND gateway.credential_moved_to(l.credential_id) IS NULL ORDER BY'),
    ('gateway.retention_turn(bigint[])', 'WHERE o.keep_messages_days IS NOT NULL AND gateway.retention_due(x)',
     'WHERE o.keep_messages_days IS NOT NULL AND o.moved_to IS NULL AND gateway.retention_due(x)'),
    -- Only what would get tokens learns where the organization lives.
    ('gateway.redeem_hosted(text,bytea,text,text,text,bytea,bytea,interval)', '  answer := gateway.redeem_code(',
     '  IF gateway.credential_moved_to(k.id) IS NOT NULL THEN
    IF c.revoked_at IS NOT NULL OR c.code_used_at IS NOT NULL OR least(c.code_expires_at, c.expires_at) <= now()
       OR c.redirect_uri <> p_redirect_uri OR c.code_challenge <> p_challenge THEN RETURN ''{"refused": "invalid_grant"}''; END IF;
    RETURN json_build_object(''refused'', ''organization_moved'', ''to'', gateway.credential_moved_to(k.id), ''credential'', k.id);
  END IF;
  answer := gateway.redeem_code('),
    ('gateway.rotate_hosted(text,bytea,text,text[],bytea,bytea,bytea,interval)', '  known := jsonb_build_object(',
     '  IF gateway.credential_moved_to(k.id) IS NOT NULL THEN
    IF c.revoked_at IS NOT NULL OR c.expires_at <= now() OR NOT EXISTS (
         SELECT FROM gateway.refresh_token r WHERE r.digest = p_token AND r.used_at IS NULL AND r.expires_at > now())
    THEN RETURN ''{"refused": "invalid_grant"}''; END IF;
    RETURN json_build_object(''refused'', ''organization_moved'', ''to'', gateway.credential_moved_to(k.id), ''credential'', k.id);
  END IF;
  known := jsonb_build_object(')
  ) v (name, old, new) LOOP
    was := pg_get_functiondef(f.name::regprocedure);
    IF (length(was) - length(replace(was, f.old, ''))) <> length(f.old) THEN
      RAISE EXCEPTION 'the text to replace does not stand once in %', f.name;
    END IF;
    EXECUTE replace(was, f.old, f.new);
  END LOOP;
END $do$;
