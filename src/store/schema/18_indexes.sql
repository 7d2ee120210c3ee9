-- The indexes that the gateway builds after a migration with CREATE INDEX CONCURRENTLY (src/store/open/build.ts). So writers of
-- a large table do not wait for the build. `definition` is the SQL after the name of the table.
CREATE TABLE gateway.wanted_index (
  name text PRIMARY KEY,
  relation text NOT NULL,
  definition text NOT NULL,
  searched boolean NOT NULL DEFAULT true               -- false: searches and spellings do without the index
);

-- The wanted indexes that are missing, or that a lost build has left unfinished. The index of the smallest table comes
-- first.
CREATE VIEW gateway.unbuilt_index AS
  SELECT w.name, w.relation, w.definition, w.searched
    FROM gateway.wanted_index w
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass(split_part(w.relation, '.', 1) || '.' || w.name)
   WHERE i.indisvalid IS NOT TRUE
   ORDER BY pg_table_size(w.relation::regclass), w.name;
-- Those that searches and spellings need.
CREATE VIEW gateway.missing_index AS SELECT name, relation, definition FROM gateway.unbuilt_index WHERE searched;

-- Wants an index. Builds the index at once if the table is small, because a build of 2 MB takes less than half a second.
CREATE FUNCTION gateway.want_index(p_relation text, p_name text, p_definition text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gateway.wanted_index VALUES (p_name, p_relation, p_definition);
  IF pg_table_size(p_relation::regclass) < 2097152 THEN
    EXECUTE format('CREATE INDEX %I ON %s %s', p_name, p_relation, p_definition);
  END IF;
END $$;

-- The rows that were stored before the search, and whose blocks are not noted yet (19_search_words.sql): the rows of a kind
-- after this position. A kind that has no row here is complete.
CREATE TABLE gateway.unnoted_block (
  kind text PRIMARY KEY,
  relation text NOT NULL,
  tenant bigint NOT NULL DEFAULT 0, site bigint NOT NULL DEFAULT 0, id bigint NOT NULL DEFAULT 0
);

-- Notes the blocks of the next p_rows rows of a kind. Each call is a short transaction, so no writer waits for long.
-- Returns true if rows are left. During the hold of a move it fails and is repeated, because no row may be left out.
CREATE FUNCTION gateway.note_blocks(p_kind text, p_rows integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  u gateway.unnoted_block;
  last record;
BEGIN
  SELECT * INTO u FROM gateway.unnoted_block WHERE kind = p_kind FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  EXECUTE format('WITH n AS MATERIALIZED (
      SELECT tenant, site, id, created_at FROM %s
       WHERE (tenant, site, id) > ($1.tenant, $1.site, $1.id) AND tenant NOT IN (SELECT m.tenant FROM gateway.move m WHERE m.phase = ''moved'') ORDER BY tenant, site, id LIMIT $2
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

-- True if all wanted indexes of a table of the schema platform are built. Null means all tables. Fails otherwise, because a
-- read without the indexes would read the whole table. The search does not wait for the index message_visitor, but an
-- erasure does. Nothing waits for contact_name_folded: until it is built, customer_find counts nobody of the same name.
CREATE FUNCTION gateway.built(p_table text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF EXISTS (SELECT FROM gateway.unbuilt_index m WHERE CASE WHEN p_table IS NULL THEN m.searched
               ELSE m.relation = 'platform.' || p_table AND m.name <> 'contact_name_folded' END)
     OR EXISTS (SELECT FROM gateway.unnoted_block u WHERE p_table IS NULL OR u.relation = 'platform.' || p_table) THEN
    RAISE EXCEPTION 'an index is being built' USING ERRCODE = 'GW503';
  END IF;
  RETURN true;
END $$;

-- Returns true if the index of a table of `platform` is built and can be used.
CREATE FUNCTION gateway.index_built(p_name text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('platform.' || p_name) AND i.indisvalid)
$$;
