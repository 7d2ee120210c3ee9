-- Totals on a conversation are derived data. Statement triggers keep them, so that whatever road a message comes
-- by (import, connector, write, SQL) the counts are right in the same transaction.

-- A set of conversations is passed as three parallel arrays.
CREATE FUNCTION platform.refresh_totals(tenants bigint[], sites bigint[], conversations bigint[]) RETURNS void
LANGUAGE sql AS $$
  WITH touched AS (
    SELECT DISTINCT * FROM unnest(tenants, sites, conversations) AS t (tenant, site, id)
  ), ordered AS (
    SELECT m.tenant, m.site, m.conversation_id, m.author_type, m.visibility = 'public' AS is_public, m.ai_generated,
           m.created_at,
           lag(m.author_type) OVER w AS previous_author,
           lag(m.created_at) OVER w AS previous_at,
           lag(m.visibility) OVER w AS previous_visibility
      FROM touched t
      JOIN platform.message m ON m.tenant = t.tenant AND m.site = t.site AND m.conversation_id = t.id
    WINDOW w AS (PARTITION BY m.tenant, m.site, m.conversation_id, m.visibility ORDER BY m.created_at, m.id)
  ), totals AS (
    SELECT tenant, site, conversation_id,
           count(*) FILTER (WHERE is_public) AS message_count,
           count(*) FILTER (WHERE is_public AND author_type = 'visitor') AS visitor_messages,
           count(*) FILTER (WHERE is_public AND author_type = 'bot') AS bot_messages,
           count(*) FILTER (WHERE is_public AND author_type = 'operator') AS operator_messages,
           max(created_at) FILTER (WHERE is_public) AS last_message_at,
           min(created_at) FILTER (WHERE is_public AND author_type = 'visitor') AS first_visitor_at,
           max(created_at) FILTER (WHERE is_public AND author_type = 'operator') AS last_operator_at,
           min(created_at) FILTER (WHERE ai_generated) AS first_ai_at,
           coalesce(bool_or(ai_generated), false) AS ai_message,
           coalesce(bool_or(ai_generated AND is_public), false) AS ai_public,
           coalesce(sum(extract(epoch FROM created_at - previous_at)) FILTER (
             WHERE is_public AND author_type IN ('bot', 'operator') AND previous_author = 'visitor'), 0) AS response_seconds,
           count(*) FILTER (
             WHERE is_public AND author_type IN ('bot', 'operator') AND previous_author = 'visitor') AS response_count
      FROM ordered GROUP BY tenant, site, conversation_id
  ), replies AS (
    SELECT o.tenant, o.site, o.conversation_id,
           min(o.created_at) AS first_reply_at,
           min(o.created_at) FILTER (WHERE o.author_type = 'operator') AS first_operator_reply_at
      FROM ordered o JOIN totals t USING (tenant, site, conversation_id)
     WHERE o.is_public AND o.author_type <> 'visitor' AND o.created_at >= t.first_visitor_at
     GROUP BY o.tenant, o.site, o.conversation_id
  )
  UPDATE platform.conversation c SET
    message_count = coalesce(n.message_count, 0), visitor_messages = coalesce(n.visitor_messages, 0),
    bot_messages = coalesce(n.bot_messages, 0), operator_messages = coalesce(n.operator_messages, 0),
    last_message_at = n.last_message_at, first_visitor_at = n.first_visitor_at,
    first_reply_at = r.first_reply_at, first_operator_reply_at = r.first_operator_reply_at,
    response_seconds = coalesce(n.response_seconds, 0), response_count = coalesce(n.response_count, 0),
    ai_customer_facing = coalesce(n.ai_public, false),
    ai_involved = coalesce(n.ai_message, false) OR s.recorded,
    -- An AI record without an AI message counts as evidence from the conversation's start.
    ai_escalated = coalesce(n.last_operator_at > CASE WHEN n.ai_message THEN n.first_ai_at WHEN s.recorded THEN c.created_at END, false)
  FROM touched t
  LEFT JOIN totals n ON n.tenant = t.tenant AND n.site = t.site AND n.conversation_id = t.id
  LEFT JOIN replies r ON r.tenant = t.tenant AND r.site = t.site AND r.conversation_id = t.id
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT 1 FROM platform.ai_result a
                    WHERE a.tenant = t.tenant AND a.site = t.site AND a.conversation_id = t.id) AS recorded
  ) s
  WHERE c.tenant = t.tenant AND c.site = t.site AND c.id = t.id
$$;

CREATE FUNCTION platform.conversation_inputs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.refresh_totals(array_agg(tenant), array_agg(site), array_agg(conversation_id)) FROM new_rows;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM platform.refresh_totals(array_agg(tenant), array_agg(site), array_agg(conversation_id)) FROM old_rows;
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
