-- The hits of some conversations that earlier pages have passed: from the position of the stream to p_top, the time of the
-- newest hit of the first page. Later messages do not count, because no page has shown them.
CREATE FUNCTION platform.passed_hits(p_streams platform.searched[], p_of integer[], p_conversations bigint[], p_query tsquery, p_top timestamptz)
RETURNS TABLE (stream integer, id bigint, conversation_id bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  together constant integer := 64;
  numbers integer[];
  chosen platform.searched[];
  marks text[];
BEGIN
  FOR i IN 1 .. coalesce(cardinality(p_of), 0) BY together LOOP
    numbers := ARRAY(SELECT DISTINCT o FROM unnest(p_of[i : i + together - 1]) AS o ORDER BY 1);
    chosen := ARRAY(SELECT p_streams[o] FROM unnest(numbers) WITH ORDINALITY AS n (o, nr) ORDER BY n.nr);
    marks := ARRAY(SELECT unnest(platform.conversation_marks(chosen[array_position(numbers, c.o)], ARRAY[c.conversation]))
                     FROM unnest(p_of[i : i + together - 1], p_conversations[i : i + together - 1]) AS c (o, conversation));
    RETURN QUERY SELECT numbers[h.stream], h.id, h.conversation_id FROM platform.joint_hits(chosen, marks, p_query, true, p_top, NULL) AS h;
  END LOOP;
END $$;

-- The same for one long conversation, in its next blocks. The blocks are in a circle, which begins with the block of the hit
-- p_hit, because hits that are near in time are often near in the table. p_from is the message to begin at. Null is the
-- start. `beyond` is the message at which the next call begins. Null is the end. A call looks at 4 blocks at most, and at 64
-- blocks of the conversation that have only messages of other times.
CREATE FUNCTION platform.passed_in_blocks(
  p platform.searched, p_query tsquery, p_conversation bigint, p_top timestamptz, p_hit bigint, p_from bigint, OUT ids bigint[], OUT beyond bigint
) LANGUAGE plpgsql STABLE AS $$
DECLARE
  start constant bigint := p_hit >> 11 << 11;
  message bigint;
  marks text[] := '{}';
BEGIN
  ids := '{}';
  beyond := coalesce(p_from, start);
  FOR probe IN 1 .. 64 LOOP
    SELECT m.id INTO message FROM platform.message m
     WHERE m.tenant = p.tenant AND m.site = p.site AND m.conversation_id = p_conversation AND m.id >= beyond AND (beyond >= start OR m.id < start)
     ORDER BY m.id LIMIT 1;
    IF message IS NULL THEN
      beyond := CASE WHEN beyond >= start AND start > 0 THEN 0 END;
      EXIT WHEN beyond IS NULL;
      CONTINUE;
    END IF;
    IF EXISTS (SELECT FROM platform.said_block b
                WHERE b.tenant = p.tenant AND b.site = p.site AND b.kind = p.kind AND b.block = message >> 11 AND b.oldest <= p_top AND b.newest > p.at) THEN
      marks := marks || platform.website_marks(p, message, 11);
    END IF;
    -- The last block before the start closes the circle.
    beyond := CASE WHEN message >= start OR ((message >> 11) + 1) << 11 < start THEN ((message >> 11) + 1) << 11 END;
    EXIT WHEN beyond IS NULL OR cardinality(marks) >= CASE WHEN p.internal THEN 8 ELSE 4 END;
  END LOOP;
  IF marks <> '{}' THEN
    ids := ARRAY(SELECT h.id FROM platform.joint_hits(
                   ARRAY[p], marks, p_query && platform.any_of(platform.conversation_marks(p, ARRAY[p_conversation])), true, p_top, NULL) AS h
                  WHERE p_from IS NULL OR h.id >= p_from OR h.id >> 11 <> p_from >> 11 ORDER BY h.id < start, h.id);
  END IF;
END $$;

-- About 240 characters of a text around the first of the terms, or from the start of the text. No word after the first
-- 100,000 characters is found.
CREATE FUNCTION platform.snippet(t text, terms text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN s.start > 1 THEN '…' ELSE '' END || substr(t, s.start, 240) || CASE WHEN length(t) > s.start + 239 THEN '…' ELSE '' END
    FROM (SELECT greatest(1, coalesce(min(nullif(strpos(low.t, lower(term)), 0)), 1) - 80) AS start
            FROM (SELECT lower(left(t, 100000)) AS t OFFSET 0) low CROSS JOIN unnest(terms) AS term) s
$$;

-- How many messages of some conversations match, at most 100 for each. The arrays name the conversations by the number of their
-- stream and their id, the first of the page first. p_exact is given if the index cannot decide about a text.
--
-- Only texts that the caller may see are counted, and only they decide which conversations are counted. Most conversations are
-- short, and one look-up counts 64 of them. A conversation with more than 100 messages has a look-up of its own, which reads
-- at most 100 hits. There is no row for a conversation with more than 2,000 messages, because a look-up passes the mark of each.
-- With p_exact, there is also no row for the conversations that are left after 200 texts or 100,000 bytes.
CREATE FUNCTION platform.search_matches(p_streams platform.searched[], p_of integer[], p_conversations bigint[], p_query tsquery, p_exact tsquery)
RETURNS TABLE (stream integer, conversation_id bigint, matches integer)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
#variable_conflict use_column
DECLARE
  most constant integer := 100;
  texts integer := 200;
  bytes bigint := 100000;
  numbers constant integer[] := ARRAY(SELECT DISTINCT o FROM unnest(p_of) AS o ORDER BY 1);
  -- A page begins behind the hits before it, but its conversations are counted whole.
  streams constant platform.searched[] := ARRAY(
    SELECT ((n.p).tenant, (n.p).site, (n.p).kind, (n.p).internal, NULL, NULL, NULL, (n.p).from_at, (n.p).to_at, '-infinity', 0)::platform.searched
      FROM (SELECT p_streams[o] AS p, nr FROM unnest(numbers) WITH ORDINALITY AS n (o, nr) OFFSET 0) n ORDER BY n.nr);
  p platform.searched;
  places integer[] := '{}';
  small integer[] := '{}';
  owners integer[] := '{}';
  hits bigint[] := '{}';
  found bigint[];
  hit bigint;
  of_page integer;
  size bigint;
  counted integer;
  matched boolean;
BEGIN
  FOR i IN 1 .. coalesce(cardinality(p_of), 0) LOOP
    places[i] := array_position(numbers, p_of[i]);
    p := streams[places[i]];
    IF p.internal THEN
      SELECT count(*) INTO size FROM (
        SELECT FROM platform.message m WHERE m.tenant = p.tenant AND m.site = p.site AND m.conversation_id = p_conversations[i] LIMIT 2001) m;
    ELSE
      SELECT c.message_count INTO size FROM platform.conversation c WHERE c.tenant = p.tenant AND c.site = p.site AND c.id = p_conversations[i];
    END IF;
    IF size <= most THEN small := small || i;
    ELSIF size <= 2000 THEN
      found := ARRAY(SELECT h.id FROM platform.joint_hits(
        ARRAY[p], platform.conversation_marks(p, p_conversations[i : i]), p_query, true, 'infinity', CASE WHEN p_exact IS NULL THEN most ELSE texts + 1 END) AS h);
      hits := hits || found;
      owners := owners || array_fill(i, ARRAY[cardinality(found)]);
    END IF;
  END LOOP;
  SELECT owners || coalesce(array_agg(o.i), '{}'), hits || coalesce(array_agg(h.id), '{}') INTO owners, hits
    FROM platform.passed_hits(
      streams, ARRAY(SELECT places[i] FROM unnest(small) AS i), ARRAY(SELECT p_conversations[i] FROM unnest(small) AS i), p_query, 'infinity') AS h
    JOIN unnest(small) AS o (i) ON places[o.i] = h.stream AND p_conversations[o.i] = h.conversation_id;
  IF p_exact IS NULL THEN
    RETURN QUERY SELECT p_of[o.i], p_conversations[o.i], least(most, count(*))::integer FROM unnest(owners) AS o (i) GROUP BY o.i;
    RETURN;
  END IF;
  FOR of_page, found IN SELECT o.i, array_agg(o.id ORDER BY o.id) FROM unnest(owners, hits) AS o (i, id) GROUP BY 1 ORDER BY 1 LOOP
    counted := 0;
    FOREACH hit IN ARRAY found LOOP
      EXIT WHEN counted = most;
      -- The CASE comes before the words of a text that is too long, because they take the time.
      SELECT 5 * octet_length(s.text) - 4 * length(s.text),
             CASE WHEN 5 * octet_length(s.text) - 4 * length(s.text) <= bytes THEN to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ p_exact END
        INTO size, matched
        FROM platform.said s
       WHERE s.kind = 'message' AND s.tenant = streams[places[of_page]].tenant AND s.site = streams[places[of_page]].site AND s.id = hit;
      bytes := bytes - size;
      texts := texts - 1;
      IF texts < 0 OR bytes < 0 THEN RETURN; END IF;
      counted := counted + matched::integer;
    END LOOP;
    stream := p_of[of_page];
    conversation_id := p_conversations[of_page];
    matches := counted;
    RETURN NEXT;
  END LOOP;
END $$;

-- One page of a search over several kinds and websites. The page shows the best of p_window hits, or the newest if p_best
-- is false, after p_skip hits. A hit is a candidate whose words stand in the wanted order, and whose conversation no earlier
-- page has shown. `top` is the position of the newest candidate. `bottom` is the position after which the next window
-- begins, and `found` is then p_window. `known` is false if the query names no word. Returns one row with an empty `kind`
-- for an empty page.
--
-- If the index cannot decide about a text, the text is read. Each byte that a letter has beyond its first counts as five,
-- because writing without spaces takes longer. A window ends after 500 candidates, or after 300,000 bytes of
-- text or 500 texts that were read. Only texts that the caller may see are read, so the end of a window reveals nothing
-- about other texts. The rank looks at the start of a text only, so that long texts do not make a page slow.
--
-- A conversation with a hit can have more texts in earlier pages than one window can read. Then `bottom` is the position of
-- this hit, followed by the message at which the check goes on. The next window begins with this hit, and the check at this
-- message, p_read. The texts next to the hit are read first, so a walk reads few texts twice.
--
-- p_top is the time of the newest hit of the first page. Null on the first page.
--
-- p_authors are the kinds of authors whose messages may match. Null means all. If p_each is true, the page shows each message
-- that matches, and no conversation is gone.
--
-- The statement stands in a function, because a function keeps its plan.
CREATE FUNCTION platform.search_page(
  p_kinds text[], p_streams platform.searched[], p_groups jsonb, p_terms text[], p_authors text[], p_each boolean,
  p_best boolean, p_window integer, p_skip integer, p_limit integer, p_top timestamptz, p_read bigint
) RETURNS TABLE (
  known boolean, found integer, top text, bottom text, kind integer, site bigint, id bigint,
  conversation_id bigint, visitor_id bigint, at timestamptz, place text, subject text, snippet text, matches integer
) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
#variable_conflict use_column
DECLARE
  exact constant tsquery := platform.search_query(p_groups);
  looked constant platform.index_query := platform.index_query(p_groups);
  -- The marks of authors are words of the index, so the bounds of all look-ups hold for them.
  sought constant tsquery := CASE WHEN p_authors IS NULL THEN looked.query
                                  ELSE looked.query && platform.any_of(ARRAY(SELECT platform.author_mark(a) FROM unnest(p_authors) AS a)) END;
  -- The rank of a text takes a time that grows with the square of the number of words in the query.
  ranked constant tsquery := CASE WHEN numnode(exact) <= 64 THEN exact ELSE looked.query END;
  candidates constant integer := CASE WHEN looked.whole THEN p_window ELSE 500 END;
  -- The kind and the website of each stream, because PostgreSQL finds an element of p_streams by reading all before it.
  kinds constant integer[] := ARRAY(SELECT array_position(p_kinds, s.kind) - 1 FROM unnest(p_streams) WITH ORDINALITY AS s ORDER BY s.ordinality);
  sites constant bigint[] := ARRAY(SELECT s.site FROM unnest(p_streams) WITH ORDINALITY AS s ORDER BY s.ordinality);
  numbers integer[];
  chosen platform.searched[];
  stream platform.searched;
  bound timestamptz;
  fresh platform.hit[];
  found_in integer[];
  hits platform.hit[] := '{}';
  streams integer[] := '{}';
  positions text[];
  newest text;
  oldest text;
  done integer;
  matching integer[] := '{}';
  -- Conversations that an earlier page has shown, and conversations that no earlier page has shown.
  gone text[] := '{}';
  kept text[] := '{}';
  -- Conversations with more than 500 messages. They are looked at in blocks.
  long text[] := '{}';
  -- The hits that earlier pages have passed in the other conversations.
  conversations bigint[];
  passed text[];
  passed_ids bigint[];
  conversation text;
  bytes bigint := 0;
  texts integer := 0;
  looks integer := 0;
  size integer;
  matched boolean;
  shown boolean;
  resumed bigint;
  ids bigint[];
  beyond bigint;
  message bigint;
  complete boolean;
BEGIN
  PERFORM gateway.built(NULL);
  known := looked.query IS NOT NULL;
  IF NOT known THEN RETURN NEXT; RETURN; END IF;
  -- A kind needs no hits that are older than the candidates of the kinds before it.
  FOR k IN 0 .. cardinality(p_kinds) - 1 LOOP
    numbers := array_positions(kinds, k);
    CONTINUE WHEN numbers = '{}';
    IF cardinality(numbers) = 1 THEN
      stream := p_streams[numbers[1]];
      stream.from_at := greatest(stream.from_at, bound);
      fresh := ARRAY(SELECT platform.newest_hits(stream, sought, candidates));
      found_in := array_fill(numbers[1], ARRAY[cardinality(fresh)]);
    ELSE
      chosen := ARRAY(
        SELECT (s.tenant, s.site, s.kind, s.internal, s.channels, s.teams, s.subsites, greatest(s.from_at, bound), s.to_at, s.at, s.before_id)::platform.searched
          FROM unnest(p_streams) WITH ORDINALITY AS s WHERE s.kind = p_kinds[k + 1] ORDER BY s.ordinality);
      SELECT array_agg((h.at, h.id, h.conversation_id)::platform.hit), array_agg(numbers[h.stream]) INTO fresh, found_in
        FROM platform.newest_joint_hits(chosen, sought, candidates) AS h;
    END IF;
    CONTINUE WHEN fresh IS NULL OR fresh = '{}';
    SELECT array_agg((c.at, c.id, c.conversation_id)::platform.hit ORDER BY c.nr), array_agg(c.stream ORDER BY c.nr)
      INTO hits, streams
      FROM (SELECT row_number() OVER (ORDER BY n.at DESC, kinds[n.stream], sites[n.stream], n.id DESC) AS nr, n.*
              FROM unnest(hits || fresh, streams || found_in) AS n (at, id, conversation_id, stream)
             ORDER BY 1 LIMIT candidates) c;
    IF cardinality(hits) = candidates THEN bound := (hits[candidates]).at; END IF;
  END LOOP;
  IF hits <> '{}' THEN
    positions := ARRAY(
      SELECT (extract(epoch FROM n.at) * 1000000)::bigint || '.' || kinds[n.stream] || '.' || sites[n.stream] || '.' || n.id
        FROM unnest(hits, streams) WITH ORDINALITY AS n (at, id, conversation_id, stream, nr) ORDER BY n.nr);
  END IF;
  done := cardinality(hits);
  -- The index decides about the messages of most conversations together. A long conversation is looked at alone.
  IF NOT p_each AND p_top >= (p_streams[1]).at THEN
    SELECT array_agg(c.stream || '.' || c.conversation_id) FILTER (WHERE c.long), array_agg(c.stream) FILTER (WHERE NOT c.long),
           array_agg(c.conversation_id) FILTER (WHERE NOT c.long)
      INTO long, numbers, conversations
      -- Messages that the caller may not see do not make a conversation long, because a page ends after 24 looks.
      FROM (SELECT n.stream, n.conversation_id, CASE WHEN (p_streams[1]).internal THEN EXISTS (
                     SELECT FROM platform.message m
                      WHERE m.tenant = (p_streams[1]).tenant AND m.site = sites[n.stream] AND m.conversation_id = n.conversation_id
                      ORDER BY m.id OFFSET 500 LIMIT 1)
                   ELSE EXISTS (
                     SELECT FROM platform.conversation c
                      WHERE c.tenant = (p_streams[1]).tenant AND c.site = sites[n.stream] AND c.id = n.conversation_id
                        AND c.message_count > 500) END AS long
              FROM (SELECT DISTINCT n.stream, n.conversation_id FROM unnest(hits, streams) AS n (at, id, conversation_id, stream)
                     WHERE p_kinds[kinds[n.stream] + 1] = 'message' OFFSET 0) n) c;
    SELECT array_agg(h.stream || '.' || h.conversation_id), array_agg(h.id) INTO passed, passed_ids
      FROM platform.passed_hits(p_streams, numbers, conversations, sought, p_top) AS h;
    IF looked.whole THEN gone := coalesce(ARRAY(SELECT DISTINCT unnest(passed)), '{}'); END IF;
  END IF;
  <<walk>>
  FOR i IN 1 .. cardinality(hits) LOOP
    done := i;
    conversation := coalesce(streams[i] || '.' || hits[i].conversation_id, '');
    CONTINUE WHEN conversation = ANY (gone);
    matched := true;
    IF NOT looked.whole OR conversation = ANY (long) THEN stream := p_streams[streams[i]]; END IF;
    IF NOT looked.whole THEN
      SELECT 5 * octet_length(s.text) - 4 * length(s.text), to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ exact INTO size, matched
        FROM platform.said s
       WHERE s.kind = stream.kind AND s.tenant = stream.tenant AND s.site = stream.site AND s.id = hits[i].id;
      bytes := bytes + coalesce(size, 0);
    END IF;
    IF matched AND NOT p_each AND conversation <> ALL (kept) THEN
      shown := false;
      resumed := CASE WHEN i = 1 AND p_read IS NOT NULL AND hits[1].at = (p_streams[streams[1]]).at AND hits[1].id = (p_streams[streams[1]]).before_id - 1 THEN p_read END;
      LOOP
        IF conversation = ANY (long) THEN
          IF looks = 24 THEN
            oldest := positions[i] || '.' || coalesce(resumed, hits[i].id >> 11 << 11);
            EXIT walk;
          END IF;
          looks := looks + 1;
          SELECT b.ids, b.beyond INTO ids, beyond FROM platform.passed_in_blocks(
            stream, sought, hits[i].conversation_id, p_top, hits[i].id, resumed) AS b;
        ELSIF looked.whole THEN EXIT;
        ELSE
          beyond := NULL;
          ids := ARRAY(SELECT n.id FROM (SELECT n.id, n.id < hits[i].id >> 11 << 11 AS late FROM unnest(passed, passed_ids) AS n (of, id)
                                          WHERE n.of = conversation) n
                        WHERE resumed IS NULL OR (n.late, n.id) >= (resumed < hits[i].id >> 11 << 11, resumed) ORDER BY n.late, n.id);
        END IF;
        FOREACH message IN ARRAY ids LOOP
          shown := looked.whole;
          EXIT WHEN shown;
          -- Each page reads a text, so that a walk ends.
          IF (bytes > 300000 OR texts = 500) AND (i > 1 OR texts > 0) THEN
            oldest := positions[i] || '.' || message;
            EXIT walk;
          END IF;
          SELECT 5 * octet_length(s.text) - 4 * length(s.text), to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ exact INTO size, shown
            FROM platform.said s WHERE s.kind = 'message' AND s.tenant = stream.tenant AND s.site = stream.site AND s.id = message;
          bytes := bytes + coalesce(size, 0);
          texts := texts + 1;
          EXIT WHEN shown;
        END LOOP;
        EXIT WHEN shown OR beyond IS NULL;
        resumed := beyond;
      END LOOP;
      IF shown THEN gone := gone || conversation; ELSE kept := kept || conversation; END IF;
    END IF;
    IF matched AND conversation <> ALL (gone) THEN matching := matching || i; END IF;
    EXIT WHEN bytes > 300000 OR cardinality(matching) = p_window;
  END LOOP;
  newest := positions[1];
  IF oldest IS NOT NULL THEN NULL;
  ELSIF cardinality(matching) = p_window THEN oldest := positions[matching[p_window]];
  ELSIF done = candidates OR done < cardinality(hits) THEN oldest := positions[done];
  END IF;
  -- The window of a first page can hold all hits of the search. Then nothing else is counted.
  complete := p_top IS NULL AND oldest IS NULL;
  RETURN QUERY
  WITH hit AS MATERIALIZED (
    SELECT c.*, t.text, t.visitor_id,
           CASE WHEN p_best THEN ts_rank_cd(to_tsvector('simple'::regconfig, platform.plain(left(t.text, 2000))), ranked, 1)
             * CASE WHEN c.kind = 0 THEN 1 ELSE 2 END ELSE 0 END AS rank
      FROM (SELECT streams[nr] AS stream, p_streams[streams[nr]] AS p, sites[streams[nr]] AS site, kinds[streams[nr]] AS kind,
                   (hits[nr]).at, (hits[nr]).id, (hits[nr]).conversation_id, positions[nr] AS place
              FROM unnest(matching) AS nr) c
     CROSS JOIN LATERAL (
       SELECT s.text, s.visitor_id FROM platform.said s
        WHERE s.kind = (c.p).kind AND s.tenant = (c.p).tenant AND s.site = c.site AND s.id = c.id OFFSET 0) t
  ), shown AS MATERIALIZED (
    SELECT row_number() OVER () AS nr, d.* FROM (
    SELECT h.stream, h.kind, h.site, h.id, h.conversation_id, h.visitor_id, h.at, h.place,
           -- The title of a note is about the visitor.
           CASE WHEN h.conversation_id IS NULL
             THEN (SELECT left(v.nickname, 200) FROM platform.visitor v
                    WHERE v.tenant = (h.p).tenant AND v.site = h.site AND v.id = h.visitor_id)
             ELSE (SELECT left(c.subject, 200) FROM platform.conversation c
                    WHERE c.tenant = (h.p).tenant AND c.site = h.site AND c.id = h.conversation_id) END AS subject,
           platform.snippet(h.text, p_terms) AS snippet
      FROM (SELECT f.* FROM (
              SELECT r.*, row_number() OVER (
                       PARTITION BY r.kind, r.site, CASE WHEN r.kind = 0 AND NOT p_each THEN r.conversation_id ELSE r.id END
                       ORDER BY r.rank DESC, r.at DESC, r.id DESC) AS turn
                FROM hit r) f
             WHERE f.turn = 1 ORDER BY f.rank DESC, f.at DESC, f.kind, f.site, f.id DESC OFFSET 0) h
    OFFSET p_skip LIMIT p_limit) d
  ), counted AS MATERIALIZED (
    SELECT h.stream, h.conversation_id, least(100, count(*))::integer AS matches FROM hit h WHERE complete AND h.kind = 0 GROUP BY 1, 2
    UNION ALL
    SELECT m.* FROM (SELECT array_agg(c.stream ORDER BY c.nr) AS of, array_agg(c.conversation_id ORDER BY c.nr) AS conversations
                       FROM (SELECT s.stream, s.conversation_id, min(s.nr) AS nr FROM shown s WHERE s.kind = 0 AND NOT complete GROUP BY 1, 2) c
                     HAVING count(*) > 0) c
     CROSS JOIN LATERAL platform.search_matches(p_streams, c.of, c.conversations, sought, CASE WHEN NOT looked.whole THEN exact END) AS m
  )
  SELECT true, CASE WHEN oldest IS NULL THEN 0 ELSE p_window END, newest, oldest, d.kind, d.site, d.id, d.conversation_id, d.visitor_id, d.at, d.place,
         d.subject, d.snippet, n.matches
    FROM (SELECT) one
    LEFT JOIN shown d ON true
    LEFT JOIN counted n ON d.kind = 0 AND n.stream = d.stream AND n.conversation_id = d.conversation_id
   ORDER BY d.nr;
END $$;
