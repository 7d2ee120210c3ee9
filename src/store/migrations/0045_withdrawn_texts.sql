-- A conversation counts as changed when the gateway takes texts from it, and when it is erased. So a consumer that reads
-- conversations in the order of their changes learns which texts it must not keep.

CREATE FUNCTION platform.conversation_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := platform.next_change(OLD.updated_at);
  RETURN NEW;
END $$;
CREATE TRIGGER conversation_erased BEFORE UPDATE OF external_id ON platform.conversation FOR EACH ROW
  WHEN (NEW.external_id LIKE 'erased:%' AND NEW.external_id <> OLD.external_id) EXECUTE FUNCTION platform.conversation_erased();

-- As in 0030, and it changes the time of the conversations.
CREATE OR REPLACE FUNCTION platform.clear_messages(
  p_tenant bigint, p_site bigint, p_ids bigint[], p_erases boolean, OUT messages bigint, OUT files bigint
) LANGUAGE plpgsql AS $$
BEGIN
  -- First, because a page of a source locks a conversation before its messages.
  UPDATE platform.conversation c SET updated_at = platform.next_change(c.updated_at)
   WHERE c.tenant = p_tenant AND c.site = p_site AND c.id IN (
     SELECT m.conversation_id FROM platform.message m WHERE m.tenant = p_tenant AND m.site = p_site AND m.id = ANY (p_ids));
  DELETE FROM platform.file f WHERE f.tenant = p_tenant AND f.site = p_site AND f.message_id = ANY (p_ids);
  GET DIAGNOSTICS files = ROW_COUNT;
  PERFORM set_config('gateway.spelled', 'off', true);
  PERFORM platform.unlearn(p_tenant, p_site, array_agg(CASE m.visibility WHEN 'internal' THEN 'internal' ELSE 'message' END),
                           array_agg(m.id), array_agg(m.text))
     FROM platform.message m
    WHERE m.tenant = p_tenant AND m.site = p_site AND m.id = ANY (p_ids) AND m.text IS NOT NULL AND NOT m.redacted;
  UPDATE platform.message m
     SET text = NULL, redacted = true,
         external_id = CASE WHEN p_erases THEN 'erased:' || gen_random_uuid() ELSE m.external_id END,
         language = CASE WHEN NOT p_erases THEN m.language END,
         author_id = CASE WHEN NOT p_erases OR m.author_type <> 'visitor' THEN m.author_id END
   WHERE m.tenant = p_tenant AND m.site = p_site AND m.id = ANY (p_ids) AND (p_erases OR m.text IS NOT NULL OR NOT m.redacted);
  GET DIAGNOSTICS messages = ROW_COUNT;
END $$;
