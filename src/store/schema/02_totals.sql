-- Conversations and messages have totals that are computed from other rows. Triggers compute the totals again in every
-- transaction that changes these rows. So the totals are always right, no matter which program made the change.

-- Computes the totals of several conversations again. The three arrays have equal length and name the conversations by
-- tenant, site and id.
CREATE FUNCTION platform.refresh_totals(tenants bigint[], sites bigint[], conversations bigint[]) RETURNS void
LANGUAGE sql AS $$
  -- Locks the conversations in a fixed order, so that no deadlock occurs. The second of two writers of a conversation
  -- waits here and then counts the messages of the first writer too.
  SELECT FROM platform.conversation c
    JOIN (SELECT DISTINCT * FROM unnest(tenants, sites, conversations) AS t (tenant, site, id)) t
      ON c.tenant = t.tenant AND c.site = t.site AND c.id = t.id
   ORDER BY c.tenant, c.site, c.id FOR NO KEY UPDATE OF c;

  -- The query makes one pass and joins no subqueries. The planner cannot estimate the size of a subquery and would
  -- choose nested loops.
  WITH touched AS (
    SELECT DISTINCT * FROM unnest(tenants, sites, conversations) AS t (tenant, site, id)
  ), ordered AS (
    SELECT t.tenant, t.site, t.id, m.author_type, m.visibility = 'public' AS is_public, m.ai_generated, m.created_at,
           lag(m.author_type) OVER w AS previous_author,
           lag(m.created_at) OVER w AS previous_at,
           min(m.created_at) FILTER (WHERE m.visibility = 'public' AND m.author_type = 'visitor')
             OVER (PARTITION BY t.tenant, t.site, t.id) AS first_visitor_at
      FROM touched t
      LEFT JOIN platform.message m ON m.tenant = t.tenant AND m.site = t.site AND m.conversation_id = t.id
    WINDOW w AS (PARTITION BY t.tenant, t.site, t.id, m.visibility ORDER BY m.created_at, m.id)
  ), totals AS (
    SELECT tenant, site, id,
           count(*) FILTER (WHERE is_public) AS message_count,
           count(*) FILTER (WHERE is_public AND author_type = 'visitor') AS visitor_messages,
           count(*) FILTER (WHERE is_public AND author_type = 'bot') AS bot_messages,
           count(*) FILTER (WHERE is_public AND author_type = 'operator') AS operator_messages,
           max(created_at) FILTER (WHERE is_public) AS last_message_at,
           min(first_visitor_at) AS first_visitor_at,
           min(created_at) FILTER (
             WHERE is_public AND author_type <> 'visitor' AND created_at >= first_visitor_at) AS first_reply_at,
           min(created_at) FILTER (
             WHERE is_public AND author_type = 'operator' AND created_at >= first_visitor_at) AS first_operator_reply_at,
           max(created_at) FILTER (WHERE is_public AND author_type = 'operator') AS last_operator_at,
           min(created_at) FILTER (WHERE ai_generated) AS first_ai_at,
           coalesce(bool_or(ai_generated), false) AS ai_message,
           coalesce(bool_or(ai_generated AND is_public), false) AS ai_public,
           coalesce(sum(extract(epoch FROM created_at - previous_at)) FILTER (
             WHERE is_public AND author_type IN ('bot', 'operator') AND previous_author = 'visitor'), 0) AS response_seconds,
           count(*) FILTER (
             WHERE is_public AND author_type IN ('bot', 'operator') AND previous_author = 'visitor') AS response_count
      FROM ordered GROUP BY tenant, site, id
  )
  UPDATE platform.conversation c SET
    message_count = n.message_count, visitor_messages = n.visitor_messages,
    bot_messages = n.bot_messages, operator_messages = n.operator_messages,
    last_message_at = n.last_message_at, first_visitor_at = n.first_visitor_at,
    first_reply_at = n.first_reply_at, first_operator_reply_at = n.first_operator_reply_at,
    response_seconds = n.response_seconds, response_count = n.response_count,
    ai_customer_facing = n.ai_public,
    ai_involved = n.ai_message OR s.recorded,
    -- If a conversation has an AI result but no AI message, the AI took part from the start of the conversation.
    ai_escalated = coalesce(n.last_operator_at > CASE WHEN n.ai_message THEN n.first_ai_at WHEN s.recorded THEN c.created_at END, false)
  FROM totals n
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM platform.ai_result a
                    WHERE a.tenant = n.tenant AND a.site = n.site AND a.conversation_id = n.id) AS recorded
  ) s
  WHERE c.tenant = n.tenant AND c.site = n.site AND c.id = n.id
