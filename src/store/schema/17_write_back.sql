-- Notes and dispositions that go back to the helpdesk of a live source. The ledger reserves such a write, a gateway sends
-- the write to the REST API of the helpdesk, and the ledger stores the outcome. If the outcome is unknown, the row here
-- says where to look for the effect. The row holds no text.
CREATE TABLE gateway.write_back (
  operation_id text PRIMARY KEY REFERENCES gateway.operation ON DELETE CASCADE,
  source text NOT NULL REFERENCES gateway.source ON DELETE CASCADE,
  tenant bigint NOT NULL, site bigint NOT NULL,
  record bigint NOT NULL,                              -- native id of the visitor or the conversation
  target text NOT NULL,                                -- external_id of the contact or the conversation
  author bigint NOT NULL,                              -- native id of the operator
  at timestamptz NOT NULL DEFAULT now(),
  -- Until this time, no other write of the gateway may change the conversation in the helpdesk. Null: the write has ended,
  -- or the write needs no such protection.
  busy_until timestamptz,
  -- The helpdesk's time of the state that a change of a conversation had as its outcome. Older states do not follow it.
  seen_at timestamptz
);
CREATE INDEX write_back_at ON gateway.write_back (at);
CREATE INDEX write_back_source ON gateway.write_back (source);
CREATE INDEX write_back_busy ON gateway.write_back (tenant, target) WHERE busy_until IS NOT NULL;
CREATE INDEX write_back_seen ON gateway.write_back (tenant, site, record) WHERE seen_at IS NOT NULL;

-- Prepares a reserved write. Returns the place of the write: {source, kind, account, mode, address, api_url, api_token,
-- target, author}. Returns {refused} or {rejected} if the platform does not allow the write, as its own writers do. Returns
-- {busy} while another write changes the conversation.
--
-- The answer of an assignment has `given` too: the external_id of the operator or the team that gets the conversation.
--
-- The check of the reservation fences out a gateway that slept: after a take-over, the function prepares nothing.
--
-- Old rows are deleted for many organizations, so this part passes over the guard of moves (gateway.guard_move). The rest
-- writes for one organization, so it must not: gateway.machine is set back.
CREATE FUNCTION gateway.write_back_begin(
  p_id text, p_tenant bigint, p_site bigint, p_operation text, p_command jsonb, p_author bigint, p_lease interval
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  s gateway.source;
  author_name text;
  p_record bigint := coalesce(p_command ->> 'visitor', p_command ->> 'conversation')::bigint;
  sets boolean := p_operation = 'conversation_disposition_set';
  -- Of two writes with one `if_updated_at`, the second must see what the first has changed.
  alone boolean := sets OR p_operation IN ('conversation_status_set', 'conversation_assign')
    OR (p_operation = 'conversation_reply' AND p_command ->> 'if_updated_at' IS NOT NULL);
  found_target text;
  given text;
BEGIN
  -- Rows are needed for as long as the ledger keeps outcomes.
  PERFORM set_config('gateway.machine', 'on', true);
  DELETE FROM gateway.write_back w WHERE w.operation_id IN (
    SELECT o.operation_id FROM gateway.write_back o WHERE o.at < now() - interval '25 hours' AND o.tenant NOT IN (SELECT m.tenant FROM gateway.move m WHERE m.phase = 'moved')
     ORDER BY o.at LIMIT 10 FOR UPDATE SKIP LOCKED);
  PERFORM set_config('gateway.machine', '', true);
  PERFORM FROM gateway.operation o WHERE o.operation_id = p_id AND o.status = 'pending' AND o.epoch = 1 FOR SHARE;
  IF NOT FOUND THEN RETURN '{"refused": "native_unavailable"}'; END IF;
  SELECT * INTO s FROM gateway.source w
   WHERE w.tenant = p_tenant AND w.site = p_site AND w.api_token IS NOT NULL AND NOT w.paused ORDER BY w.id LIMIT 1;
  IF NOT FOUND THEN RETURN '{"refused": "native_unavailable"}'; END IF;
  SELECT o.name INTO author_name FROM platform.operator o WHERE o.tenant = p_tenant AND o.site = p_site AND o.id = p_author;
  IF sets AND (
       EXISTS (SELECT FROM platform.website w WHERE w.tenant = p_tenant AND w.site = p_site AND w.crm_integrated)
       OR NOT EXISTS (SELECT FROM platform.disposition d WHERE d.tenant = p_tenant AND d.site = p_site
                       AND d.value = p_command ->> 'disposition' AND d.enabled)) THEN
    RETURN '{"rejected": "operation_conflict"}';
  END IF;
  IF alone OR p_operation = 'conversation_reply' THEN
    SELECT c.external_id INTO found_target FROM platform.conversation c
     WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = p_record;
    IF NOT FOUND THEN RETURN '{"refused": "not_found"}'; END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('write back ' || p_tenant || ' ' || found_target, 0)) WHERE alone;
    IF alone AND EXISTS (SELECT FROM gateway.write_back w WHERE w.tenant = p_tenant AND w.target = found_target
                            AND w.busy_until > clock_timestamp() AND w.operation_id <> p_id) THEN
      RETURN '{"busy": true}';
    END IF;
    -- Read again, because the lock may have waited. The helpdesk would never wake a conversation at a time long past.
    IF NOT EXISTS (SELECT FROM platform.conversation c WHERE c.tenant = p_tenant AND c.site = p_site AND c.id = p_record
                      AND c.external_id NOT LIKE 'erased:%' AND gateway.is_unchanged(c, p_command))
       OR (p_command ->> 'until')::timestamptz <= now() THEN
      RETURN '{"rejected": "operation_conflict"}';
    END IF;
    IF p_command ? 'operator' OR p_command ? 'team' THEN
      given := coalesce(
        (SELECT o.external_id FROM platform.operator o WHERE o.tenant = p_tenant AND o.site = p_site
            AND o.id = (p_command ->> 'operator')::bigint AND o.enabled),
        (SELECT t.external_id FROM platform.team t WHERE t.tenant = p_tenant AND t.site = p_site
            AND t.id = (p_command ->> 'team')::bigint AND t.enabled));
      IF given IS NULL THEN RETURN '{"rejected": "operation_conflict"}'; END IF;
    END IF;
  ELSIF p_operation <> 'visitor_note_add' THEN
    RETURN '{"rejected": "operation_conflict"}';
  ELSE
    IF NOT EXISTS (SELECT FROM platform.conversation c
                    WHERE c.tenant = p_tenant AND c.site = p_site AND c.visitor_id = p_record) THEN
      RETURN '{"refused": "not_found"}';
    END IF;
    SELECT c.external_id INTO found_target FROM platform.visitor_contact l
      JOIN platform.contact c ON c.tenant = l.tenant AND c.site = l.site AND c.id = l.contact_id
     WHERE l.tenant = p_tenant AND l.site = p_site AND l.visitor_id = p_record ORDER BY c.id LIMIT 1;
  END IF;
  IF found_target IS NULL THEN RETURN '{"rejected": "operation_conflict"}'; END IF;
  INSERT INTO gateway.write_back (operation_id, source, tenant, site, record, target, author, busy_until)
  VALUES (p_id, s.id, p_tenant, p_site, p_record, found_target, p_author, CASE WHEN alone THEN clock_timestamp() + p_lease END)
  ON CONFLICT (operation_id) DO NOTHING;
  RETURN jsonb_build_object('source', s.id, 'kind', s.kind, 'account', s.account, 'address', s.address, 'api_url', s.api_url,
                            'api_token', s.api_token, 'target', found_target, 'author', coalesce(author_name, ''), 'given', given);
