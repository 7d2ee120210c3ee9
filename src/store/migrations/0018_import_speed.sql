-- The totals of a conversation change after its messages are written. With free space on its page, the new version of a
-- row needs no new entries in the eleven indexes. Without the space, the totals of 3,771 new conversations took 126 ms.
-- With the space, they took 16 ms (23 November 2026).
ALTER TABLE platform.conversation SET (fillfactor = 50);

-- New entries of the index of words wait in a list that every search reads. So the list is short: 256 kB. A run that
-- writes many records may fill 1 MB, because a short list costs the run 15 µs more for each message (23 November 2026).
-- A parameter of the index would hold for all writers alike, so this trigger sets the limit.
UPDATE gateway.wanted_index SET definition = replace(definition, ' WITH (gin_pending_list_limit = 256)', '') WHERE name = 'message_words';
ALTER INDEX IF EXISTS platform.message_words RESET (gin_pending_list_limit);

CREATE FUNCTION platform.limit_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gin_pending_list_limit', CASE current_setting('gateway.bulk', true) WHEN 'on' THEN '1024' ELSE '256' END, true);
  RETURN NULL;
END $$;
CREATE TRIGGER message_pending BEFORE INSERT OR UPDATE ON platform.message FOR EACH STATEMENT EXECUTE FUNCTION platform.limit_pending();

-- Every statement of a run that writes calls this function first. The function locks the run's row until the
-- transaction ends. If another process has taken the run over, the function fails and nothing is written.
--
-- Commits do not wait for the disk. The last commit of the run waits for all earlier commits.
CREATE OR REPLACE FUNCTION gateway.import_fence(p_slot integer, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  collects boolean;
BEGIN
  SELECT snapshots INTO collects FROM gateway.import_run WHERE slot = p_slot AND epoch = p_epoch FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'another import has taken over' USING ERRCODE = 'GW001'; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  -- In the statement that writes messages, the trigger of the table runs before this function.
  PERFORM set_config('gateway.bulk', 'on', true), set_config('gin_pending_list_limit', '1024', true);
  IF collects THEN PERFORM set_config('gateway.capture', 'import', true), set_config('gateway.slot', p_slot::text, true); END IF;
END $$;
