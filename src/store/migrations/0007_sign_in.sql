-- Sign-ins are counted before the password is looked at: of fifty at once no more get through than of fifty in turn.

-- Admits an attempt to sign in from a source to an account, and records it as failed until it succeeds; or tells how many
-- seconds to wait. `recorded` is the attempt's place among the source's: one at a time under the source's lock.
CREATE FUNCTION gateway.begin_sign_in(
  p_source text, p_account bytea, p_window interval, p_per_account integer, p_per_source integer,
  OUT recorded timestamptz, OUT wait integer
) LANGUAGE plpgsql AS $$
DECLARE
  since timestamptz;
  until timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('sign-in ' || p_source, 0));
  since := clock_timestamp() - p_window;
  -- The failure whose end makes room again, of the account's and of the source's.
  SELECT max(at) INTO until FROM (
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.account = p_account AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_account - 1 LIMIT 1)
    UNION ALL
    (SELECT f.at FROM gateway.sign_in_failure f WHERE f.source = p_source AND f.at > since
      ORDER BY f.at DESC OFFSET p_per_source - 1 LIMIT 1)) full_windows;
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
