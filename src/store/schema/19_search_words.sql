-- The search for words in messages, subjects, notes and names. The indexes hold the words, so the transaction that
-- changes a text also changes the index. A search never lags and never shows a text that was removed.
--
-- The rows of a website are numbered, so a row belongs to a block of 2,048 rows and to a span of 32 blocks. The index
-- holds the marks of block, span and website beside the words of the row. So the statement for "the words in this block"
-- reads only the block, no matter how frequent the words are and how large the website is. docs/decisions/search.md has
-- the measurements.

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

-- The mark of the rows of a conversation. Internal messages have the negative number of the website here too.
CREATE FUNCTION platform.conversation_mark(tenant bigint, site bigint, conversation bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '/c' || tenant::text || '/' || site::text || '/' || conversation::text $$;

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

-- What an index holds of a row. Null if the row has no text. The marks do not go through the parser, because the parser
-- takes as long for three marks as for a message of 15 words (23 November 2026). Internal messages have the negative number
-- of the website, so a search for public messages never reads internal messages.
CREATE FUNCTION platform.words(tenant bigint, site bigint, id bigint, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.text_words(t) || array_to_tsvector(ARRAY[
    platform.mark(tenant, site, id, 11), platform.mark(tenant, site, id, 16), platform.mark(tenant, site, id, 63)])
$$;

-- What an index holds of a row that belongs to a conversation.
CREATE FUNCTION platform.said_words(tenant bigint, site bigint, id bigint, conversation bigint, t text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.text_words(t) || array_to_tsvector(ARRAY[platform.conversation_mark(tenant, site, conversation),
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

-- The mark of the messages by one kind of author. No text has such a word, because platform.plain removes the slashes.
CREATE FUNCTION platform.author_mark(author_type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT '/a' || author_type $$;

-- What the index of messages holds of a row: the words and marks of platform.said_words, and the mark of the author. So the
-- words of visitors are one look-up, no matter how few of the messages are theirs. A condition on the rows of a look-up
-- would read every message that holds a frequent word.
CREATE FUNCTION platform.message_words(tenant bigint, site bigint, id bigint, conversation bigint, author_type text, t text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT platform.text_words(t) || array_to_tsvector(ARRAY[platform.conversation_mark(tenant, site, conversation), platform.author_mark(author_type),
    platform.mark(tenant, site, id, 11), platform.mark(tenant, site, id, 16), platform.mark(tenant, site, id, 63)])
$$;

-- Every text that a search can find. Each branch has an index below on the same expression.
CREATE VIEW platform.said AS
  SELECT 'message' AS kind, tenant, site, id, conversation_id, NULL::bigint AS visitor_id, created_at,
         visibility = 'internal' AS internal, text,
         platform.message_words(tenant, CASE visibility WHEN 'internal' THEN -site ELSE site END, id, conversation_id, author_type, text) AS words
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

-- New entries of an index wait in a list that every search reads. So the list is short: 256 kB. A run that writes many
-- messages may fill 1 MB, because a short list costs the run 12 µs more for each message (23 November 2026). A parameter of
-- the index would hold for all writers alike, so this trigger sets the limit for messages.
CREATE FUNCTION platform.limit_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('gin_pending_list_limit', CASE current_setting('gateway.bulk', true) WHEN 'on' THEN '1024' ELSE '256' END, true);
  RETURN NULL;
END $$;

CREATE TRIGGER message_pending BEFORE INSERT OR UPDATE ON platform.message FOR EACH STATEMENT EXECUTE FUNCTION platform.limit_pending();
DO $do$
DECLARE
  t record;
BEGIN
  FOR t IN SELECT * FROM (VALUES
    ('message', 'message', 'platform.message_words(tenant, CASE visibility WHEN ''internal'' THEN -site ELSE site END, id, conversation_id, author_type, text)',
     'WHERE NOT redacted'),
    ('conversation', 'subject', 'platform.said_words(tenant, site, id, id, subject)', 'WITH (gin_pending_list_limit = 256)'),
    ('note', 'note', 'platform.words(tenant, site, id, coalesce(title || '': '', '''') || text)', 'WITH (gin_pending_list_limit = 256)'),
    ('contact', 'contact', 'platform.name_words(tenant, site, id, name)', 'WITH (gin_pending_list_limit = 256) WHERE NOT deleted')) AS v (name, kind, words, rest) LOOP
    EXECUTE format('CREATE TRIGGER %1$s_said AFTER INSERT ON platform.%1$I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION platform.rows_said(%2$L)', t.name, t.kind);
    EXECUTE format('CREATE TRIGGER %1$s_moved AFTER UPDATE OF created_at ON platform.%1$I
      FOR EACH ROW WHEN (OLD.created_at IS DISTINCT FROM NEW.created_at) EXECUTE FUNCTION platform.row_moved(%2$L)', t.name, t.kind);
    PERFORM gateway.want_index('platform.' || t.name, t.name || '_words', format('USING gin (%s) %s', t.words, t.rest));
  END LOOP;
END $do$;
