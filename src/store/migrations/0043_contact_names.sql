-- People with the same name, whatever its case (customer_find). The index of words finds all who share a word, and a word such as
-- "Visitor" is in millions of names. Until the index is built, nobody is counted.
SELECT gateway.want_index('platform.contact', 'contact_name_folded',
  '(tenant, site, lower(name)) WHERE NOT deleted AND name IS NOT NULL');

-- False: searches and spellings do without the index.
ALTER TABLE gateway.wanted_index ADD COLUMN searched boolean NOT NULL DEFAULT true;
UPDATE gateway.wanted_index SET searched = false WHERE name IN ('message_visitor', 'contact_name_folded');

-- As gateway.missing_index was, which now has only those that searches and spellings need.
CREATE VIEW gateway.unbuilt_index AS
  SELECT w.name, w.relation, w.definition, w.searched
    FROM gateway.wanted_index w
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass(split_part(w.relation, '.', 1) || '.' || w.name)
   WHERE i.indisvalid IS NOT TRUE
   ORDER BY pg_table_size(w.relation::regclass), w.name;
CREATE OR REPLACE VIEW gateway.missing_index AS SELECT name, relation, definition FROM gateway.unbuilt_index WHERE searched;

-- As in 0030, but customer_find does not wait for the new index. An erasure still waits for message_visitor.
CREATE OR REPLACE FUNCTION gateway.built(p_table text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF EXISTS (SELECT FROM gateway.unbuilt_index m WHERE CASE WHEN p_table IS NULL THEN m.searched
               ELSE m.relation = 'platform.' || p_table AND m.name <> 'contact_name_folded' END)
     OR EXISTS (SELECT FROM gateway.unnoted_block u WHERE p_table IS NULL OR u.relation = 'platform.' || p_table) THEN
    RAISE EXCEPTION 'an index is being built' USING ERRCODE = 'GW503';
  END IF;
  RETURN true;
END $$;
