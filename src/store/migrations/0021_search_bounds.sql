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
CREATE FUNCTION platform.index_query(p_groups jsonb) RETURNS platform.index_query LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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

-- The hits in some conversations, at most p_want. The hits are before the position of p, newest first. If p_since is given,
-- the hits are not older than the position (p_since, p_since_id), and the oldest comes first. The look-up reads no text.
CREATE FUNCTION platform.conversation_hits(
  p platform.searched, p_query tsquery, p_conversations bigint[], p_since timestamptz, p_since_id bigint, p_want integer
) RETURNS platform.hit[] LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  marks constant tsquery := (
    SELECT string_agg(quote_literal(platform.conversation_mark(p.tenant, w.site, one)), ' | ')::tsquery
      FROM unnest(p_conversations) AS one CROSS JOIN unnest(CASE WHEN p.internal THEN ARRAY[p.site, -p.site] ELSE ARRAY[p.site] END) AS w (site));
BEGIN
  RETURN ARRAY(
    SELECT (s.created_at, s.id, s.conversation_id)::platform.hit
      FROM (SELECT s.tenant, s.site, s.id, s.conversation_id, s.created_at, s.internal FROM platform.said s
             WHERE s.kind = p.kind AND s.words @@ (p_query && marks) OFFSET 0) s
     WHERE s.tenant = p.tenant AND s.site = p.site AND (s.created_at, s.id) < (p.at, p.before_id) AND (p.internal OR NOT s.internal)
       AND (p_since IS NULL OR (s.created_at, s.id) >= (p_since, p_since_id))
       AND (p.from_at IS NULL OR s.created_at >= p.from_at) AND (p.to_at IS NULL OR s.created_at < p.to_at)
     ORDER BY CASE WHEN p_since IS NOT NULL THEN s.created_at END, CASE WHEN p_since IS NOT NULL THEN s.id END, s.created_at DESC, s.id DESC
     LIMIT p_want);
END $$;

-- The newest hits of a restricted caller in the conversations that the caller may see. Before, the caller's texts were read.
CREATE OR REPLACE FUNCTION platform.hits_within(p platform.searched, p_query tsquery, p_want integer, p_conversations bigint[])
RETURNS platform.hit[] LANGUAGE sql STABLE AS $$
  SELECT platform.conversation_hits(p, p_query, p_conversations, NULL, NULL, p_want)
$$;

