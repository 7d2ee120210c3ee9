-- A page of a search has a bound of work that no message, query, website or other organization can lift.
--
-- The index holds two more words of a row: the mark of its conversation, and the first letter of each word in writing
-- without spaces. So the hits of some conversations, and the words that start with a letter, are look-ups. Before, the first
-- read every message of the conversations, and the second read the words of all organizations.

-- The locks are those of 0015_search.sql, for the same reasons.
LOCK TABLE platform.contact, platform.note, platform.conversation, platform.message IN SHARE UPDATE EXCLUSIVE MODE;
SELECT set_config('lock_timeout', '400ms', true);

-- Adds the first letters of the words in writing without spaces, each behind a slash. No text has such a word. 3,585 is the
-- code of the first of these letters.
CREATE FUNCTION platform.with_firsts(words tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  dense constant text := '^[' || platform.dense() || ']';
BEGIN
  RETURN words || array_to_tsvector(ARRAY(
    SELECT DISTINCT '/' || left(word, 1) FROM unnest(tsvector_to_array(words)) AS word WHERE ascii(word) >= 3585 AND word ~ dense));
END $$;

-- The words of a text in an index. An ASCII text has no writing without spaces.
CREATE FUNCTION platform.text_words(t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(t) = length(t) THEN to_tsvector('simple'::regconfig, platform.plain(t))
              ELSE platform.with_firsts(to_tsvector('simple'::regconfig, platform.plain(t))) END
$$;

CREATE OR REPLACE FUNCTION platform.words(tenant bigint, site bigint, id bigint, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.text_words(t) || array_to_tsvector(ARRAY[
    platform.mark(tenant, site, id, 11), platform.mark(tenant, site, id, 16), platform.mark(tenant, site, id, 63)])
$$;

-- The mark of the rows of a conversation. Internal messages have the negative number of the website here too.
CREATE FUNCTION platform.conversation_mark(tenant bigint, site bigint, conversation bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '/c' || tenant::text || '/' || site::text || '/' || conversation::text $$;

-- What an index holds of a row that belongs to a conversation.
CREATE FUNCTION platform.said_words(tenant bigint, site bigint, id bigint, conversation bigint, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.text_words(t) || array_to_tsvector(ARRAY[platform.conversation_mark(tenant, site, conversation),
    platform.mark(tenant, site, id, 11), platform.mark(tenant, site, id, 16), platform.mark(tenant, site, id, 63)])
$$;

CREATE OR REPLACE VIEW platform.said AS
  SELECT 'message' AS kind, tenant, site, id, conversation_id, NULL::bigint AS visitor_id, created_at,
         visibility = 'internal' AS internal, text,
         platform.said_words(tenant, CASE visibility WHEN 'internal' THEN -site ELSE site END, id, conversation_id, text) AS words
    FROM platform.message WHERE NOT redacted
  UNION ALL
  SELECT 'subject', tenant, site, id, id, NULL, created_at, false, subject, platform.said_words(tenant, site, id, id, subject)
    FROM platform.conversation
  UNION ALL
  SELECT 'note', tenant, site, id, NULL, visitor_id, created_at, false, coalesce(title || ': ', '') || text,
         platform.words(tenant, site, id, coalesce(title || ': ', '') || text)
    FROM platform.note
  UNION ALL
  SELECT 'contact', tenant, site, id, NULL, NULL, created_at, false, name, platform.name_words(tenant, site, id, name)
    FROM platform.contact WHERE NOT deleted;

-- The indexes get other contents, so they are built again. The index of messages comes first, as in 0015_search.sql.
DO $do$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('message', 'platform.said_words(tenant, CASE visibility WHEN ''internal'' THEN -site ELSE site END, id, conversation_id, text)', 'WHERE NOT redacted'),
    ('conversation', 'platform.said_words(tenant, site, id, id, subject)', 'WITH (gin_pending_list_limit = 256)'),
    ('note', 'platform.words(tenant, site, id, coalesce(title || '': '', '''') || text)', 'WITH (gin_pending_list_limit = 256)'),
    ('contact', 'platform.name_words(tenant, site, id, name)', 'WITH (gin_pending_list_limit = 256) WHERE NOT deleted')) AS v (name, words, rest) LOOP
    EXECUTE format('DROP INDEX IF EXISTS platform.%I', t.name || '_words');
    DELETE FROM gateway.wanted_index WHERE name = t.name || '_words';
    PERFORM gateway.want_index('platform.' || t.name, t.name || '_words', format('USING gin (%s) %s', t.words, t.rest));
  END LOOP;
END $do$;

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
      SELECT (t ->> 'not')::boolean AS excluded, tsvector_to_array(to_tsvector('simple'::regconfig, platform.plain(t ->> 'text'))) AS words
        FROM jsonb_array_elements(g) AS t
    ), word AS MATERIALIZED (
      SELECT excluded, CASE WHEN length(word) = 1 AND word ~ ('[' || platform.dense() || ']') THEN '/' || word ELSE word END AS word,
             row_number() OVER (PARTITION BY excluded ORDER BY length(word) DESC, word) AS nr
        FROM (SELECT DISTINCT excluded, word FROM term CROSS JOIN unnest(words) AS word
               -- Only a text with all words of an excluded term can be left out.
               WHERE NOT excluded OR cardinality(words) = 1) d
    )
    SELECT string_agg(quote_literal(word), ' & ') FILTER (WHERE NOT excluded AND nr <= most),
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

-- PostgreSQL expects many rows of a look-up, and would start other processes for it. This takes 20 to 50 ms, and a look-up
-- takes 1 ms (24 November 2026, a website with 1,000,000 messages).
ALTER FUNCTION platform.marked_hits(platform.searched, tsquery, bigint, integer, integer) SET max_parallel_workers_per_gather = 0;

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

-- The newest hits of a restricted caller in the conversations that the caller may see. Before, the caller's texts were read.
CREATE OR REPLACE FUNCTION platform.hits_within(p platform.searched, p_query tsquery, p_want integer, p_conversations bigint[])
RETURNS platform.hit[] LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_conversations = '{}' THEN '{}' ELSE ARRAY(
    SELECT (h.at, h.id, h.conversation_id)::platform.hit
      FROM platform.joint_hits(ARRAY[p], platform.conversation_marks(p, p_conversations), p_query, true, NULL, NULL) AS h
     ORDER BY h.at DESC, h.id DESC LIMIT p_want) END
$$;

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
CREATE OR REPLACE FUNCTION platform.snippet(t text, terms text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN s.start > 1 THEN '…' ELSE '' END || substr(t, s.start, 240) || CASE WHEN length(t) > s.start + 239 THEN '…' ELSE '' END
    FROM (SELECT greatest(1, coalesce(min(nullif(strpos(low.t, lower(term)), 0)), 1) - 80) AS start
            FROM (SELECT lower(left(t, 100000)) AS t OFFSET 0) low CROSS JOIN unnest(terms) AS term) s
$$;

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
-- The statement stands in a function, because a function keeps its plan.
CREATE FUNCTION platform.search(
  p_kinds text[], p_streams platform.searched[], p_groups jsonb, p_terms text[],
  p_best boolean, p_window integer, p_skip integer, p_limit integer, p_top timestamptz, p_read bigint
) RETURNS TABLE (
  known boolean, found integer, top text, bottom text, kind integer, site bigint, id bigint,
  conversation_id bigint, visitor_id bigint, at timestamptz, place text, subject text, snippet text
) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
#variable_conflict use_column
DECLARE
  exact constant tsquery := platform.search_query(p_groups, false);
  looked constant platform.index_query := platform.index_query(p_groups);
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
      fresh := ARRAY(SELECT platform.newest_hits(stream, looked.query, candidates));
      found_in := array_fill(numbers[1], ARRAY[cardinality(fresh)]);
    ELSE
      chosen := ARRAY(
        SELECT (s.tenant, s.site, s.kind, s.internal, s.channels, s.teams, s.subsites, greatest(s.from_at, bound), s.to_at, s.at, s.before_id)::platform.searched
          FROM unnest(p_streams) WITH ORDINALITY AS s WHERE s.kind = p_kinds[k + 1] ORDER BY s.ordinality);
      SELECT array_agg((h.at, h.id, h.conversation_id)::platform.hit), array_agg(numbers[h.stream]) INTO fresh, found_in
        FROM platform.newest_joint_hits(chosen, looked.query, candidates) AS h;
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
  IF p_top >= (p_streams[1]).at THEN
    SELECT array_agg(c.stream || '.' || c.conversation_id) FILTER (WHERE c.long), array_agg(c.stream) FILTER (WHERE NOT c.long),
           array_agg(c.conversation_id) FILTER (WHERE NOT c.long)
      INTO long, numbers, conversations
      FROM (SELECT n.stream, n.conversation_id, EXISTS (
                     SELECT FROM platform.message m
                      WHERE m.tenant = (p_streams[1]).tenant AND m.site = sites[n.stream] AND m.conversation_id = n.conversation_id
                      ORDER BY m.id OFFSET 500 LIMIT 1) AS long
              FROM (SELECT DISTINCT n.stream, n.conversation_id FROM unnest(hits, streams) AS n (at, id, conversation_id, stream)
                     WHERE p_kinds[kinds[n.stream] + 1] = 'message' OFFSET 0) n) c;
    SELECT array_agg(h.stream || '.' || h.conversation_id), array_agg(h.id) INTO passed, passed_ids
      FROM platform.passed_hits(p_streams, numbers, conversations, looked.query, p_top) AS h;
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
    IF matched AND conversation <> ALL (kept) THEN
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
            stream, looked.query, hits[i].conversation_id, p_top, hits[i].id, resumed) AS b;
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
  RETURN QUERY
  WITH hit AS MATERIALIZED (
    SELECT c.*, t.text, t.visitor_id,
           CASE WHEN p_best THEN ts_rank_cd(to_tsvector('simple'::regconfig, platform.plain(left(t.text, 2000))), ranked, 1)
             * CASE WHEN c.kind = 0 THEN 1 ELSE 2 END ELSE 0 END AS rank
      FROM (SELECT p_streams[streams[nr]] AS p, sites[streams[nr]] AS site, kinds[streams[nr]] AS kind,
                   (hits[nr]).at, (hits[nr]).id, (hits[nr]).conversation_id, positions[nr] AS place
              FROM unnest(matching) AS nr) c
     CROSS JOIN LATERAL (
       SELECT s.text, s.visitor_id FROM platform.said s
        WHERE s.kind = (c.p).kind AND s.tenant = (c.p).tenant AND s.site = c.site AND s.id = c.id OFFSET 0) t
  )
  SELECT true, CASE WHEN oldest IS NULL THEN 0 ELSE p_window END, newest, oldest, d.kind, d.site, d.id, d.conversation_id, d.visitor_id, d.at, d.place, d.subject, d.snippet
    FROM (SELECT) one
    LEFT JOIN LATERAL (
      SELECT h.kind, h.site, h.id, h.conversation_id, h.visitor_id, h.at, h.place,
             -- The title of a note is about the visitor.
             CASE WHEN h.conversation_id IS NULL
               THEN (SELECT left(v.nickname, 200) FROM platform.visitor v
                      WHERE v.tenant = (h.p).tenant AND v.site = h.site AND v.id = h.visitor_id)
               ELSE (SELECT left(c.subject, 200) FROM platform.conversation c
                      WHERE c.tenant = (h.p).tenant AND c.site = h.site AND c.id = h.conversation_id) END AS subject,
             platform.snippet(h.text, p_terms) AS snippet
        FROM (SELECT f.* FROM (
                SELECT r.*, row_number() OVER (
                         PARTITION BY r.kind, r.site, CASE WHEN r.kind = 0 THEN r.conversation_id ELSE r.id END
                         ORDER BY r.rank DESC, r.at DESC, r.id DESC) AS turn
                  FROM hit r) f
               WHERE f.turn = 1 ORDER BY f.rank DESC, f.at DESC, f.kind, f.site, f.id DESC OFFSET 0) h
      OFFSET p_skip LIMIT p_limit) d ON true;
END $$;

-- An earlier version of the gateway can serve beside this one. Where a conversation has too many texts for one window, the
-- walk of the earlier version ends.
CREATE OR REPLACE FUNCTION platform.search(
  p_kinds text[], p_streams platform.searched[], p_groups jsonb, p_terms text[],
  p_best boolean, p_window integer, p_skip integer, p_limit integer, p_top timestamptz
) RETURNS TABLE (
  known boolean, found integer, top text, bottom text, kind integer, site bigint, id bigint,
  conversation_id bigint, visitor_id bigint, at timestamptz, place text, subject text, snippet text
) LANGUAGE sql STABLE AS $$
  SELECT * FROM platform.search(p_kinds, p_streams, p_groups, p_terms, p_best, p_window, p_skip, p_limit, p_top, NULL)
$$;

DROP FUNCTION platform.shown_before(platform.searched, bigint, tsquery, timestamptz);
