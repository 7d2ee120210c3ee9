-- A cell is one PostgreSQL with its gateways and its base URL (docs/cells.md). An organization lives in one cell. All its
-- public ids begin with its number, so two cells must never give out the same number.

-- The number of this cell: `gateway.cell` is a setting of the transaction (src/store/open/migrate.ts).
CREATE TABLE gateway.cell (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  number integer NOT NULL CHECK (number BETWEEN 1 AND 9999)
);
INSERT INTO gateway.cell (number) VALUES (coalesce(nullif(current_setting('gateway.cell', true), '')::integer, 1));

-- New organizations of a cell get numbers from cell x 1,000,000 on. Cell 1 begins at 1.
DO $do$
DECLARE
  cell bigint := (SELECT number FROM gateway.cell);
BEGIN
  EXECUTE format('ALTER TABLE platform.organization ALTER COLUMN tenant SET MAXVALUE %s', (cell + 1) * 1000000 - 1);
  IF cell > 1 THEN
    EXECUTE format('ALTER TABLE platform.organization ALTER COLUMN tenant SET MINVALUE %1$s SET START WITH %1$s RESTART', cell * 1000000);
  END IF;
END $do$;

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

-- The move raises the revision of each credential (05_apps.sql). So every statement under an authority from before the
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
