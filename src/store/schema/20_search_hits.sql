-- The look-ups of a search in the indexes of words. A page of a search has a bound of work that no message, query, website or
-- other organization can lift.

CREATE TYPE platform.hit AS (at timestamptz, id bigint, conversation_id bigint);

-- What a search may find: texts of one kind and website, before the position (at, before_id), within from_at and to_at.
-- Null restrictions permit everything. A restriction concerns the conversation of a text.
CREATE TYPE platform.searched AS (
  tenant bigint, site bigint, kind text, internal boolean,
  channels bigint[], teams bigint[], subsites bigint[],
  from_at timestamptz, to_at timestamptz, at timestamptz, before_id bigint
);

-- The query of a search. p_groups is an array of groups; a text must match one group. A group is an array of terms
-- {"text", "not"}; a text must match all terms. A term matches its words side by side. Null if a group has no word.
-- A term can have spellings (23_spellings.sql): a text has the word of the term, or one of them.
CREATE FUNCTION platform.search_query(p_groups jsonb) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  g jsonb;
  t jsonb;
  term tsquery;
  wanted tsquery;
  unwanted tsquery;
  whole tsquery;
BEGIN
  FOR g IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    wanted := NULL;
    unwanted := NULL;
    FOR t IN SELECT * FROM jsonb_array_elements(g) LOOP
      term := phraseto_tsquery('simple'::regconfig, platform.plain(t ->> 'text'));
      CONTINUE WHEN numnode(term) = 0;
      IF t ? 'also' THEN term := term || platform.any_of(ARRAY(SELECT jsonb_array_elements_text(t -> 'also'))); END IF;
      IF (t ->> 'not')::boolean THEN unwanted := coalesce(unwanted || term, term);
      ELSE wanted := coalesce(wanted && term, term); END IF;
    END LOOP;
    IF wanted IS NULL THEN RETURN NULL; END IF;
    IF unwanted IS NOT NULL THEN wanted := wanted && !!unwanted; END IF;
    whole := coalesce(whole || wanted, wanted);
  END LOOP;
  -- A single character of writing without spaces is the start of a pair.
  RETURN regexp_replace(whole::text, '''([' || platform.dense() || '])''', '''\1'':*', 'g')::tsquery;
END $$;

-- A query for the index. `whole` is true if the query finds exactly the texts of the search. Otherwise the query finds more
-- texts, and each text must be checked.
CREATE TYPE platform.index_query AS (query tsquery, whole boolean);

-- The query of a search for the index, without the order of words. Null if a group has no word.
--
-- The search looks up each word of the query in each block. So a group has at most 16 words, and about 64 words are left in
-- all groups. The longest words stay. The text decides about the others. A single letter of writing without spaces is the
-- first letter of a word. The start of a word would read the words of all organizations.
CREATE FUNCTION platform.index_query(p_groups jsonb) RETURNS platform.index_query
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  most constant integer := greatest(2, least(16, 64 / greatest(1, jsonb_array_length(p_groups))));
  result platform.index_query := (NULL, true);
  g jsonb;
  wanted text;
  unwanted text;
  groups text[] := '{}';
  whole boolean;
BEGIN
  FOR g IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    WITH term AS MATERIALIZED (
      SELECT (t ->> 'not')::boolean AS excluded, tsvector_to_array(to_tsvector('simple'::regconfig, platform.plain(t ->> 'text'))) AS words,
             (SELECT string_agg(' | ' || quote_literal(a), '') FROM jsonb_array_elements_text(t -> 'also') AS a) AS also
        FROM jsonb_array_elements(g) AS t
    ), word AS MATERIALIZED (
      SELECT excluded, CASE WHEN length(word) = 1 AND word ~ ('[' || platform.dense() || ']') THEN '/' || word ELSE word END AS word, also,
             row_number() OVER (PARTITION BY excluded ORDER BY length(word) DESC, word) AS nr
        FROM (SELECT excluded, word, max(also) AS also FROM term CROSS JOIN unnest(words) AS word
               -- Only a text with all words of an excluded term can be left out.
               WHERE NOT excluded OR cardinality(words) = 1 GROUP BY excluded, word) d
    )
    SELECT string_agg('(' || quote_literal(word) || coalesce(also, '') || ')', ' & ') FILTER (WHERE NOT excluded AND nr <= most),
           string_agg('!' || quote_literal(word), ' & ') FILTER (WHERE excluded AND nr <= most),
           coalesce(max(nr), 0) <= most AND (SELECT max(cardinality(words)) <= 1 FROM term)
      INTO wanted, unwanted, whole FROM word;
    IF wanted IS NULL THEN RETURN NULL; END IF;
    groups := groups || concat_ws(' & ', wanted, unwanted);
    result.whole := result.whole AND whole;
  END LOOP;
  result.query := (SELECT string_agg('(' || one || ')', ' | ') FROM unnest(groups) AS one)::tsquery;
  RETURN result;
END $$;

-- The marks of the rows of a website with a number after a shift, and of the rows of some conversations.
CREATE FUNCTION platform.website_marks(p platform.searched, p_id bigint, p_shift integer) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN p.internal THEN ARRAY[platform.mark(p.tenant, p.site, p_id, p_shift), platform.mark(p.tenant, -p.site, p_id, p_shift)]
              ELSE ARRAY[platform.mark(p.tenant, p.site, p_id, p_shift)] END
$$;
CREATE FUNCTION platform.conversation_marks(p platform.searched, p_conversations bigint[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT platform.conversation_mark(p.tenant, w.site, one)
                 FROM unnest(p_conversations) AS one CROSS JOIN unnest(CASE WHEN p.internal THEN ARRAY[p.site, -p.site] ELSE ARRAY[p.site] END) AS w (site))
$$;
CREATE FUNCTION platform.any_of(p_marks text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_agg(quote_literal(mark), ' | ')::tsquery FROM unnest(p_marks) AS mark
$$;

-- The hits among the rows of one mark, in no order, at most p_limit. Null means all hits. The settings keep one plan for all
-- calls, because planning takes longer than most look-ups. PostgreSQL expects many rows of a look-up, and would start other
-- processes for it. This takes 20 to 50 ms, and a look-up takes 1 ms (24 November 2026, a website with 1,000,000 messages).
-- OFFSET 0 keeps the planner from all indexes but those of words.
CREATE FUNCTION platform.marked_hits(p platform.searched, p_query tsquery, p_id bigint, p_shift integer, p_limit integer)
RETURNS platform.hit[] LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  mark tsquery := quote_literal(platform.mark(p.tenant, p.site, p_id, p_shift))::tsquery;
BEGIN
  IF p.internal THEN mark := mark || quote_literal(platform.mark(p.tenant, -p.site, p_id, p_shift))::tsquery; END IF;
  RETURN ARRAY(
    SELECT (s.created_at, s.id, s.conversation_id)::platform.hit
      FROM (SELECT s.tenant, s.site, s.id, s.conversation_id, s.created_at, s.internal FROM platform.said s
             WHERE s.kind = p.kind
               AND s.words @@ (p_query && mark) OFFSET 0) s
     WHERE s.tenant = p.tenant AND s.site = p.site AND (s.created_at, s.id) < (p.at, p.before_id) AND (p.internal OR NOT s.internal)
       AND (p.from_at IS NULL OR s.created_at >= p.from_at) AND (p.to_at IS NULL OR s.created_at < p.to_at)
       AND ((p.channels IS NULL AND p.teams IS NULL AND p.subsites IS NULL) OR EXISTS (
         SELECT FROM platform.conversation c
          WHERE c.tenant = p.tenant AND c.site = p.site AND c.id = s.conversation_id
            AND (p.channels IS NULL OR c.channel_id = ANY(p.channels)) AND (p.teams IS NULL OR c.team_id = ANY(p.teams))
            AND (p.subsites IS NULL OR c.subsite_id = ANY(p.subsites))))
     LIMIT p_limit);
END $$;

CREATE FUNCTION platform.newest_of(hits platform.hit[], want integer) RETURNS platform.hit[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY(SELECT h FROM unnest(hits) h ORDER BY h.at DESC, h.id DESC LIMIT want)
$$;

-- The conversations that a restricted caller may see, at most p_limit, in no order. Null for an unrestricted caller. The
-- order by id makes each branch use the index of its column. Without the order, PostgreSQL reads the whole table.
CREATE FUNCTION platform.seen_conversations(p platform.searched, p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF p.channels IS NULL AND p.teams IS NULL AND p.subsites IS NULL THEN RETURN NULL; END IF;
  RETURN ARRAY(
    SELECT seen.id FROM unnest(p.channels) AS one
     CROSS JOIN LATERAL (
       SELECT c.id FROM platform.conversation c
        WHERE c.tenant = p.tenant AND c.site = p.site AND c.channel_id = one
          AND (p.teams IS NULL OR c.team_id = ANY(p.teams)) AND (p.subsites IS NULL OR c.subsite_id = ANY(p.subsites))
        ORDER BY c.id LIMIT p_limit) seen
    UNION ALL
    SELECT seen.id FROM unnest(p.teams) AS one
     CROSS JOIN LATERAL (
       SELECT c.id FROM platform.conversation c
        WHERE p.channels IS NULL AND c.tenant = p.tenant AND c.site = p.site AND c.team_id = one
          AND (p.subsites IS NULL OR c.subsite_id = ANY(p.subsites))
        ORDER BY c.id LIMIT p_limit) seen
    UNION ALL
    SELECT seen.id FROM unnest(p.subsites) AS one
     CROSS JOIN LATERAL (
       SELECT c.id FROM platform.conversation c
        WHERE p.channels IS NULL AND p.teams IS NULL AND c.tenant = p.tenant AND c.site = p.site AND c.subsite_id = one
        ORDER BY c.id LIMIT p_limit) seen
    LIMIT p_limit);
END $$;

-- The hits of several websites among the rows of some marks, in no order, at most p_limit. The streams are of one kind, and
-- differ only in the website, the restrictions and before_id. `stream` is the number of the stream. If p_free is true, the
-- restrictions are not checked. If p_passed is given, the hits are those from the position of the stream up to this time.
--
-- Each look-up finds the words of the query again, and reads the list of new entries, which all organizations share. So one
-- look-up for many websites costs little more than one for one website.
CREATE FUNCTION platform.joint_hits(
  p_streams platform.searched[], p_marks text[], p_query tsquery, p_free boolean, p_passed timestamptz, p_limit integer
) RETURNS TABLE (stream integer, at timestamptz, id bigint, conversation_id bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
#variable_conflict use_column
DECLARE
  p constant platform.searched := p_streams[1];
  sites constant bigint[] := ARRAY(SELECT s.site FROM unnest(p_streams) WITH ORDINALITY AS s ORDER BY s.ordinality);
  ids constant bigint[] := ARRAY(SELECT s.before_id FROM unnest(p_streams) WITH ORDINALITY AS s ORDER BY s.ordinality);
  looked constant tsquery := p_query && platform.any_of(p_marks);
BEGIN
  RETURN QUERY
  SELECT s.stream, s.created_at, s.id, s.conversation_id
    FROM (SELECT s.tenant, s.site, array_position(sites, s.site) AS stream, s.id, s.conversation_id, s.created_at, s.internal
            FROM platform.said s WHERE s.kind = p.kind AND s.words @@ looked OFFSET 0) s
   WHERE s.tenant = p.tenant AND s.stream IS NOT NULL AND (p.internal OR NOT s.internal)
     AND CASE WHEN p_passed IS NULL THEN (s.created_at, s.id) < (p.at, ids[s.stream])
              ELSE s.created_at <= p_passed AND (s.created_at, s.id) >= (p.at, ids[s.stream]) END
     AND (p.from_at IS NULL OR s.created_at >= p.from_at) AND (p.to_at IS NULL OR s.created_at < p.to_at)
     AND (p_free OR EXISTS (
       SELECT FROM platform.conversation c
        WHERE c.tenant = p.tenant AND c.site = s.site AND c.id = s.conversation_id
          AND ((p_streams[s.stream]).channels IS NULL OR c.channel_id = ANY((p_streams[s.stream]).channels))
          AND ((p_streams[s.stream]).teams IS NULL OR c.team_id = ANY((p_streams[s.stream]).teams))
          AND ((p_streams[s.stream]).subsites IS NULL OR c.subsite_id = ANY((p_streams[s.stream]).subsites))))
   LIMIT p_limit;
END $$;

-- The newest hits of a restricted caller in the conversations that the caller may see.
CREATE FUNCTION platform.hits_within(p platform.searched, p_query tsquery, p_want integer, p_conversations bigint[])
RETURNS platform.hit[] LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_conversations = '{}' THEN '{}' ELSE ARRAY(
    SELECT (h.at, h.id, h.conversation_id)::platform.hit
      FROM platform.joint_hits(ARRAY[p], platform.conversation_marks(p, p_conversations), p_query, true, NULL, NULL) AS h
     ORDER BY h.at DESC, h.id DESC LIMIT p_want) END
$$;

-- The newest texts that match the query, newest first, at most p_want. The query must not ask for the order of words,
-- because PostgreSQL would read the text of each hit.
--
-- For a restricted caller with few conversations, the texts of these conversations are read, because a look-up would read
-- all hits that the caller may not see.
--
-- Frequent words have enough hits in the newest block. Other words are looked up span by span, and a span with many hits is
-- looked up block by block. If the two newest spans have few hits, the word is rare, and one look-up finds its hits in the
-- whole website. So no look-up has many hits, and the loops end as soon as no block that is left can hold a newer hit.
-- The newest rows can differ from all others. So the newest block alone does not show that a word is rare. The look-up of a
-- word in 40 % of 1,000,000 messages takes 120 ms of CPU (23 November 2026).
CREATE FUNCTION platform.newest_hits(p platform.searched, p_query tsquery, p_want integer)
RETURNS SETOF platform.hit LANGUAGE plpgsql STABLE AS $$
DECLARE
  few constant integer := 256;
  kept platform.hit[] := '{}';
  fresh platform.hit[];
  tried bigint;
  spans integer := 0;
  frequent boolean;
  rare boolean := true;
  seen constant bigint[] := platform.seen_conversations(p, 201);
  s record;
  b record;
BEGIN
  IF cardinality(seen) <= 200 THEN
    fresh := platform.hits_within(p, p_query, p_want, seen);
    IF fresh IS NOT NULL THEN
      RETURN QUERY SELECT * FROM unnest(fresh);
      RETURN;
    END IF;
  END IF;
  FOR s IN SELECT max(o.newest) AS newest, array_agg(o.block << 11 ORDER BY o.newest DESC, o.block DESC) AS ids,
                  array_agg(o.newest ORDER BY o.newest DESC, o.block DESC) AS ends
             FROM platform.said_block o
            WHERE o.tenant = p.tenant AND o.site = p.site AND o.kind = p.kind AND o.oldest <= p.at
              AND (p.from_at IS NULL OR o.newest > p.from_at) AND (p.to_at IS NULL OR o.oldest < p.to_at)
            GROUP BY o.block >> 5 ORDER BY 1 DESC, max(o.block) DESC LOOP
    EXIT WHEN cardinality(kept) = p_want AND (kept[p_want]).at >= s.newest;
    spans := spans + 1;
    IF spans = 1 THEN
      tried := s.ids[1];
      kept := platform.newest_of(platform.marked_hits(p, p_query, tried, 11, NULL), p_want);
      frequent := cardinality(kept) >= least(p_want, few / 32);
      CONTINUE WHEN cardinality(s.ids) = 1;
    ELSIF spans = 3 AND rare THEN
      fresh := platform.marked_hits(p, p_query, 0, 63, few + 1);
      IF cardinality(fresh) <= few THEN
        kept := platform.newest_of(fresh, p_want);
        EXIT;
      END IF;
    END IF;
    IF NOT frequent THEN
      fresh := platform.marked_hits(p, p_query, s.ids[1], 16, few + 1);
      IF cardinality(fresh) <= few THEN
        kept := platform.newest_of(CASE WHEN s.ids[1] = tried THEN fresh ELSE kept || fresh END, p_want);
        CONTINUE;
      END IF;
    END IF;
    rare := false;
    FOR b IN SELECT * FROM unnest(s.ids, s.ends) AS u (id, newest) WHERE u.id <> tried LOOP
      EXIT WHEN cardinality(kept) = p_want AND (kept[p_want]).at >= b.newest;
      kept := platform.newest_of(kept || platform.marked_hits(p, p_query, b.id, 11, NULL), p_want);
    END LOOP;
    frequent := false;
  END LOOP;
  RETURN QUERY SELECT * FROM unnest(kept);
END $$;

-- Hits of several websites, newest first, at most p_want. p_streams has the number of the stream of each hit, and p_sites
-- the website of each stream.
CREATE FUNCTION platform.newest_merged(
  p_sites bigint[], p_hits platform.hit[], p_streams integer[], p_want integer, OUT hits platform.hit[], OUT streams integer[]
) LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg((m.at, m.id, m.conversation_id)::platform.hit), '{}'), coalesce(array_agg(m.stream), '{}')
    FROM (SELECT * FROM unnest(p_hits, p_streams) AS n (at, id, conversation_id, stream)
           ORDER BY n.at DESC, p_sites[n.stream], n.id DESC LIMIT p_want) m
$$;

-- True if a website has at most p_few messages or subjects. Then one mark of the website costs less than many marks of
-- conversations, because each mark is looked for in each new entry of the index.
CREATE FUNCTION platform.few_rows(p platform.searched, p_few integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
BEGIN
  RETURN CASE p.kind
    WHEN 'message' THEN NOT EXISTS (SELECT FROM platform.message m WHERE m.tenant = p.tenant AND m.site = p.site ORDER BY m.id OFFSET p_few LIMIT 1)
    ELSE NOT EXISTS (SELECT FROM platform.conversation c WHERE c.tenant = p.tenant AND c.site = p.site ORDER BY c.id OFFSET p_few LIMIT 1) END;
END $$;

-- The newest hits of several websites, at most p_want in all. The streams are as in platform.joint_hits.
--
-- The steps are those of platform.newest_hits, but each look-up is for 32 websites: the newest block, the newest span, the
-- span before it, the whole website. A website with many hits goes on alone. A website ends when no row that is left can be
-- newer than the hits that are known. The websites with the newest rows come first.
CREATE FUNCTION platform.newest_joint_hits(p_streams platform.searched[], p_query tsquery, p_want integer)
RETURNS TABLE (stream integer, at timestamptz, id bigint, conversation_id bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  few constant integer := 256;
  together integer := 32;
  turn integer := 1;
  again integer;
  many integer;
  b integer;
  -- PostgreSQL checks a hit against each mark of the look-up.
  most constant integer := 64;
  p constant platform.searched := p_streams[1];
  sites constant bigint[] := ARRAY(SELECT s.site FROM unnest(p_streams) WITH ORDINALITY AS s ORDER BY s.ordinality);
  free boolean := true;
  one platform.searched;
  seen bigint[];
  hits platform.hit[] := '{}';
  streams integer[] := '{}';
  rest integer[] := '{}';
  -- Each open website: its stream, its newest block, how many blocks its newest span has, the newest block of the span
  -- before it, and how many spans it has. Then the ends of the times of all blocks, of the blocks but the newest, and of the spans but the newest.
  numbers integer[];
  block bigint[];
  blocks bigint[];
  second bigint[];
  spans bigint[];
  newest timestamptz[];
  later timestamptz[];
  latest timestamptz[];
  -- The next step of each open website. 0 is the end, 5 means alone.
  step integer[];
  batch integer[] := '{}';
  chosen platform.searched[] := '{}';
  marks text[] := '{}';
  fresh platform.hit[];
  found integer[];
  counted integer;
  top timestamptz;
BEGIN
  FOR i IN 1 .. cardinality(p_streams) LOOP
    one := p_streams[i];
    seen := platform.seen_conversations(one, 201);
    free := free AND seen IS NULL;
    IF seen IS NULL OR cardinality(seen) > 200 OR (cardinality(seen) > 4 AND platform.few_rows(one, few)) THEN rest := rest || i;
    ELSIF seen <> '{}' THEN
      batch := batch || i;
      chosen := chosen || one;
      marks := marks || platform.conversation_marks(one, seen);
    END IF;
    CONTINUE WHEN batch = '{}' OR (cardinality(marks) < most AND i < cardinality(p_streams));
    SELECT array_agg((h.at, h.id, h.conversation_id)::platform.hit), array_agg(batch[h.stream]) INTO fresh, found
      FROM generate_series(1, cardinality(marks), most) AS m
     CROSS JOIN LATERAL platform.joint_hits(chosen, marks[m : m + most - 1], p_query, true, NULL, NULL) AS h;
    SELECT m.hits, m.streams INTO hits, streams FROM platform.newest_merged(sites, hits || fresh, streams || found, p_want) AS m;
    batch := '{}';
    chosen := '{}';
    marks := '{}';
  END LOOP;
  top := CASE WHEN cardinality(hits) = p_want THEN (hits[p_want]).at END;
  SELECT array_agg(w.stream), array_agg(w.block), array_agg(w.blocks), array_agg(w.second), array_agg(w.spans),
         array_agg(w.newest), array_agg(w.later), array_agg(w.latest), array_agg(1)
    INTO numbers, block, blocks, second, spans, newest, later, latest, step
    FROM (SELECT s.stream, min(s.block) FILTER (WHERE s.turn = 1) AS block, min(s.blocks) FILTER (WHERE s.turn = 1) AS blocks,
                 min(s.block) FILTER (WHERE s.turn = 2) AS second, count(*) AS spans,
                 max(s.newest) AS newest, max(s.later) AS later, max(s.newest) FILTER (WHERE s.turn > 1) AS latest
            FROM (SELECT o.stream, (array_agg(o.block ORDER BY o.nr))[1] AS block, count(*) AS blocks, max(o.newest) AS newest,
                         max(o.newest) FILTER (WHERE o.nr > 1) AS later, row_number() OVER (PARTITION BY o.stream ORDER BY min(o.nr)) AS turn
                    FROM (SELECT i.stream, b.block, b.newest, row_number() OVER (PARTITION BY i.stream ORDER BY b.newest DESC, b.block DESC) AS nr
                            FROM unnest(rest) AS i (stream) JOIN platform.said_block b
                              ON b.tenant = p.tenant AND b.site = sites[i.stream] AND b.kind = p.kind AND b.oldest <= p.at
                             AND (p.from_at IS NULL OR b.newest > p.from_at) AND (p.to_at IS NULL OR b.oldest < p.to_at)) o
                   GROUP BY o.stream, o.block >> 5) s
           GROUP BY s.stream ORDER BY max(s.newest) DESC, s.stream) w;
  WHILE turn <= 4 LOOP
    again := 0;
    FOR i IN 1 .. coalesce(cardinality(numbers), 0) LOOP
      IF step[i] = turn THEN
        IF turn = 2 AND blocks[i] = 1 THEN step[i] := 3;
        ELSIF top >= (CASE turn WHEN 1 THEN newest[i] WHEN 2 THEN later[i] ELSE latest[i] END) THEN step[i] := 0;
        ELSE
          one := p_streams[numbers[i]];
          one.from_at := greatest(one.from_at, top);
          batch := batch || i;
          chosen := chosen || one;
          marks := marks || platform.website_marks(one, CASE turn WHEN 3 THEN second[i] WHEN 4 THEN 0 ELSE block[i] END << 11,
                                                   CASE turn WHEN 1 THEN 11 WHEN 4 THEN 63 ELSE 16 END);
        END IF;
      END IF;
      CONTINUE WHEN batch = '{}' OR (cardinality(batch) < together AND i < cardinality(numbers));
      many := CASE WHEN turn > 1 THEN few * least(2, cardinality(batch)) END;
      SELECT array_agg((h.at, h.id, h.conversation_id)::platform.hit), array_agg(numbers[batch[h.stream]]) INTO fresh, found
        FROM platform.joint_hits(chosen, marks, p_query, free, NULL, many + 1) AS h;
      IF cardinality(found) > many THEN
        IF cardinality(batch) = 1 THEN step[batch[1]] := 5; ELSE again := greatest(again, cardinality(batch)); END IF;
      ELSE
        FOREACH b IN ARRAY batch LOOP
          counted := coalesce(cardinality(array_positions(found, numbers[b])), 0);
          step[b] := CASE
            WHEN turn = 4 OR turn > spans[b] OR later[b] IS NULL THEN 0
            WHEN turn = 1 AND counted >= least(p_want, few / 32) THEN 5
            ELSE turn + 1 END;
        END LOOP;
        -- A span has the hits of its newest block, and a website has the hits of its spans.
        SELECT m.hits, m.streams INTO hits, streams
          FROM (SELECT array_agg((o.at, o.id, o.conversation_id)::platform.hit) AS hits, array_agg(o.stream) AS streams
                  FROM unnest(hits, streams) AS o (at, id, conversation_id, stream)
                 WHERE turn = 3 OR o.stream NOT IN (SELECT numbers[b] FROM unnest(batch) AS b)) n
         CROSS JOIN LATERAL platform.newest_merged(sites, n.hits || fresh, n.streams || found, p_want) AS m;
        top := CASE WHEN cardinality(hits) = p_want THEN (hits[p_want]).at END;
      END IF;
      batch := '{}';
      chosen := '{}';
      marks := '{}';
    END LOOP;
    -- A look-up with many hits is done again for fewer websites.
    together := CASE WHEN again > 0 THEN greatest(1, again / 4) ELSE 32 END;
    IF again = 0 THEN turn := turn + 1; END IF;
  END LOOP;
  FOR i IN 1 .. coalesce(cardinality(numbers), 0) LOOP
    CONTINUE WHEN step[i] <> 5 OR top >= later[i];
    one := p_streams[numbers[i]];
    one.from_at := greatest(one.from_at, top);
    fresh := ARRAY(SELECT platform.newest_hits(one, p_query, p_want));
    SELECT m.hits, m.streams INTO hits, streams
      FROM (SELECT array_agg((o.at, o.id, o.conversation_id)::platform.hit) AS hits, array_agg(o.stream) AS streams
              FROM unnest(hits, streams) AS o (at, id, conversation_id, stream) WHERE o.stream <> numbers[i]) n
     CROSS JOIN LATERAL platform.newest_merged(sites, n.hits || fresh, n.streams || array_fill(numbers[i], ARRAY[cardinality(fresh)]), p_want) AS m;
    top := CASE WHEN cardinality(hits) = p_want THEN (hits[p_want]).at END;
  END LOOP;
  RETURN QUERY SELECT n.stream, n.at, n.id, n.conversation_id FROM unnest(hits, streams) AS n (at, id, conversation_id, stream);
END $$;
