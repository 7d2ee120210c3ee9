-- Writes that people expect of a helpdesk: replies, statuses and assignments. They exist only for credentials whose policy
-- names them (`write`). A public reply waits for a person, unless the policy says otherwise (`without_approval`).

-- Returns true if a person must approve the command of the credential first.
CREATE FUNCTION gateway.must_wait(c gateway.credential, p_operation text, p_command jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_operation = ANY (c.approve)
      OR (p_operation = 'conversation_reply' AND p_command ->> 'visibility' IS DISTINCT FROM 'internal'
          AND p_operation <> ALL (c.without_approval))
$$;

-- Returns true unless the conversation has changed since the time that the command names. Answers have whole milliseconds.
CREATE FUNCTION gateway.is_unchanged(c platform.conversation, p_command jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(date_trunc('milliseconds', c.updated_at) = (p_command ->> 'if_updated_at')::timestamptz, true)
$$;

-- Locks a conversation for a write, and returns it. Returns null if the write cannot have its effect: the conversation has
-- changed since the time that the command names, its texts are erased, or the website follows a helpdesk that takes no
-- writes. The next page of such a helpdesk would undo a change that only the gateway has.
CREATE FUNCTION platform.conversation_to_write(p_tenant bigint, p_site bigint, p_command jsonb) RETURNS platform.conversation
LANGUAGE plpgsql AS $$
DECLARE
  c platform.conversation;
BEGIN
  SELECT * INTO c FROM platform.conversation x
   WHERE x.tenant = p_tenant AND x.site = p_site AND x.id = (p_command ->> 'conversation')::bigint FOR UPDATE;
  IF c.id IS NULL OR c.external_id LIKE 'erased:%' OR NOT gateway.is_unchanged(c, p_command)
     OR EXISTS (SELECT FROM gateway.source s WHERE s.tenant = p_tenant AND s.site = p_site) THEN
    RETURN NULL;
  END IF;
  RETURN c;
END $$;

-- The time of a change: now, but later than the last change. So two changes of one millisecond have two times.
CREATE FUNCTION platform.next_change(p_last timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(date_trunc('milliseconds', p_last) + interval '1 millisecond', date_trunc('milliseconds', now()))
$$;

-- Writers, as 10_ledger.sql describes them. Each runs its commands in the order of the conversations, so that two batches do not
-- deadlock.

CREATE FUNCTION platform.add_replies(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  c platform.conversation;
  moment timestamptz;
  message_id bigint;
  answers text[] := '{}';
BEGIN
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
      CONTINUE;
    END IF;
    c := platform.conversation_to_write(p_tenant, p_site, command);
    IF c.id IS NULL THEN
      answers[n] := '{"rejected": "operation_conflict"}';
      CONTINUE;
    END IF;
    moment := platform.next_change(c.updated_at);
    message_id := platform.reserve_ids(p_tenant, p_site, 'message', 1) + 1;
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind, text, created_at)
    VALUES (p_tenant, p_site, message_id, p_ids[n], c.id, 'operator', (p_authors[n]).id, command ->> 'visibility', 'text',
            command ->> 'text', moment);
    UPDATE platform.conversation x SET updated_at = moment WHERE x.tenant = p_tenant AND x.site = p_site AND x.id = c.id;
    answers[n] := json_build_object('done', json_build_object('message_id', message_id, 'updated_at', moment::text))::text;
  END LOOP;
  RETURN answers;
END $$;

CREATE FUNCTION platform.set_statuses(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  c platform.conversation;
  moment timestamptz;
  answers text[] := '{}';
BEGIN
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
      CONTINUE;
    END IF;
    c := platform.conversation_to_write(p_tenant, p_site, command);
    -- Nothing here could wake a conversation at the time `until`.
    IF c.id IS NULL OR command ->> 'until' IS NOT NULL THEN
      answers[n] := '{"rejected": "operation_conflict"}';
      CONTINUE;
    END IF;
    moment := platform.next_change(c.updated_at);
    UPDATE platform.conversation x
       SET status = CASE WHEN command ->> 'status' <> 'open' THEN command ->> 'status'
                         WHEN x.operator_id IS NULL THEN 'unassigned' ELSE 'assigned' END,
           closed_at = CASE WHEN command ->> 'status' <> 'closed' THEN NULL
                            WHEN x.status = 'closed' THEN coalesce(x.closed_at, moment) ELSE moment END,
           updated_at = moment
     WHERE x.tenant = p_tenant AND x.site = p_site AND x.id = c.id RETURNING x.* INTO c;
    answers[n] := json_build_object('done', json_build_object('status', c.status, 'updated_at', moment::text))::text;
  END LOOP;
  RETURN answers;
END $$;

CREATE FUNCTION platform.assign_conversations(
  p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  command jsonb;
  n integer;
  c platform.conversation;
  moment timestamptz;
  answers text[] := '{}';
BEGIN
  FOR command, n IN
    SELECT t.command, t.n FROM unnest(p_commands) WITH ORDINALITY AS t (command, n)
     ORDER BY (t.command ->> 'conversation')::bigint, t.n
  LOOP
    IF (p_authors[n]).id IS NULL THEN
      answers[n] := '{"refused": "enrollment_unavailable"}';
      CONTINUE;
    END IF;
    c := platform.conversation_to_write(p_tenant, p_site, command);
    IF c.id IS NULL
       OR command ? 'operator' AND NOT EXISTS (
         SELECT FROM platform.operator o WHERE o.tenant = p_tenant AND o.site = p_site
            AND o.id = (command ->> 'operator')::bigint AND o.enabled)
       OR command ? 'team' AND NOT EXISTS (
         SELECT FROM platform.team t WHERE t.tenant = p_tenant AND t.site = p_site
            AND t.id = (command ->> 'team')::bigint AND t.enabled) THEN
      answers[n] := '{"rejected": "operation_conflict"}';
      CONTINUE;
    END IF;
    moment := platform.next_change(c.updated_at);
    -- A command names an operator or a team, or clears the operator. An open conversation with an operator is assigned.
    UPDATE platform.conversation x
       SET team_id = CASE WHEN command ? 'team' THEN (command ->> 'team')::bigint ELSE x.team_id END,
           operator_id = CASE WHEN command ? 'team' THEN x.operator_id ELSE (command ->> 'operator')::bigint END,
           status = CASE WHEN command ? 'team' OR x.status NOT IN ('assigned', 'unassigned') THEN x.status
                         WHEN command ? 'operator' THEN 'assigned' ELSE 'unassigned' END,
           updated_at = moment
     WHERE x.tenant = p_tenant AND x.site = p_site AND x.id = c.id RETURNING x.* INTO c;
    answers[n] := json_build_object('done', json_build_object(
      'operator', c.operator_id::text, 'team', c.team_id::text, 'updated_at', moment::text))::text;
  END LOOP;
  RETURN answers;
END $$;

-- Stores a reply that the helpdesk has taken, under the external_id that the source gives to it. So the source finds the
-- message here and adds no second one. p_author is the operator whom the helpdesk shows. The function can be repeated.
CREATE FUNCTION gateway.write_back_reply(
  p_id text, p_external_id text, p_author text, p_at timestamptz, p_text text, p_internal boolean
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w gateway.write_back;
  c platform.conversation;
  message_id bigint;
  capture text := coalesce(current_setting('gateway.capture', true), '');
BEGIN
  SELECT * INTO w FROM gateway.write_back b WHERE b.operation_id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- A page of the source must not write the same message at the same time.
  PERFORM FROM gateway.source s WHERE s.id = w.source FOR NO KEY UPDATE;
  -- An erasure locks this row before the conversation, too.
  PERFORM FROM gateway.write_back b WHERE b.operation_id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- The ledger appends the receipt with the outcome.
  PERFORM set_config('gateway.capture', 'off', true);
  SELECT * INTO c FROM platform.conversation x WHERE x.tenant = w.tenant AND x.site = w.site AND x.id = w.record FOR UPDATE;
  SELECT m.id INTO message_id FROM platform.message m WHERE m.tenant = w.tenant AND m.site = w.site AND m.external_id = p_external_id;
  -- The texts of an erased conversation must not come back.
  IF message_id IS NULL AND c.external_id = w.target THEN
    message_id := platform.reserve_ids(w.tenant, w.site, 'message', 1) + 1;
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, author_id, visibility, kind, text,
                                  created_at, delivery_status)
    VALUES (w.tenant, w.site, message_id, p_external_id, c.id, 'operator', coalesce((
              SELECT o.id FROM platform.operator o
               WHERE o.tenant = w.tenant AND o.site = w.site AND o.external_id = p_author), w.author),
            CASE WHEN p_internal THEN 'internal' ELSE 'public' END, 'text', p_text, p_at, 'sent');
    UPDATE platform.conversation x SET updated_at = platform.next_change(x.updated_at)
     WHERE x.tenant = w.tenant AND x.site = w.site AND x.id = c.id RETURNING x.* INTO c;
  END IF;
  PERFORM set_config('gateway.capture', capture, true);
  UPDATE gateway.write_back b SET busy_until = NULL WHERE b.operation_id = p_id AND b.busy_until IS NOT NULL;
  RETURN jsonb_build_object('message_id', message_id, 'updated_at', coalesce(c.updated_at, now())::text);
END $$;

-- Stores a conversation as the helpdesk has it after a status or an assignment. p_operator and p_team are external_ids,
-- p_at is the time of that state in the helpdesk. If the source has brought a later state meanwhile, that one stays.
-- The function can be repeated.
CREATE FUNCTION gateway.write_back_change(
  p_id text, p_status text, p_operator text, p_team text, p_at timestamptz, p_reassigned boolean
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w gateway.write_back;
  c platform.conversation;
  now_operator bigint;
  now_team bigint;
  now_status text := CASE WHEN p_status <> 'open' THEN p_status WHEN p_operator IS NULL THEN 'unassigned' ELSE 'assigned' END;
  capture text := coalesce(current_setting('gateway.capture', true), '');
BEGIN
  SELECT * INTO w FROM gateway.write_back b WHERE b.operation_id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- A page of the source must not write the same conversation at the same time.
  PERFORM FROM gateway.source s WHERE s.id = w.source FOR NO KEY UPDATE;
  -- An erasure locks this row before the conversation, too.
  PERFORM FROM gateway.write_back b WHERE b.operation_id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- The ledger appends the receipt with the outcome.
  PERFORM set_config('gateway.capture', 'off', true);
  SELECT o.id INTO now_operator FROM platform.operator o
   WHERE o.tenant = w.tenant AND o.site = w.site AND o.external_id = p_operator;
  SELECT t.id INTO now_team FROM platform.team t WHERE t.tenant = w.tenant AND t.site = w.site AND t.external_id = p_team;
  SELECT * INTO c FROM platform.conversation x WHERE x.tenant = w.tenant AND x.site = w.site AND x.id = w.record FOR UPDATE;
  IF c.updated_at <= p_at THEN
    c.closed_at := CASE WHEN now_status <> 'closed' THEN NULL WHEN c.status = 'closed' THEN coalesce(c.closed_at, p_at) ELSE p_at END;
    c.status := now_status;
    c.operator_id := now_operator;
    c.team_id := now_team;
  END IF;
  UPDATE platform.conversation x
     SET status = c.status, closed_at = c.closed_at, operator_id = c.operator_id, team_id = c.team_id,
         updated_at = platform.next_change(x.updated_at)
   WHERE x.tenant = w.tenant AND x.site = w.site AND x.id = w.record AND x.external_id = w.target RETURNING x.* INTO c;
  PERFORM set_config('gateway.capture', capture, true);
  UPDATE gateway.write_back b SET busy_until = NULL, seen_at = p_at WHERE b.operation_id = p_id;
  RETURN jsonb_build_object('status', now_status, 'operator', now_operator::text, 'team', now_team::text,
                            'reassigned', p_reassigned, 'updated_at', coalesce(c.updated_at, now())::text);
END $$;
