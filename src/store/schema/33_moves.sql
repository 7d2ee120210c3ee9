-- Moves of an organization to another cell by logical replication (docs/move-organization.md, src/store/cells/).

-- One row for each organization that moves. At the source: `copying`, `holding` (its writes are refused), `moved`. At the
-- target: `arriving`. No address with a password stands here.
CREATE TABLE gateway.move (
  tenant bigint PRIMARY KEY,
  phase text NOT NULL CHECK (phase IN ('copying', 'holding', 'moved', 'arriving')),
  base_url text NOT NULL,                                -- of the cell to which the organization moves
  peer text NOT NULL,                                    -- system identifier and database of the other side
  subscription bigint,                                   -- number of the subscription at the target
  started_at timestamptz NOT NULL DEFAULT now(),
  copied_at timestamptz,
  moved_at timestamptz,
  keep_until timestamptz,                                -- when the rows at the source are deleted; null: they are kept
  returns boolean NOT NULL DEFAULT false,                -- arriving where the organization had lived before
  cleared boolean NOT NULL DEFAULT false                 -- true when triggers, slot, publication and subscription are gone
);

-- These tables have the tenant outside of their primary key. If a publication with a filter by tenant holds one of them,
-- every UPDATE and DELETE on it fails for all organizations, unless its replica identity has the tenant. FULL writes nothing
-- more while wal_level is below logical. Figures for logical stand in docs/move-organization.md.
ALTER TABLE gateway.app REPLICA IDENTITY FULL;
ALTER TABLE gateway.approval REPLICA IDENTITY FULL;
ALTER TABLE gateway.erasure REPLICA IDENTITY FULL;
ALTER TABLE gateway.erasure_work REPLICA IDENTITY FULL;
ALTER TABLE gateway.operation REPLICA IDENTITY FULL;
ALTER TABLE gateway.person REPLICA IDENTITY FULL;
ALTER TABLE gateway.source REPLICA IDENTITY FULL;
ALTER TABLE gateway.subscription REPLICA IDENTITY FULL;
ALTER TABLE gateway.webhook_delivery REPLICA IDENTITY FULL;
ALTER TABLE gateway.webhook_endpoint REPLICA IDENTITY FULL;
ALTER TABLE gateway.write_back REPLICA IDENTITY FULL;

-- The advisory lock of a move. Writers of the organization share it while the organization moves; its hold takes it alone.
CREATE FUNCTION gateway.move_lock(p_tenant bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended('gateway.move ' || p_tenant, 0)
$$;

-- The organization of a row of a table without the column `tenant`: `p_id` names the row of `p_kind` to which it belongs.
CREATE FUNCTION gateway.tenant_of(p_kind text, p_id text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN CASE p_kind
    WHEN 'app' THEN (SELECT a.tenant FROM gateway.app a WHERE a.id = p_id)
    WHEN 'installation' THEN (SELECT a.tenant FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id WHERE i.id = p_id)
    WHEN 'credential' THEN (SELECT a.tenant FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id
                              JOIN gateway.app a ON a.id = i.app_id WHERE c.id = p_id)
    WHEN 'consent' THEN (SELECT a.tenant FROM gateway.consent n JOIN gateway.credential c ON c.id = n.credential_id
                           JOIN gateway.installation i ON i.id = c.installation_id
                           JOIN gateway.app a ON a.id = i.app_id WHERE n.id = p_id)
    WHEN 'source' THEN (SELECT s.tenant FROM gateway.source s WHERE s.id = p_id)
  END;
END $$;

-- BEFORE each row, on every table of a moving organization, for the time of its move only. Arguments: the tenant, and for a
-- table without it the kind and the column of what a row belongs to. During the hold, and for ever after it, a caller's
-- write is refused. A transaction that has already written holds the lock, so it ends as a whole. Work of the gateway that
-- serves many organizations in one statement (gateway.machine) leaves the row as it is. Thus it does not fail for others.
CREATE FUNCTION gateway.guard_move() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moving bigint := TG_ARGV[0];
BEGIN
  IF TG_NARGS > 1 AND gateway.tenant_of(TG_ARGV[1], CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END ->> TG_ARGV[2])
                      IS DISTINCT FROM moving
     OR current_setting('gateway.machine', true) = 'move' THEN -- the end of the hold itself, which raises revisions
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  -- The row of the move is read by a statement of its own, after the lock was taken: its snapshot is taken when it begins. So
  -- no write slips behind the hold. In one expression, the snapshot would be older than the lock.
  IF pg_try_advisory_xact_lock_shared(gateway.move_lock(moving)) THEN
    PERFORM FROM gateway.move m WHERE m.tenant = moving AND m.phase = 'moved';
    IF NOT FOUND THEN RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END IF;
  END IF;
  IF current_setting('gateway.machine', true) = 'on' THEN RETURN NULL; END IF;
  RAISE EXCEPTION 'the organization is being moved' USING ERRCODE = 'GWMOV';
END $$;
