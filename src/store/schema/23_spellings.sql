-- The spellings that `search` knows: the words of the texts of a website, by the kind of text. A word of a query that no text
-- holds is looked up here by its nearest spellings. docs/decisions/search.md has the reasons and the measurements.
--
-- Messages that are internal have a kind of their own. So a caller reads only words of texts that this caller may see.

-- A word has one row for itself and one for each letter that can be missing. Two words that differ by one typing error (a
-- letter that is missing, doubled, swapped with the next or replaced) have a key in common. So a look-up reads a few keys,
-- no matter how many words a website has.
--
-- `id` is a row that holds the word. When this row loses the word, the word leaves with it. There is no reference to the
-- website, because its check would cost more than the row: platform.forget removes the words of a removed website.
CREATE TABLE platform.spelling (
  tenant bigint NOT NULL, site bigint NOT NULL,
  kind text NOT NULL,
  key text COLLATE "C" NOT NULL, word text COLLATE "C" NOT NULL, id bigint NOT NULL,
  PRIMARY KEY (tenant, site, kind, key, word, id)
);

-- True if a word can be a spelling: 3 to 20 characters, with a letter and at most two digits. Numbers are none, because they
-- name orders, customers and telephones: another number is not another spelling. Writing without spaces has no words.
CREATE FUNCTION platform.is_spelling(word text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT length(word) BETWEEN 3 AND 20 AND word !~ ('[' || platform.dense() || ']|^[0-9]+$|[0-9].*[0-9].*[0-9]')
$$;

-- The words of a text. Only the first 2,000 characters count, so that one long message of an outsider does not fill the table.
CREATE FUNCTION platform.first_words(t text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT tsvector_to_array(to_tsvector('simple'::regconfig, platform.plain(left(t, 2000))))
$$;
CREATE FUNCTION platform.spelled_words(t text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN ARRAY(SELECT w FROM unnest(platform.first_words(t)) AS w WHERE platform.is_spelling(w));
END $$;

CREATE FUNCTION platform.spelling_keys(word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ARRAY(SELECT word UNION SELECT left(word, i - 1) || substr(word, i + 1) FROM generate_series(1, length(word)) AS i)
$$;

-- True if one typing error leads from one word to the other. Words with a key in common can also differ by two errors. The
-- digits must be equal.
CREATE FUNCTION platform.one_error(a text, b text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  i integer := 1; -- the first letter that differs
BEGIN
  IF a = b THEN RETURN false; END IF;
  WHILE substr(a, i, 1) = substr(b, i, 1) LOOP i := i + 1; END LOOP;
  RETURN (substr(a, i + 1) = substr(b, i + 1) OR substr(a, i) = substr(b, i + 1) OR substr(a, i + 1) = substr(b, i)
      OR (substr(a, i, 1) = substr(b, i + 1, 1) AND substr(a, i + 1, 1) = substr(b, i, 1) AND substr(a, i + 2) = substr(b, i + 2)))
     AND regexp_replace(a, '[^0-9]', '', 'g') = regexp_replace(b, '[^0-9]', '', 'g');
END $$;

-- How likely an error is, 0 first: a letter that is doubled or swapped with the next, a letter that is missing or too much,
-- a letter that is replaced. The first letter is seldom wrong.
CREATE FUNCTION platform.likely_error(typed text, word text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN left(typed, 1) <> left(word, 1) THEN 3
              WHEN regexp_replace(typed, '(.)\1', '\1', 'g') = regexp_replace(word, '(.)\1', '\1', 'g') THEN 0
              WHEN length(typed) <> length(word) THEN 1
              WHEN (SELECT count(*) FROM generate_series(1, length(word)) AS i WHERE substr(typed, i, 1) <> substr(word, i, 1)) = 2 THEN 0
              ELSE 2 END
$$;

-- Notes the words of some texts that no text of the kind has had before. The arrays have equal length. Two transactions can
-- note one word at once, each with its own row, so neither waits for the other. The subquery is looked up for each word: a
-- join could read all words of all websites.
CREATE FUNCTION platform.learn(p_kinds text[], p_tenants bigint[], p_sites bigint[], p_ids bigint[], p_texts text[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  -- Nearly always, all words of a message are known. This look-up takes half the time of the statement below.
  IF cardinality(p_ids) = 1 AND NOT EXISTS (
    SELECT FROM unnest(platform.spelled_words(p_texts[1])) AS w (word)
     WHERE (SELECT true FROM platform.spelling o
             WHERE o.tenant = p_tenants[1] AND o.site = p_sites[1] AND o.kind = p_kinds[1] AND o.key = w.word AND o.word = w.word LIMIT 1) IS NULL
  ) THEN RETURN; END IF;
  INSERT INTO platform.spelling (tenant, site, kind, key, word, id)
  SELECT n.tenant, n.site, n.kind, k.key, n.word, n.id
    FROM (SELECT w.* FROM (
            SELECT r.tenant, r.site, r.kind, w.word, min(r.id) AS id
              FROM unnest(p_kinds, p_tenants, p_sites, p_ids, p_texts) AS r (kind, tenant, site, id, text)
             CROSS JOIN LATERAL unnest(platform.first_words(r.text)) AS w (word)
             GROUP BY r.tenant, r.site, r.kind, w.word OFFSET 0) w
           WHERE platform.is_spelling(w.word)
             AND (SELECT true FROM platform.spelling o
                   WHERE o.tenant = w.tenant AND o.site = w.site AND o.kind = w.kind AND o.key = w.word AND o.word = w.word LIMIT 1) IS NULL
          OFFSET 0) n
   CROSS JOIN LATERAL unnest(platform.spelling_keys(n.word)) AS k (key)
  ON CONFLICT DO NOTHING;
END $$;

-- Removes the words that only these rows are known to hold. Another row that holds such a word is then looked for, for the
-- first 100 words. The arrays have equal length, and have the texts that the rows no longer have.
CREATE FUNCTION platform.forget(p_kinds text[], p_tenants bigint[], p_sites bigint[], p_ids bigint[], p_texts text[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  f record;
  h record;
  locked boolean;
  looks integer := 100;
BEGIN
  IF NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = p_tenants[1] AND w.site = p_sites[1]) THEN
    -- The website is being removed with its rows.
    FOR f IN SELECT DISTINCT r.tenant, r.site FROM unnest(p_tenants, p_sites) AS r (tenant, site)
              WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = r.tenant AND w.site = r.site) LOOP
      DELETE FROM platform.spelling s WHERE s.tenant = f.tenant AND s.site = f.site;
    END LOOP;
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM gateway.missing_index) THEN looks := 0; END IF;
  FOR f IN SELECT r.kind, r.tenant, r.site, r.id, w.word
             FROM unnest(p_kinds, p_tenants, p_sites, p_ids, p_texts) AS r (kind, tenant, site, id, text)
            CROSS JOIN LATERAL unnest(platform.spelled_words(r.text)) AS w (word)
            WHERE (SELECT true FROM platform.spelling o WHERE o.tenant = r.tenant AND o.site = r.site AND o.kind = r.kind
                      AND o.key = w.word AND o.word = w.word AND o.id = r.id) LOOP
    DELETE FROM platform.spelling s
     WHERE s.tenant = f.tenant AND s.site = f.site AND s.kind = f.kind AND s.key = ANY (platform.spelling_keys(f.word))
       AND s.word = f.word AND s.id = f.id;
    looks := looks - 1;
    CONTINUE WHEN looks < 0;
    FOR h IN SELECT n.id
               FROM platform.newest_hits((f.tenant, f.site, CASE f.kind WHEN 'internal' THEN 'message' ELSE f.kind END, f.kind = 'internal',
                      NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched, quote_literal(f.word)::tsquery, 4) AS n LOOP
      -- A row that another transaction changes now is no witness, and a witness keeps its text until this transaction ends.
      -- Otherwise a word that two transactions remove at once could stay. The text is read after the lock.
      EXECUTE format('SELECT true FROM platform.%I WHERE tenant = $1 AND site = $2 AND id = $3 FOR SHARE SKIP LOCKED',
        CASE f.kind WHEN 'internal' THEN 'message' WHEN 'subject' THEN 'conversation' ELSE f.kind END)
        INTO locked USING f.tenant, f.site, h.id;
      CONTINUE WHEN locked IS NULL;
      PERFORM platform.learn(ARRAY[f.kind], ARRAY[f.tenant], ARRAY[f.site], ARRAY[s.id], ARRAY[s.text])
         FROM platform.said s
        WHERE s.kind = CASE f.kind WHEN 'internal' THEN 'message' ELSE f.kind END AND s.tenant = f.tenant AND s.site = f.site
          AND s.id = h.id AND s.internal = (f.kind = 'internal');
    END LOOP;
  END LOOP;
END $$;

-- Removes the words of websites that are gone. The arrays have equal length.
CREATE FUNCTION platform.forget_websites(p_tenants bigint[], p_sites bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w record;
BEGIN
  FOR w IN SELECT t.tenant, t.site FROM unnest(p_tenants, p_sites) AS t (tenant, site) LOOP
    DELETE FROM platform.spelling s WHERE s.tenant = w.tenant AND s.site = w.site;
  END LOOP;
END $$;

-- The triggers. The text of a row stands as in the view platform.said. Null means that no search finds the row.
-- A DELETE collects no text of a website that is gone. The cascade of a website is one call with all its rows, and its texts
-- may not fit into the memory. While gateway.removal is on, a DELETE leaves words and totals alone, because they go with the
-- website. While gateway.spelled is off, an UPDATE changes no words, because its statement called platform.unlearn for all
-- rows.
CREATE FUNCTION platform.message_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION platform.subject_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION platform.note_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION platform.contact_spelled() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION platform.spellings_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A TRUNCATE removes the texts of all websites, and can also remove the websites.
  DELETE FROM platform.spelling WHERE kind = ANY (string_to_array(TG_ARGV[0], ' '));
  RETURN NULL;
END $$;

-- The rows that were stored before, and whose words are not noted yet, as in gateway.unnoted_block. Meanwhile no word of a
-- query is corrected, because a word that is not noted could stand in a text.
CREATE TABLE gateway.unspelled (
  kind text PRIMARY KEY,
  relation text NOT NULL, said text NOT NULL,
  tenant bigint NOT NULL DEFAULT 0, site bigint NOT NULL DEFAULT 0, id bigint NOT NULL DEFAULT 0
);
-- Notes the words of the next p_rows rows of a kind. Each call is a short transaction. Returns true if rows are left. During
-- the hold of a move it fails and is repeated, because no row may be left out.
CREATE FUNCTION gateway.spell_rows(p_kind text, p_rows integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  u gateway.unspelled;
  last record;
BEGIN
  SELECT * INTO u FROM gateway.unspelled WHERE kind = p_kind FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  EXECUTE format('WITH n AS MATERIALIZED (
      SELECT tenant, site, id, %s FROM %s WHERE (tenant, site, id) > ($1.tenant, $1.site, $1.id) AND tenant NOT IN (SELECT m.tenant FROM gateway.move m WHERE m.phase = ''moved'') ORDER BY tenant, site, id LIMIT $2
    ), learnt AS MATERIALIZED (
      SELECT platform.learn(array_agg(said_kind), array_agg(tenant), array_agg(site), array_agg(id), array_agg(said_text)) FROM n
    )
    SELECT n.tenant, n.site, n.id FROM n, learnt ORDER BY n.tenant DESC, n.site DESC, n.id DESC LIMIT 1', u.said, u.relation)
    INTO last USING u, p_rows;
  IF last.id IS NULL THEN
    DELETE FROM gateway.unspelled WHERE kind = p_kind;
    RETURN false;
  END IF;
  UPDATE gateway.unspelled SET tenant = last.tenant, site = last.site, id = last.id WHERE kind = p_kind;
  RETURN true;
END $$;

DO $do$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('message', 'message', 'text, redacted, visibility', 'message internal',
     'CASE visibility WHEN ''internal'' THEN ''internal'' ELSE ''message'' END AS said_kind, CASE WHEN NOT redacted THEN text END AS said_text'),
    ('conversation', 'subject', 'subject', 'subject', '''subject'' AS said_kind, subject AS said_text'),
    ('note', 'note', 'title, text', 'note', '''note'' AS said_kind, coalesce(title || '': '', '''') || text AS said_text'),
    ('contact', 'contact', 'name, deleted', 'contact', '''contact'' AS said_kind, CASE WHEN NOT deleted THEN name END AS said_text')
  ) AS v (name, kind, members, kinds, said) LOOP
    EXECUTE format('CREATE TRIGGER %1$s_spelled AFTER INSERT ON platform.%1$I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION platform.%2$s_spelled()', t.name, t.kind);
    EXECUTE format('CREATE TRIGGER %1$s_unspelled AFTER DELETE ON platform.%1$I REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION platform.%2$s_spelled()', t.name, t.kind);
    EXECUTE format('CREATE TRIGGER %1$s_respelled AFTER UPDATE OF %3$s ON platform.%1$I
      FOR EACH ROW WHEN ((%4$s) IS DISTINCT FROM (%5$s)) EXECUTE FUNCTION platform.%2$s_spelled()', t.name, t.kind, t.members,
      regexp_replace('ROW(' || t.members || ')', '\m(?=[a-z])', 'OLD.', 'g'), regexp_replace('ROW(' || t.members || ')', '\m(?=[a-z])', 'NEW.', 'g'));
    EXECUTE format('CREATE TRIGGER %1$s_spellings_truncated AFTER TRUNCATE ON platform.%1$I
      FOR EACH STATEMENT EXECUTE FUNCTION platform.spellings_truncated(%2$L)', t.name, t.kinds);
  END LOOP;
END $do$;

-- A query with its nearest spellings. `groups` has the groups of the query; a term with spellings has them in `also`. `words`
-- has all spellings, and `corrected` has them by word: [{"word", "used"}]. `mask` tells which words were looked up.
CREATE TYPE platform.respelled AS (groups jsonb, words text[], corrected jsonb, mask integer);

-- Looks up the nearest spellings of the words of a query that no text holds, at most three for each of at most three words.
-- A word has 3 to 20 characters and stands alone: no phrase, no excluded word, no number. Only the first eight words are
-- looked up, and spellings come from the first 256 streams, so the time has a bound.
--
-- Every row that is read here is a word of a text that the caller may see. A caller with restrictions sees only some texts of
-- a website. So such a caller gets no spellings.
--
-- The likeliest errors come first, and among them the words that an earlier text holds, because frequent words occur early.
-- p_mask has the words that the first page has looked up, so that all pages of a walk have the same query.
CREATE FUNCTION platform.respelled(p_streams platform.searched[], p_groups jsonb, p_mask integer) RETURNS platform.respelled
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  result platform.respelled := (p_groups, '{}', '[]', 0);
  asked text[];
  of_tenant constant bigint := (p_streams[1]).tenant;
  in_sites bigint[];
  in_kinds text[];
  near text[];
  left_over integer := 3;
BEGIN
  IF p_mask = 0 OR cardinality(p_streams) = 0 OR EXISTS (SELECT FROM gateway.unspelled) THEN RETURN result; END IF;
  IF EXISTS (SELECT FROM unnest(p_streams) AS s WHERE s.channels IS NOT NULL OR s.teams IS NOT NULL OR s.subsites IS NOT NULL) THEN RETURN result; END IF;
  asked := ARRAY(
    SELECT o.word FROM (
      SELECT w.words[1] AS word, min(w.nr) AS nr
        FROM (SELECT platform.spelled_words(t ->> 'text') AS words, to_tsvector('simple'::regconfig, platform.plain(t ->> 'text')) AS lexemes,
                     row_number() OVER () AS nr
                FROM jsonb_array_elements(p_groups) AS g CROSS JOIN jsonb_array_elements(g) AS t
               WHERE NOT (t ->> 'not')::boolean AND NOT coalesce((t ->> 'quoted')::boolean, false)) w
       WHERE length(w.lexemes) = 1
           -- A word that is a spelling for itself: spelled_words leaves out all others.
           AND cardinality(w.words) = 1
       GROUP BY 1) o
     ORDER BY o.nr LIMIT 8);
  SELECT array_agg(s.site ORDER BY s.ordinality, k.kind), array_agg(k.kind ORDER BY s.ordinality, k.kind) INTO in_sites, in_kinds
    FROM unnest(p_streams) WITH ORDINALITY AS s
   CROSS JOIN LATERAL (SELECT s.kind UNION ALL SELECT 'internal' WHERE s.kind = 'message' AND s.internal) AS k (kind);
  FOR i IN 1 .. cardinality(asked) LOOP
    EXIT WHEN left_over = 0;
    IF p_mask IS NOT NULL THEN CONTINUE WHEN p_mask & (1 << (i - 1)) = 0;
    ELSE
      CONTINUE WHEN (SELECT true FROM unnest(in_sites, in_kinds) AS k (site, kind)
                      CROSS JOIN LATERAL (SELECT FROM platform.spelling o WHERE o.tenant = of_tenant AND o.site = k.site AND o.kind = k.kind
                                             AND o.key = asked[i] AND o.word = asked[i] LIMIT 1) o LIMIT 1);
    END IF;
    near := ARRAY(
      SELECT n.word
        FROM (SELECT f.word, min(f.id) AS id
                FROM unnest(in_sites[1:256], in_kinds[1:256]) AS k (site, kind)
               CROSS JOIN unnest(platform.spelling_keys(asked[i])) AS y (key)
               CROSS JOIN LATERAL (SELECT o.word, o.id FROM platform.spelling o
                                    WHERE o.tenant = of_tenant AND o.site = k.site AND o.kind = k.kind AND o.key = y.key
                                    ORDER BY o.word LIMIT 64) f
               GROUP BY f.word OFFSET 0) n
       WHERE platform.one_error(asked[i], n.word)
       ORDER BY platform.likely_error(asked[i], n.word), n.id, n.word LIMIT 3);
    CONTINUE WHEN near = '{}';
    left_over := left_over - 1;
    result.mask := result.mask | (1 << (i - 1));
    result.words := result.words || near;
    result.corrected := result.corrected || jsonb_build_array(jsonb_build_object('word', asked[i], 'used', to_jsonb(near)));
  END LOOP;
  IF result.mask > 0 THEN
    result.groups := (
      SELECT jsonb_agg(x.terms ORDER BY x.nr)
        FROM (SELECT g.nr, jsonb_agg(CASE WHEN c.used IS NULL THEN t.term ELSE t.term || jsonb_build_object('also', c.used) END ORDER BY t.nr) AS terms
                FROM jsonb_array_elements(p_groups) WITH ORDINALITY AS g (terms, nr)
               CROSS JOIN LATERAL jsonb_array_elements(g.terms) WITH ORDINALITY AS t (term, nr)
                LEFT JOIN LATERAL (
                  SELECT c -> 'used' AS used FROM jsonb_array_elements(result.corrected) AS c
                   WHERE NOT (t.term ->> 'not')::boolean AND NOT coalesce((t.term ->> 'quoted')::boolean, false)
                     AND strip(to_tsvector('simple'::regconfig, platform.plain(t.term ->> 'text'))) = array_to_tsvector(ARRAY[c ->> 'word'])) c ON true
               GROUP BY g.nr) x);
  END IF;
  RETURN result;
END $$;

-- Which of some words stand in a text, within its first 10,000 characters.
CREATE FUNCTION platform.held_words(p_kind text, p_tenant bigint, p_site bigint, p_id bigint, p_words text[]) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce((
    SELECT ARRAY(SELECT w FROM unnest(p_words) AS w
                  WHERE w = ANY (tsvector_to_array(to_tsvector('simple'::regconfig, platform.plain(left(s.text, 10000))))))
      FROM platform.said s WHERE s.kind = p_kind AND s.tenant = p_tenant AND s.site = p_site AND s.id = p_id), '{}')
$$;
