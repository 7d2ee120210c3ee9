-- The search for words in messages, subjects, notes and names. The indexes hold the words, so the transaction that
-- changes a text also changes the index. A search never lags and never shows a text that was removed.
--
-- The rows of a website are numbered, so a row belongs to a block of 2,048 rows and to a span of 32 blocks. The index
-- holds the marks of block, span and website beside the words of the row. So the statement for "the words in this block"
-- reads only the block, no matter how frequent the words are and how large the website is. docs/decisions/search.md has
-- the measurements.

-- The first lock stops no writer, but PostgreSQL ends an autovacuum of these tables after a second. The triggers need a
-- lock that stops writers. If the triggers do not get this lock soon, the migration gives up, and the gateway tries again.
-- The wait is shorter than deadlock_timeout, so no writer is ended instead of the migration.
LOCK TABLE platform.contact, platform.note, platform.conversation, platform.message IN SHARE UPDATE EXCLUSIVE MODE;
SELECT set_config('lock_timeout', '400ms', true);

-- The characters of writing without spaces: Han, Hiragana, Katakana, Thai, Lao, Myanmar and Khmer.
CREATE FUNCTION platform.dense() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff' $$;

-- Prepares a text for the parser of PostgreSQL. The parser keeps marks such as hyphens, dots and slashes inside of words
-- (order-123, a.b/c), so these marks become spaces. Accents are removed. In writing without spaces, each pair of
-- neighbouring characters becomes a word: abc becomes ab and bc. Only the first 100,000 characters of a text can be found.
CREATE FUNCTION platform.spaced(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  dense constant text := platform.dense();
  folded text := normalize(lower(left(t, 100000)), NFKD);
BEGIN
  folded := replace(replace(replace(translate(folded, 'øłđðı', 'olddi'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
  folded := normalize(regexp_replace(folded, '[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]', '', 'g'), NFC);
  folded := regexp_replace(folded, '[^[:alnum:]\u0080-\U0010ffff]|[\u0080-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb-\u00bf\u00d7\u00f7\u060c\u061b\u061f\u0640\u066a-\u066d\u06d4\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30fb\ufe30-\ufe6f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+', ' ', 'g');
  IF folded !~ ('[' || dense || ']') THEN RETURN folded; END IF;
  -- aabbcc without the first and the last character is abbc, which is the pairs ab and bc. Four passes take a time that
  -- grows with the length of the text. A loop over the runs took 49 s for 100,000 characters (23 November 2026).
  folded := regexp_replace(folded, '([' || dense || '])', '\1\1', 'g');
  folded := regexp_replace(folded, '(^|[^' || dense || '])[' || dense || ']', '\1 ', 'g');
  folded := regexp_replace(folded, '([' || dense || ']{2})', '\1 ', 'g');
  RETURN regexp_replace(folded, '([' || dense || ']{2} )[' || dense || '](?![' || dense || '])', '\1', 'g');
END $$;

-- A text as the parser must read it. An ASCII text must give the same words here as in platform.spaced. Some replacements
-- take a quarter of the time of one translate() (23 November 2026).
CREATE FUNCTION platform.plain(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(t) = length(t) AND length(t) <= 100000
    THEN replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(t, '-', ' '), '.', ' '), '/', ' '),
      '@', ' '), '_', ' '), ':', ' '), '<', ' '), '>', ' '), '+', ' '), '~', ' '), '&', ' ')
    ELSE platform.spaced(t) END
$$;

