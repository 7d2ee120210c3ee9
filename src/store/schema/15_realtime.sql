-- A realtime session belongs to a credential and to one origin that is registered on the credential. A client opens the
-- socket of its session with a ticket. Only the digest of the ticket is stored. Any replica can serve the socket,
-- because all data of the session is in these tables.
CREATE TABLE gateway.realtime_session (
  id text PRIMARY KEY CHECK (id ~ '^rts_[a-f0-9]{32}$'),
  credential_id text NOT NULL REFERENCES gateway.credential ON DELETE CASCADE,
  -- The digest of the token that gives the session its authority.
  token_digest bytea NOT NULL CHECK (length(token_digest) = 32),
  origin text NOT NULL,
  sites bigint[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ticket_digest bytea CHECK (length(ticket_digest) = 32),        -- null: the ticket is used
  ticket_expires_at timestamptz NOT NULL,
  -- Each new socket of the session raises this number, which ends the older socket.
  epoch integer NOT NULL DEFAULT 0,
  -- A replica holds the socket of the session until this time. While the socket is open, the replica moves the time
  -- forward.
  held_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX realtime_session_credential ON gateway.realtime_session (credential_id);
CREATE INDEX realtime_session_expires ON gateway.realtime_session (expires_at);

-- For each subscription of a session, the last cursor that the client has acknowledged. After a reconnect to any
-- replica, the session continues from this cursor.
CREATE TABLE gateway.realtime_ack (
  session_id text NOT NULL REFERENCES gateway.realtime_session ON DELETE CASCADE,
  subscription_id text NOT NULL,
  revision integer NOT NULL,
  cursor text NOT NULL,
  PRIMARY KEY (session_id, subscription_id)
) WITH (fillfactor = 50);

-- Returns the credential of a token, the end of the authority, and whether the origin is registered. Returns no row if
-- the authority is gone.
CREATE FUNCTION gateway.realtime_authority(p_digest bytea, p_revision integer, p_origin text)
RETURNS TABLE (credential_id text, until timestamptz, registered boolean) LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    SELECT c.id, least(t.expires_at, c.expires_at), p_origin = ANY (c.origins)
      FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
     WHERE t.digest = p_digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
       AND c.revision = p_revision AND c.revoked_at IS NULL AND c.expires_at > clock_timestamp();
END $$;

-- Makes a session and its first ticket. A credential has at most a hundred sessions. At the limit, deletes a session
-- that has no socket and no valid ticket, to make room for the new session. Raises GW401 if the authority is gone.
CREATE FUNCTION gateway.create_realtime_session(
  p_digest bytea, p_revision integer, p_origin text, p_id text, p_sites bigint[], p_ticket bytea
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  a record;
  s gateway.realtime_session;
BEGIN
  SELECT * INTO a FROM gateway.realtime_authority(p_digest, p_revision, p_origin);
  IF a.credential_id IS NULL THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  IF NOT a.registered THEN RETURN '{"refused": "not_permitted"}'; END IF;
  -- Only one transaction at a time adds sessions to a credential. So calls at the same moment cannot exceed the limit
  -- of a hundred.
  PERFORM pg_advisory_xact_lock(hashtextextended('gateway.realtime ' || a.credential_id, 0));
  DELETE FROM gateway.realtime_session x WHERE x.credential_id = a.credential_id AND x.expires_at <= now();
  IF (SELECT count(*) FROM gateway.realtime_session x WHERE x.credential_id = a.credential_id) >= 100 THEN
    DELETE FROM gateway.realtime_session x WHERE x.id = (
      SELECT y.id FROM gateway.realtime_session y
       WHERE y.credential_id = a.credential_id AND y.held_until <= now() AND (y.ticket_digest IS NULL OR y.ticket_expires_at <= now())
       ORDER BY y.held_until, y.created_at LIMIT 1);
    IF NOT FOUND THEN RETURN '{"refused": "inventory_limit"}'; END IF;
  END IF;
  INSERT INTO gateway.realtime_session (id, credential_id, token_digest, origin, sites, expires_at, ticket_digest, ticket_expires_at)
  VALUES (p_id, a.credential_id, p_digest, p_origin, p_sites, least(now() + interval '1 hour', a.until), p_ticket,
          least(now() + interval '30 seconds', a.until))
  RETURNING * INTO s;
  -- The statement may have waited for the lock, so check the authority again.
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  RETURN json_build_object('done', json_build_object(
    'expires_at', floor(extract(epoch FROM s.expires_at) * 1000), 'ticket_expires_at', floor(extract(epoch FROM s.ticket_expires_at) * 1000)));
END $$;

-- Makes a ticket that replaces the previous ticket of the session. From now on, the session has the authority of the
-- token that asked for the ticket.
CREATE FUNCTION gateway.create_realtime_ticket(
  p_digest bytea, p_revision integer, p_origin text, p_id text, p_granted bigint[], p_ticket bytea
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  a record;
  s gateway.realtime_session;
BEGIN
  SELECT * INTO a FROM gateway.realtime_authority(p_digest, p_revision, p_origin);
  IF a.credential_id IS NULL THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  IF NOT a.registered THEN RETURN '{"refused": "not_permitted"}'; END IF;
  UPDATE gateway.realtime_session x
     SET ticket_digest = p_ticket, ticket_expires_at = least(now() + interval '30 seconds', a.until, x.created_at + interval '1 hour'),
         token_digest = p_digest, expires_at = least(x.created_at + interval '1 hour', a.until)
   WHERE x.id = p_id AND x.credential_id = a.credential_id AND x.origin = p_origin AND x.expires_at > now() AND x.sites <@ p_granted
  RETURNING x.* INTO s;
  IF s.id IS NULL THEN RETURN '{"refused": "not_found"}'; END IF;
  IF NOT gateway.authority_holds(p_digest, p_revision) THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  RETURN json_build_object('done', json_build_object('ticket_expires_at', floor(extract(epoch FROM s.ticket_expires_at) * 1000)));
END $$;

CREATE FUNCTION gateway.close_realtime_session(p_digest bytea, p_revision integer, p_origin text, p_id text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  a record;
BEGIN
  SELECT * INTO a FROM gateway.realtime_authority(p_digest, p_revision, p_origin);
  IF a.credential_id IS NULL THEN RAISE EXCEPTION 'stale authority' USING ERRCODE = 'GW401'; END IF;
  IF NOT a.registered THEN RETURN '{"refused": "not_permitted"}'; END IF;
  DELETE FROM gateway.realtime_session x
   WHERE x.id = p_id AND x.credential_id = a.credential_id AND x.origin = p_origin AND x.expires_at > now();
  RETURN CASE WHEN FOUND THEN '{"done": {}}' ELSE '{"refused": "not_found"}' END;
END $$;

-- Uses up a ticket. If several callers present the ticket at the same moment, only one caller succeeds. Returns null if
-- the ticket is not valid for this session.
CREATE FUNCTION gateway.use_realtime_ticket(p_id text, p_origin text, p_ticket bytea, p_lease interval) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  s gateway.realtime_session;
BEGIN
  UPDATE gateway.realtime_session x SET ticket_digest = NULL, epoch = x.epoch + 1, held_until = now() + p_lease
   WHERE x.id = p_id AND x.ticket_digest = p_ticket AND x.ticket_expires_at > now() AND x.origin = p_origin AND x.expires_at > now()
     AND EXISTS (SELECT FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
                  WHERE t.digest = x.token_digest AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
                    AND c.revoked_at IS NULL AND c.expires_at > now() AND x.origin = ANY (c.origins))
  RETURNING x.* INTO s;
  IF s.id IS NULL THEN RETURN NULL; END IF;
  RETURN json_build_object('epoch', s.epoch, 'expires_at', floor(extract(epoch FROM s.expires_at) * 1000));
END $$;