$$;

-- An UPDATE computes totals again only where an input of the totals has changed. Else each batch of cleared texts would
-- count all messages of its conversations. The cascade of a website has no totals to compute, and neither has a DELETE while
-- gateway.removal is on (23_spellings.sql).
CREATE FUNCTION platform.conversation_inputs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.refresh_totals(array_agg(tenant), array_agg(site), array_agg(conversation_id)) FROM new_rows;
  ELSIF TG_OP = 'DELETE' THEN
    IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
    PERFORM platform.refresh_totals(array_agg(r.tenant), array_agg(r.site), array_agg(r.conversation_id))
       FROM (SELECT DISTINCT tenant, site, conversation_id FROM old_rows) r
      WHERE EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
  ELSIF TG_TABLE_NAME = 'message' THEN
    PERFORM platform.refresh_totals(array_agg(tenant), array_agg(site), array_agg(conversation_id))
       FROM (SELECT tenant, site, conversation_id FROM (
               SELECT tenant, site, id, conversation_id, author_type, visibility, ai_generated, created_at FROM new_rows
               EXCEPT SELECT tenant, site, id, conversation_id, author_type, visibility, ai_generated, created_at FROM old_rows) n
             UNION ALL
             SELECT tenant, site, conversation_id FROM (
               SELECT tenant, site, id, conversation_id, author_type, visibility, ai_generated, created_at FROM old_rows
               EXCEPT SELECT tenant, site, id, conversation_id, author_type, visibility, ai_generated, created_at FROM new_rows) o) rows
     HAVING count(*) > 0;
  ELSE
    PERFORM platform.refresh_totals(array_agg(tenant), array_agg(site), array_agg(conversation_id))
       FROM (SELECT tenant, site, conversation_id FROM new_rows
             UNION ALL SELECT tenant, site, conversation_id FROM old_rows) rows;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER message_inserted AFTER INSERT ON platform.message REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();
CREATE TRIGGER message_updated AFTER UPDATE ON platform.message REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();
CREATE TRIGGER message_deleted AFTER DELETE ON platform.message REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();
CREATE TRIGGER ai_result_inserted AFTER INSERT ON platform.ai_result REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();
CREATE TRIGGER ai_result_updated AFTER UPDATE ON platform.ai_result REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();
CREATE TRIGGER ai_result_deleted AFTER DELETE ON platform.ai_result REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.conversation_inputs_changed();

CREATE FUNCTION platform.files_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
  UPDATE platform.message m SET attachment_count = (
           SELECT count(*) FROM platform.file f
            WHERE f.tenant = m.tenant AND f.site = m.site AND f.message_id = m.id)
    FROM (SELECT DISTINCT tenant, site, message_id FROM rows) t
   WHERE m.tenant = t.tenant AND m.site = t.site AND m.id = t.message_id;
  RETURN NULL;
END $$;

CREATE TRIGGER file_inserted AFTER INSERT ON platform.file REFERENCING NEW TABLE AS rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.files_changed();
CREATE TRIGGER file_deleted AFTER DELETE ON platform.file REFERENCING OLD TABLE AS rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.files_changed();

-- An import can attach a file to another message. Then the attachments of both messages are counted again.
CREATE FUNCTION platform.files_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE platform.message m SET attachment_count = (
           SELECT count(*) FROM platform.file f
            WHERE f.tenant = m.tenant AND f.site = m.site AND f.message_id = m.id)
    FROM (SELECT DISTINCT r.tenant, r.site, r.message_id
            FROM old_rows o JOIN new_rows n ON n.tenant = o.tenant AND n.site = o.site AND n.id = o.id AND n.message_id <> o.message_id
            CROSS JOIN LATERAL (VALUES (o.tenant, o.site, o.message_id), (n.tenant, n.site, n.message_id)) AS r (tenant, site, message_id)) t
   WHERE m.tenant = t.tenant AND m.site = t.site AND m.id = t.message_id;
  RETURN NULL;
END $$;
CREATE TRIGGER file_updated AFTER UPDATE ON platform.file REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION platform.files_moved();
