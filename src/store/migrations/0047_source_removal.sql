-- A source is removed with its website in many short statements (src/store/administration/removal.ts). The time of the
-- request stays until the website is gone, so whoever comes next can finish the removal.

-- As in 0018: if the table is not free soon, the migration gives up, and the gateway tries again. Pages of sources and imports
-- lock it, and who comes after the waiting ALTER would wait, too.
SELECT set_config('lock_timeout', '400ms', true);

-- A gateway of an older version cannot resume such a source.
ALTER TABLE gateway.source ADD COLUMN removing_at timestamptz, ADD CHECK (removing_at IS NULL OR paused);

-- Removes the words of websites that are gone. The arrays have equal length.
CREATE FUNCTION platform.forget_websites(p_tenants bigint[], p_sites bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w record;
BEGIN
  FOR w IN SELECT t.tenant, t.site FROM unnest(p_tenants, p_sites) AS t (tenant, site) LOOP
    DELETE FROM platform.spelling s WHERE s.tenant = w.tenant AND s.site = w.site;
  END LOOP;
END $$;

-- As in 0030_erasure.sql and 0023_spellings.sql, but a DELETE collects no text of a website that is gone. The cascade of a
-- website is one call with all its rows, and its texts may not fit into the memory. While gateway.removal is on, a DELETE
-- leaves words and totals alone, because they go with the website.
CREATE OR REPLACE FUNCTION platform.message_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.learn(array_agg(CASE visibility WHEN 'internal' THEN 'internal' ELSE 'message' END), array_agg(tenant), array_agg(site),
                           array_agg(id), array_agg(text)) FROM new_rows WHERE NOT redacted HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
    PERFORM platform.forget(array_agg(CASE r.visibility WHEN 'internal' THEN 'internal' ELSE 'message' END), array_agg(r.tenant), array_agg(r.site),
                            array_agg(r.id), array_agg(r.text)) FROM old_rows r
      WHERE NOT r.redacted AND EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
    PERFORM platform.forget_websites(array_agg(r.tenant), array_agg(r.site)) FROM (SELECT DISTINCT tenant, site FROM old_rows) r
      WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
  ELSIF current_setting('gateway.spelled', true) IS DISTINCT FROM 'off' THEN
    IF NOT OLD.redacted THEN
      PERFORM platform.forget(ARRAY[CASE OLD.visibility WHEN 'internal' THEN 'internal' ELSE 'message' END], ARRAY[OLD.tenant], ARRAY[OLD.site], ARRAY[OLD.id], ARRAY[OLD.text]);
    END IF;
    IF NOT NEW.redacted THEN
      PERFORM platform.learn(ARRAY[CASE NEW.visibility WHEN 'internal' THEN 'internal' ELSE 'message' END], ARRAY[NEW.tenant], ARRAY[NEW.site], ARRAY[NEW.id], ARRAY[NEW.text]);
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION platform.subject_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.learn(array_agg('subject'::text), array_agg(tenant), array_agg(site), array_agg(id), array_agg(subject)) FROM new_rows HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
    PERFORM platform.forget(array_agg('subject'::text), array_agg(r.tenant), array_agg(r.site), array_agg(r.id), array_agg(r.subject)) FROM old_rows r
      WHERE EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
    PERFORM platform.forget_websites(array_agg(r.tenant), array_agg(r.site)) FROM (SELECT DISTINCT tenant, site FROM old_rows) r
      WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
  ELSIF current_setting('gateway.spelled', true) IS DISTINCT FROM 'off' THEN
    PERFORM platform.forget(ARRAY['subject'], ARRAY[OLD.tenant], ARRAY[OLD.site], ARRAY[OLD.id], ARRAY[OLD.subject]);
    PERFORM platform.learn(ARRAY['subject'], ARRAY[NEW.tenant], ARRAY[NEW.site], ARRAY[NEW.id], ARRAY[NEW.subject]);
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION platform.note_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.learn(array_agg('note'::text), array_agg(tenant), array_agg(site), array_agg(id), array_agg(coalesce(title || ': ', '') || text)) FROM new_rows HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
    PERFORM platform.forget(array_agg('note'::text), array_agg(r.tenant), array_agg(r.site), array_agg(r.id), array_agg(coalesce(r.title || ': ', '') || r.text)) FROM old_rows r
      WHERE EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
    PERFORM platform.forget_websites(array_agg(r.tenant), array_agg(r.site)) FROM (SELECT DISTINCT tenant, site FROM old_rows) r
      WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
  ELSE
    PERFORM platform.forget(ARRAY['note'], ARRAY[OLD.tenant], ARRAY[OLD.site], ARRAY[OLD.id], ARRAY[coalesce(OLD.title || ': ', '') || OLD.text]);
    PERFORM platform.learn(ARRAY['note'], ARRAY[NEW.tenant], ARRAY[NEW.site], ARRAY[NEW.id], ARRAY[coalesce(NEW.title || ': ', '') || NEW.text]);
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION platform.contact_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM platform.learn(array_agg('contact'::text), array_agg(tenant), array_agg(site), array_agg(id), array_agg(name)) FROM new_rows WHERE NOT deleted HAVING count(*) > 0;
  ELSIF TG_OP = 'DELETE' THEN
    IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
    PERFORM platform.forget(array_agg('contact'::text), array_agg(r.tenant), array_agg(r.site), array_agg(r.id), array_agg(r.name)) FROM old_rows r
      WHERE NOT r.deleted AND EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
    PERFORM platform.forget_websites(array_agg(r.tenant), array_agg(r.site)) FROM (SELECT DISTINCT tenant, site FROM old_rows) r
      WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) HAVING count(*) > 0;
  ELSE
    IF NOT OLD.deleted THEN PERFORM platform.forget(ARRAY['contact'], ARRAY[OLD.tenant], ARRAY[OLD.site], ARRAY[OLD.id], ARRAY[OLD.name]); END IF;
    IF NOT NEW.deleted THEN PERFORM platform.learn(ARRAY['contact'], ARRAY[NEW.tenant], ARRAY[NEW.site], ARRAY[NEW.id], ARRAY[NEW.name]); END IF;
  END IF;
  RETURN NULL;
END $$;

-- As in 0030_erasure.sql, with the same two changes.
CREATE OR REPLACE FUNCTION platform.conversation_inputs_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE FUNCTION platform.files_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('gateway.removal', true) = 'on' THEN RETURN NULL; END IF;
  UPDATE platform.message m SET attachment_count = (
           SELECT count(*) FROM platform.file f
            WHERE f.tenant = m.tenant AND f.site = m.site AND f.message_id = m.id)
    FROM (SELECT DISTINCT tenant, site, message_id FROM rows) t
   WHERE m.tenant = t.tenant AND m.site = t.site AND m.id = t.message_id;
  RETURN NULL;
END $$;