-- The mark of the rows whose numbers are equal after a shift by so many bits: 11 for a block, 16 for a span, 63 for all
-- rows of a website. A mark is a word of the index. No text has such a word, because platform.plain removes the slashes.
-- The casts keep the function immutable inside, so PostgreSQL can put its body in the place of the call.
CREATE FUNCTION platform.mark(tenant bigint, site bigint, id bigint, shift integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '/m' || shift::text || '/' || tenant::text || '/' || site::text || '/' || (id >> shift)::text $$;

-- What an index holds of a row. Null if the row has no text. The marks do not go through the parser, because the parser
-- takes as long for three marks as for a message of 15 words (23 November 2026). Internal messages have the negative number
-- of the website, so a search for public messages never reads internal messages.
CREATE FUNCTION platform.words(tenant bigint, site bigint, id bigint, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_tsvector('simple'::regconfig, platform.plain(t)) || array_to_tsvector(ARRAY[
    platform.mark(tenant, site, id, 11), platform.mark(tenant, site, id, 16), platform.mark(tenant, site, id, 63)])
$$;

-- The words of a name, each behind its website. A query for the start of a word reads all words of the index that start so.
-- With the website in front, PostgreSQL reads only words of this website. The index cannot hold words of 2,048 bytes.
CREATE FUNCTION platform.starts(tenant bigint, site bigint, name text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN ARRAY(SELECT '/n' || tenant || '/' || site || '/' || left(word, 400)
                 FROM unnest(tsvector_to_array(to_tsvector('simple'::regconfig, platform.plain(name)))) AS word);
END $$;

-- What the index of contacts holds of a row: whole words for the search, and words behind their website for the start of a
-- word.
CREATE FUNCTION platform.name_words(tenant bigint, site bigint, id bigint, name text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.words(tenant, site, id, name) || array_to_tsvector(platform.starts(tenant, site, name))
$$;

-- Every text that a search can find. Each branch has an index below on the same expression.
CREATE VIEW platform.said AS
  SELECT 'message' AS kind, tenant, site, id, conversation_id, NULL::bigint AS visitor_id, created_at,
         visibility = 'internal' AS internal, text,
         platform.words(tenant, CASE visibility WHEN 'internal' THEN -site ELSE site END, id, text) AS words
    FROM platform.message WHERE NOT redacted
  UNION ALL
  SELECT 'subject', tenant, site, id, id, NULL, created_at, false, subject, platform.words(tenant, site, id, subject)
    FROM platform.conversation
  UNION ALL
  SELECT 'note', tenant, site, id, NULL, visitor_id, created_at, false, coalesce(title || ': ', '') || text,
         platform.words(tenant, site, id, coalesce(title || ': ', '') || text)
    FROM platform.note
  UNION ALL
  SELECT 'contact', tenant, site, id, NULL, NULL, created_at, false, name, platform.name_words(tenant, site, id, name)
    FROM platform.contact WHERE NOT deleted;

-- The times of the rows of each block, rounded to whole days. So a search knows which blocks can hold newer rows. The
-- times of a block never come closer together.
CREATE TABLE platform.said_block (
  tenant bigint NOT NULL, site bigint NOT NULL,
  kind text NOT NULL, block bigint NOT NULL,
  oldest timestamptz NOT NULL, newest timestamptz NOT NULL,
  PRIMARY KEY (tenant, site, kind, block),
  FOREIGN KEY (tenant, site) REFERENCES platform.website ON DELETE CASCADE
);

-- Widens the blocks of several rows of one kind. The arrays have equal length.
CREATE FUNCTION platform.widen_blocks(p_kind text, tenants bigint[], sites bigint[], ids bigint[], times timestamptz[]) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO platform.said_block AS b (tenant, site, kind, block, oldest, newest)
  SELECT w.tenant, w.site, p_kind, w.block, w.oldest, w.newest
    FROM (SELECT r.tenant, r.site, r.id >> 11 AS block, date_trunc('day', min(r.at), 'UTC') AS oldest,
                 date_trunc('day', max(r.at), 'UTC') + interval '1 day' AS newest
            FROM unnest(tenants, sites, ids, times) AS r (tenant, site, id, at) GROUP BY 1, 2, 3) w
   WHERE NOT EXISTS (SELECT FROM platform.said_block o
                      WHERE o.tenant = w.tenant AND o.site = w.site AND o.kind = p_kind AND o.block = w.block
                        AND o.oldest <= w.oldest AND o.newest >= w.newest)
   ORDER BY w.tenant, w.site, w.block
  ON CONFLICT (tenant, site, kind, block) DO UPDATE
    SET oldest = least(b.oldest, excluded.oldest), newest = greatest(b.newest, excluded.newest)
$$;

-- Nearly always, the blocks are wide enough. The look-up takes 12 µs for a message that is written alone. A call of
-- platform.widen_blocks takes 140 µs (23 November 2026).
CREATE FUNCTION platform.rows_said() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM new_rows r WHERE NOT EXISTS (
               SELECT FROM platform.said_block b
                WHERE b.tenant = r.tenant AND b.site = r.site AND b.kind = TG_ARGV[0] AND b.block = r.id >> 11
                  AND b.oldest <= r.created_at AND b.newest > r.created_at)) THEN
    PERFORM platform.widen_blocks(TG_ARGV[0], array_agg(tenant), array_agg(site), array_agg(id), array_agg(created_at)) FROM new_rows;
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION platform.row_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM platform.widen_blocks(TG_ARGV[0], ARRAY[NEW.tenant], ARRAY[NEW.site], ARRAY[NEW.id], ARRAY[NEW.created_at]);
  RETURN NULL;
END $$;
-- The rows that were stored before this migration, and whose blocks are not noted yet: the rows of a kind after this
-- position. A kind that has no row here is complete.
CREATE TABLE gateway.unnoted_block (
  kind text PRIMARY KEY,
  relation text NOT NULL,
  tenant bigint NOT NULL DEFAULT 0, site bigint NOT NULL DEFAULT 0, id bigint NOT NULL DEFAULT 0
);

-- Notes the blocks of the next p_rows rows of a kind. Each call is a short transaction, so no writer waits for long.
-- Returns true if rows are left.
CREATE FUNCTION gateway.note_blocks(p_kind text, p_rows integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  u gateway.unnoted_block;
  last record;
BEGIN
  SELECT * INTO u FROM gateway.unnoted_block WHERE kind = p_kind FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  EXECUTE format('WITH n AS MATERIALIZED (
      SELECT tenant, site, id, created_at FROM %s
       WHERE (tenant, site, id) > ($1.tenant, $1.site, $1.id) ORDER BY tenant, site, id LIMIT $2
    ), noted AS MATERIALIZED (
      SELECT platform.widen_blocks($1.kind, array_agg(tenant), array_agg(site), array_agg(id), array_agg(created_at)) FROM n
    )
    SELECT n.tenant, n.site, n.id FROM n, noted ORDER BY n.tenant DESC, n.site DESC, n.id DESC LIMIT 1', u.relation)
    INTO last USING u, p_rows;
  IF last.id IS NULL THEN
    DELETE FROM gateway.unnoted_block WHERE kind = p_kind;
    RETURN false;
  END IF;
  UPDATE gateway.unnoted_block SET tenant = last.tenant, site = last.site, id = last.id WHERE kind = p_kind;
  RETURN true;
END $$;

-- The indexes that the gateway builds after a migration with CREATE INDEX CONCURRENTLY. So writers of a large table do
-- not wait for the build. `definition` is the SQL after the name of the table.
CREATE TABLE gateway.wanted_index (
  name text PRIMARY KEY,
  relation text NOT NULL,
  definition text NOT NULL
);

-- The wanted indexes that are missing, or that a lost build has left unfinished. The index of the smallest table comes
-- first.
CREATE VIEW gateway.missing_index AS
  SELECT w.name, w.relation, w.definition
    FROM gateway.wanted_index w
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass(split_part(w.relation, '.', 1) || '.' || w.name)
   WHERE i.indisvalid IS NOT TRUE
   ORDER BY pg_table_size(w.relation::regclass), w.name;

-- Wants an index. Builds the index at once if the table is small, because a build of 2 MB takes less than half a second.
CREATE FUNCTION gateway.want_index(p_relation text, p_name text, p_definition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway.wanted_index VALUES (p_name, p_relation, p_definition);
  IF pg_table_size(p_relation::regclass) < 2097152 THEN
    EXECUTE format('CREATE INDEX %I ON %s %s', p_name, p_relation, p_definition);
  END IF;
END $$;

-- True if all wanted indexes of a table of the schema platform are built. Null means all tables. Fails otherwise, because a read without the
-- indexes would read the whole table.
CREATE FUNCTION gateway.built(p_table text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF EXISTS (SELECT FROM gateway.missing_index m WHERE p_table IS NULL OR m.relation = 'platform.' || p_table)
     OR EXISTS (SELECT FROM gateway.unnoted_block u WHERE p_table IS NULL OR u.relation = 'platform.' || p_table) THEN
    RAISE EXCEPTION 'an index is being built' USING ERRCODE = 'GW503';
  END IF;
  RETURN true;
END $$;

-- The triggers come first on messages, because a writer of a message locks the message before the conversation.
--
-- New entries of an index wait in a list that every search reads. A list of 256 kB keeps this short.
DO $do$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('message', 'message', 'platform.words(tenant, CASE visibility WHEN ''internal'' THEN -site ELSE site END, id, text)', 'WHERE NOT redacted'),
    ('conversation', 'subject', 'platform.words(tenant, site, id, subject)', ''),
    ('note', 'note', 'platform.words(tenant, site, id, coalesce(title || '': '', '''') || text)', ''),
    ('contact', 'contact', 'platform.name_words(tenant, site, id, name)', 'WHERE NOT deleted')) AS v (name, kind, words, condition) LOOP
    EXECUTE format('CREATE TRIGGER %1$s_said AFTER INSERT ON platform.%1$I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION platform.rows_said(%2$L)', t.name, t.kind);
    EXECUTE format('CREATE TRIGGER %1$s_moved AFTER UPDATE OF created_at ON platform.%1$I
      FOR EACH ROW WHEN (OLD.created_at IS DISTINCT FROM NEW.created_at) EXECUTE FUNCTION platform.row_moved(%2$L)', t.name, t.kind);
    INSERT INTO gateway.unnoted_block (kind, relation) VALUES (t.kind, 'platform.' || t.name);
    IF pg_table_size(('platform.' || t.name)::regclass) < 2097152 THEN
      WHILE gateway.note_blocks(t.kind, 50000) LOOP NULL; END LOOP;
    END IF;
    PERFORM gateway.want_index('platform.' || t.name, t.name || '_words',
      format('USING gin (%s) WITH (gin_pending_list_limit = 256) %s', t.words, t.condition));
  END LOOP;
END $do$;

-- The query of a search. p_groups is an array of groups; a text must match one group. A group is an array of terms
-- {"text", "not"}; a text must match all terms. A term matches its words side by side. If p_loose is true, the words of a
-- term can stand apart. Null if a group has no word.
CREATE FUNCTION platform.search_query(p_groups jsonb, p_loose boolean) RETURNS tsquery LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
      -- A loose query must find every text that the query finds. So it excludes a text only for a term of one word.
      term := CASE WHEN p_loose AND NOT (t ->> 'not')::boolean THEN plainto_tsquery('simple'::regconfig, platform.plain(t ->> 'text'))
                   ELSE phraseto_tsquery('simple'::regconfig, platform.plain(t ->> 'text')) END;
      CONTINUE WHEN numnode(term) = 0 OR (p_loose AND (t ->> 'not')::boolean AND numnode(term) > 1);
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

CREATE TYPE platform.hit AS (at timestamptz, id bigint, conversation_id bigint);

-- What a search may find: texts of one kind and website, before the position (at, before_id), within from_at and to_at.
-- Null restrictions permit everything. A restriction concerns the conversation of a text.
CREATE TYPE platform.searched AS (
  tenant bigint, site bigint, kind text, internal boolean,
  channels bigint[], teams bigint[], subsites bigint[],
  from_at timestamptz, to_at timestamptz, at timestamptz, before_id bigint
);

-- The hits among the rows of one mark, in no order, at most p_limit. Null means all hits. The setting keeps one plan for
-- all calls, because planning takes longer than most look-ups. OFFSET 0 keeps the planner from all indexes but those of
-- words.
CREATE FUNCTION platform.marked_hits(p platform.searched, p_query tsquery, p_id bigint, p_shift integer, p_limit integer)
RETURNS platform.hit[] LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
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

-- The newest texts of some conversations that match the query, newest first, at most p_want. Null if these texts have more
-- than 500,000 bytes, because the words of each text are computed.
CREATE FUNCTION platform.hits_within(p platform.searched, p_query tsquery, p_want integer, p_conversations bigint[])
RETURNS platform.hit[] LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (
    WITH t AS MATERIALIZED (
      SELECT s.created_at, s.id, s.conversation_id, s.text FROM platform.said s
       WHERE s.kind = p.kind AND s.tenant = p.tenant AND s.site = p.site AND s.conversation_id = ANY(p_conversations)
         AND (s.created_at, s.id) < (p.at, p.before_id) AND (p.internal OR NOT s.internal)
         AND (p.from_at IS NULL OR s.created_at >= p.from_at) AND (p.to_at IS NULL OR s.created_at < p.to_at)
    )
    SELECT CASE WHEN (SELECT coalesce(sum(octet_length(t.text)), 0) FROM t) <= 500000 THEN ARRAY(
      SELECT (t.created_at, t.id, t.conversation_id)::platform.hit FROM t
       WHERE to_tsvector('simple'::regconfig, platform.plain(t.text)) @@ p_query
       ORDER BY t.created_at DESC, t.id DESC LIMIT p_want) END);
END $$;

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

-- True if an earlier page has shown the conversation. Then the conversation has a hit between the position of p and p_top,
-- the time of the newest hit of the first page. Later messages do not count, because no page has shown them.
CREATE FUNCTION platform.shown_before(p platform.searched, p_conversation bigint, p_query tsquery, p_top timestamptz) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM platform.message m
     WHERE m.tenant = p.tenant AND m.site = p.site AND m.conversation_id = p_conversation AND NOT m.redacted
       AND (m.created_at, m.id) >= (p.at, p.before_id) AND m.created_at <= p_top AND (p.internal OR m.visibility = 'public')
       AND (p.from_at IS NULL OR m.created_at >= p.from_at) AND (p.to_at IS NULL OR m.created_at < p.to_at)
       AND to_tsvector('simple'::regconfig, platform.plain(m.text)) @@ p_query);
END $$;

-- About 240 characters of a text around the first of the terms, or from the start of the text.
CREATE FUNCTION platform.snippet(t text, terms text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN s.start > 1 THEN '…' ELSE '' END || substr(t, s.start, 240) || CASE WHEN length(t) > s.start + 239 THEN '…' ELSE '' END
    FROM (SELECT greatest(1, coalesce(min(nullif(strpos(lower(t), lower(term)), 0)), 1) - 80) AS start FROM unnest(terms) AS term) s
$$;

-- One page of a search over several kinds and websites. The page shows the best of p_window hits, or the newest if p_best
-- is false, after p_skip hits. A hit is a candidate whose words stand in the wanted order. `top` is the position of the
-- newest candidate. `bottom` is the position after which the next window begins, and `found` is then p_window. `known` is
-- false if the query names no word. Returns one row with an empty `kind` for an empty page.
--
-- A phrase of frequent words can have very many candidates and no hit. So a window ends after 500 candidates, or after
-- 300,000 bytes of text. Only texts that the caller may see are candidates, so the end of a window reveals nothing about
-- other texts. The rank looks at the start of a text only, so that long texts do not make a page slow.
--
-- p_top is the time of the newest hit of the first page. Null on the first page.
--
-- The statement stands in a function, because a function keeps its plan.
CREATE FUNCTION platform.search(
  p_kinds text[], p_streams platform.searched[], p_groups jsonb, p_terms text[],
  p_best boolean, p_window integer, p_skip integer, p_limit integer, p_top timestamptz
) RETURNS TABLE (
  known boolean, found integer, top text, bottom text, kind integer, site bigint, id bigint,
  conversation_id bigint, visitor_id bigint, at timestamptz, place text, subject text, snippet text
) LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  exact constant tsquery := platform.search_query(p_groups, false);
  loose constant tsquery := platform.search_query(p_groups, true);
  candidates constant integer := CASE WHEN exact = loose THEN p_window ELSE 500 END;
  stream platform.searched;
  fresh platform.hit[];
  hits platform.hit[] := '{}';
  streams integer[] := '{}';
  times timestamptz[] := '{}';
  positions text[];
  newest text;
  oldest text;
  checked integer;
  matching integer[];
  bytes bigint := 0;
  size integer;
  matched boolean;
BEGIN
  PERFORM gateway.built(NULL);
  known := exact IS NOT NULL;
  IF NOT known THEN RETURN NEXT; RETURN; END IF;
  -- A stream needs no hits that are older than the candidates of the streams before it.
  FOR i IN 1 .. cardinality(p_streams) LOOP
    stream := p_streams[i];
    IF cardinality(times) = candidates THEN stream.from_at := greatest(stream.from_at, times[candidates]); END IF;
    fresh := ARRAY(SELECT platform.newest_hits(stream, loose, candidates));
    CONTINUE WHEN fresh = '{}';
    hits := hits || fresh;
    streams := streams || array_fill(i, ARRAY[cardinality(fresh)]);
    times := ARRAY(SELECT h.at FROM unnest(hits) h ORDER BY 1 DESC LIMIT candidates);
  END LOOP;
  SELECT array_agg((c.at, c.id, c.conversation_id)::platform.hit ORDER BY c.nr), array_agg(c.stream ORDER BY c.nr),
         array_agg((extract(epoch FROM c.at) * 1000000)::bigint || '.' || c.kind || '.' || c.site || '.' || c.id ORDER BY c.nr)
    INTO hits, streams, positions
    FROM (SELECT row_number() OVER (ORDER BY n.at DESC, o.kind, o.site, n.id DESC) AS nr, n.*, o.kind, o.site
            FROM unnest(hits, streams) AS n (at, id, conversation_id, stream)
           CROSS JOIN LATERAL (
             SELECT array_position(p_kinds, (p_streams[n.stream]).kind) - 1 AS kind, (p_streams[n.stream]).site AS site) o
           ORDER BY 1 LIMIT candidates) c;
  checked := coalesce(cardinality(hits), 0);
  matching := ARRAY(SELECT generate_series(1, least(checked, p_window)));
  IF exact <> loose THEN
    matching := '{}';
    FOR i IN 1 .. checked LOOP
      stream := p_streams[streams[i]];
      SELECT octet_length(s.text), to_tsvector('simple'::regconfig, platform.plain(s.text)) @@ exact INTO size, matched
        FROM platform.said s
       WHERE s.kind = stream.kind AND s.tenant = stream.tenant AND s.site = stream.site AND s.id = (hits[i]).id;
      IF matched THEN matching := matching || i; END IF;
      checked := i;
      bytes := bytes + coalesce(size, 0);
      EXIT WHEN bytes > 300000 OR cardinality(matching) = p_window;
    END LOOP;
  END IF;
  newest := positions[1];
  IF cardinality(matching) = p_window THEN oldest := positions[matching[p_window]];
  ELSIF checked = candidates OR checked < cardinality(hits) THEN oldest := positions[checked];
  END IF;
  RETURN QUERY
  WITH hit AS MATERIALIZED (
    SELECT c.*, t.text, t.visitor_id,
           CASE WHEN p_best THEN ts_rank_cd(to_tsvector('simple'::regconfig, platform.plain(left(t.text, 2000))), exact, 1)
             * CASE WHEN c.kind = 0 THEN 1 ELSE 2 END ELSE 0 END AS rank
      FROM (SELECT p_streams[streams[nr]] AS p, (p_streams[streams[nr]]).site AS site,
                   array_position(p_kinds, (p_streams[streams[nr]]).kind) - 1 AS kind,
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
       -- The order comes first, so that only the conversations of this page are looked up.
       WHERE h.kind > 0 OR (h.p).at = 'infinity' OR NOT platform.shown_before(h.p, h.conversation_id, exact, p_top)
      OFFSET p_skip LIMIT p_limit) d ON true;
END $$;