END $$;

-- Stores a note that the helpdesk has taken. p_prefix is the start of the external_id that the source gives to this note,
-- and the end of this external_id is the end of the visitor's external_id. So the source finds the note here and adds no
-- second one. All visitors of the contact get the note, as the source does. The function can be repeated.
CREATE FUNCTION gateway.write_back_note(p_id text, p_prefix text, p_text text, p_at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w gateway.write_back;
  v record;
  note platform.note;
  capture text := coalesce(current_setting('gateway.capture', true), '');
  answer jsonb;
BEGIN
  SELECT * INTO w FROM gateway.write_back b WHERE b.operation_id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- A page of the source must not write the same note at the same time.
  PERFORM FROM gateway.source s WHERE s.id = w.source FOR NO KEY UPDATE;
  -- The ledger appends the receipt with the outcome.
  PERFORM set_config('gateway.capture', 'off', true);
  FOR v IN
    SELECT t.id, p_prefix || substring(t.external_id FROM '[^:]+$') AS external_id FROM platform.visitor t
     WHERE t.tenant = w.tenant AND t.site = w.site AND (t.id = w.record OR t.id IN (
       SELECT l.visitor_id FROM platform.contact c
         JOIN platform.visitor_contact l ON l.tenant = c.tenant AND l.site = c.site AND l.contact_id = c.id
        WHERE c.tenant = w.tenant AND c.external_id = w.target))
     ORDER BY t.id <> w.record, t.id
  LOOP
    UPDATE platform.note n SET operator_id = w.author, text = p_text, created_at = p_at
     WHERE n.tenant = w.tenant AND n.site = w.site AND n.external_id = v.external_id RETURNING n.* INTO note;
    IF NOT FOUND THEN
      INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, operator_id, text, created_at)
      VALUES (w.tenant, w.site, platform.reserve_ids(w.tenant, w.site, 'note', 1) + 1, v.external_id, v.id, w.author, p_text, p_at)
      ON CONFLICT (tenant, external_id) DO UPDATE
        SET operator_id = excluded.operator_id, text = excluded.text, created_at = excluded.created_at
      RETURNING * INTO note;
    END IF;
    answer := coalesce(answer, jsonb_build_object('note_id', note.id, 'created_at', note.created_at::text, 'author', (
      SELECT o.name FROM platform.operator o WHERE o.tenant = w.tenant AND o.site = w.site AND o.id = w.author)));
  END LOOP;
  PERFORM set_config('gateway.capture', capture, true);
  RETURN answer;
END $$;

-- Stores the disposition that a conversation has in the helpdesk. The function can be repeated. The next write may change
-- the conversation afterwards.
CREATE FUNCTION gateway.write_back_disposition(p_id text, p_value text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w gateway.write_back;
  capture text := coalesce(current_setting('gateway.capture', true), '');
BEGIN
  SELECT * INTO w FROM gateway.write_back b WHERE b.operation_id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM FROM gateway.source s WHERE s.id = w.source FOR NO KEY UPDATE;
  PERFORM set_config('gateway.capture', 'off', true);
  UPDATE platform.conversation c
     SET disposition = p_value, updated_at = greatest(c.updated_at, date_trunc('milliseconds', now()))
   WHERE c.tenant = w.tenant AND c.site = w.site AND c.id = w.record AND c.disposition IS DISTINCT FROM p_value
     AND EXISTS (SELECT FROM platform.disposition d WHERE d.tenant = w.tenant AND d.site = w.site AND d.value = p_value);
  PERFORM set_config('gateway.capture', capture, true);
  UPDATE gateway.write_back b SET busy_until = NULL WHERE b.operation_id = p_id AND b.busy_until IS NOT NULL;
  RETURN '{}';
END $$;
