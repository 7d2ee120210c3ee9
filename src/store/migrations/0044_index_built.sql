-- Returns true if the index of a table of `platform` is built and can be used. OR REPLACE, because stores that were made on
-- 29 November 2026 can have the function from another form of 0043.
CREATE OR REPLACE FUNCTION gateway.index_built(p_name text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('platform.' || p_name) AND i.indisvalid)
$$;