-- The hits of some conversations that earlier pages have passed: from the position of p to p_top, the time of the newest
-- hit of the first page. Later messages do not count, because no page has shown them. The oldest hit comes first.
CREATE FUNCTION platform.passed_hits(
  p platform.searched, p_query tsquery, p_conversations bigint[], p_top timestamptz, p_since timestamptz, p_since_id bigint, p_want integer
) RETURNS platform.hit[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_top IS NULL OR p.at > p_top OR p.kind <> 'message' THEN RETURN '{}'; END IF;
  p.at := p_top;
  p.before_id := 9223372036854775807;
  RETURN platform.conversation_hits(p, p_query, p_conversations, p_since, p_since_id, p_want);
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
-- this hit, followed by the position of the first text that was not read. The next window begins with this hit, and goes on
-- reading at this text: p_read and p_read_id. The texts next to the hit are read first, so a walk reads few texts twice.
--
-- p_top is the time of the newest hit of the first page. Null on the first page.
--
-- The statement stands in a function, because a function keeps its plan.
CREATE FUNCTION platform.search(
  p_kinds text[], p_streams platform.searched[], p_groups jsonb, p_terms text[],
  p_best boolean, p_window integer, p_skip integer, p_limit integer, p_top timestamptz, p_read timestamptz, p_read_id bigint
) RETURNS TABLE (
  known boolean, found integer, top text, bottom text, kind integer, site bigint, id bigint,
  conversation_id bigint, visitor_id bigint, at timestamptz, place text, subject text, snippet text
) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
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
  stream platform.searched;
  fresh platform.hit[];
  hits platform.hit[] := '{}';
  hit platform.hit;
  streams integer[] := '{}';
  positions text[];
  newest text;
  oldest text;
  done integer;
  matching integer[] := '{}';
  -- Conversations that an earlier page has shown, and conversations that no earlier page has shown.
  gone text[] := '{}';
  kept text[] := '{}';
  conversation text;
  bytes bigint := 0;
  texts integer := 0;
  size integer;
  matched boolean;
  shown boolean;
  again boolean;
BEGIN
  PERFORM gateway.built(NULL);
  known := looked.query IS NOT NULL;
  IF NOT known THEN RETURN NEXT; RETURN; END IF;
  -- A stream needs no hits that are older than the candidates of the streams before it.
  FOR i IN 1 .. cardinality(p_streams) LOOP
    stream := p_streams[i];
    IF cardinality(hits) = candidates THEN stream.from_at := greatest(stream.from_at, hits[candidates].at); END IF;
    fresh := ARRAY(SELECT platform.newest_hits(stream, looked.query, candidates));
    CONTINUE WHEN fresh = '{}';
    SELECT array_agg((c.at, c.id, c.conversation_id)::platform.hit ORDER BY c.nr), array_agg(c.stream ORDER BY c.nr)
      INTO hits, streams
      FROM (SELECT row_number() OVER (ORDER BY n.at DESC, kinds[n.stream], sites[n.stream], n.id DESC) AS nr, n.*
              FROM unnest(hits || fresh, streams || array_fill(i, ARRAY[cardinality(fresh)])) AS n (at, id, conversation_id, stream)
             ORDER BY 1 LIMIT candidates) c;
  END LOOP;
  positions := ARRAY(
    SELECT (extract(epoch FROM n.at) * 1000000)::bigint || '.' || kinds[n.stream] || '.' || sites[n.stream] || '.' || n.id
      FROM unnest(hits, streams) WITH ORDINALITY AS n (at, id, conversation_id, stream, nr) ORDER BY n.nr);
  done := cardinality(hits);
  IF looked.whole THEN
    -- The index decides, so no text is read.
    gone := ARRAY(
      SELECT DISTINCT c.stream || '.' || h.conversation_id
        FROM (SELECT n.stream, p_streams[n.stream] AS p, array_agg(DISTINCT n.conversation_id) AS conversations
                FROM unnest(hits, streams) AS n (at, id, conversation_id, stream) GROUP BY n.stream) c
       CROSS JOIN LATERAL unnest(platform.passed_hits(c.p, looked.query, c.conversations, p_top, (c.p).at, (c.p).before_id, NULL)) AS h);
    matching := ARRAY(
      SELECT n.nr FROM unnest(hits, streams) WITH ORDINALITY AS n (at, id, conversation_id, stream, nr)
       WHERE n.conversation_id IS NULL OR n.stream || '.' || n.conversation_id <> ALL (gone) ORDER BY n.nr);
  ELSE
    <<walk>>
    FOR i IN 1 .. cardinality(hits) LOOP
      done := i;
      stream := p_streams[streams[i]];
      conversation := coalesce(streams[i] || '.' || hits[i].conversation_id, '');
      CONTINUE WHEN conversation = ANY (gone);
      SELECT 5 * octet_length(s.text) - 4 * length(s.text), to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ exact INTO size, matched
        FROM platform.said s
       WHERE s.kind = stream.kind AND s.tenant = stream.tenant AND s.site = stream.site AND s.id = hits[i].id;
      bytes := bytes + coalesce(size, 0);
      IF matched AND conversation <> ALL (kept) THEN
        shown := false;
        again := i = 1 AND p_read IS NOT NULL AND hits[1].at = stream.at AND hits[1].id = stream.before_id - 1;
        FOREACH hit IN ARRAY platform.passed_hits(stream, looked.query, ARRAY[hits[i].conversation_id], p_top,
            CASE WHEN again THEN p_read ELSE stream.at END, CASE WHEN again THEN p_read_id ELSE stream.before_id END, 501) LOOP
          -- Each page reads a text, so that a walk ends.
          IF (bytes > 300000 OR texts = 500) AND (i > 1 OR texts > 0) THEN
            oldest := positions[i] || '.' || (extract(epoch FROM hit.at) * 1000000)::bigint || '.' || hit.id;
            EXIT walk;
          END IF;
          SELECT 5 * octet_length(s.text) - 4 * length(s.text), to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ exact INTO size, shown
            FROM platform.said s WHERE s.kind = 'message' AND s.tenant = stream.tenant AND s.site = stream.site AND s.id = hit.id;
          bytes := bytes + coalesce(size, 0);
          texts := texts + 1;
          EXIT WHEN shown;
        END LOOP;
        IF shown THEN gone := gone || conversation; ELSE kept := kept || conversation; END IF;
      END IF;
      IF matched AND conversation <> ALL (gone) THEN matching := matching || i; END IF;
      EXIT WHEN bytes > 300000 OR cardinality(matching) = p_window;
    END LOOP;
  END IF;
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
  SELECT * FROM platform.search(p_kinds, p_streams, p_groups, p_terms, p_best, p_window, p_skip, p_limit, p_top, NULL, NULL)
$$;

DROP FUNCTION platform.shown_before(platform.searched, bigint, tsquery, timestamptz);
