-- Failed sign-ins of one account count together over all sources, except at those where the account has signed in before.

-- Where an account has signed in with its password: SHA-256 of the account's digest and the source, and nothing else.
CREATE TABLE gateway.sign_in_place (
  place bytea PRIMARY KEY CHECK (length(place) = 32),
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_place_seen ON gateway.sign_in_place (seen_at);
CREATE INDEX sign_in_failure_account ON gateway.sign_in_failure (account, at);

CREATE FUNCTION gateway.sign_in_place(p_source text, p_account bytea) RETURNS bytea LANGUAGE sql IMMUTABLE
RETURN sha256(p_account || convert_to(p_source, 'UTF8'));

-- As in 0007_sign_in.sql, with a third window: 50 failures of the account over all sources. A source where the account has
-- signed in within 30 days is let through that one, so that nobody can lock a person out from where they usually are.
CREATE OR REPLACE FUNCTION gateway.begin_sign_in(
  p_source text, p_account bytea, p_window interval, p_per_account integer, p_per_source integer,
  OUT recorded timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  per_account_everywhere CONSTANT integer := 50;
  since timestamptz;
  until timestamptz;
  known boolean;
BEGIN
  -- Always in this order, and one of each: nobody who holds an account's waits for a source's.
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in ' || p_source, 0));
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in account ' || encode(p_account, 'hex'), 0));
  since := clock_timestamp() - p_window;
  known := EXISTS (SELECT FROM gateway.sign_in_place p
                    WHERE p.place = gateway.sign_in_place(p_source, p_account) AND p.seen_at > now() - interval '30 days');
  -- The failure whose end makes room again, of each window that is full.
  SELECT max(at) INTO until FROM (
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.account = p_account AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_account - 1 LIMIT 1)
    UNION ALL
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_source - 1 LIMIT 1)
    UNION ALL
    (SELECT f.at FROM gateway.sign_in_failure f WHERE NOT known AND f.account = p_account AND f.at > since
      ORDER BY f.at DESC OFFSET per_account_everywhere - 1 LIMIT 1)) full_windows;
  IF until IS NOT NULL THEN
    wait := greatest(1, ceil(extract(epoch FROM until - since)));
    RETURN;
  END IF;
  recorded := clock_timestamp();
  INSERT INTO gateway.sign_in_failure (source, account, at) VALUES (p_source, p_account, recorded);
  -- Whoever adds one takes away two that count no more, so that none is kept for long.
  DELETE FROM gateway.sign_in_failure WHERE ctid IN (
    SELECT f.ctid FROM gateway.sign_in_failure f WHERE f.at <= since ORDER BY f.at LIMIT 2 FOR UPDATE SKIP LOCKED);
END $$;
