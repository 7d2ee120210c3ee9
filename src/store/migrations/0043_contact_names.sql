-- People with the same name, whatever its case (customer_find). The index of words finds all who share a word, and a word such as
-- "Visitor" is in millions of names.
SELECT gateway.want_index('platform.contact', 'contact_name_folded',
  '(tenant, site, lower(name)) WHERE NOT deleted AND name IS NOT NULL');

-- As in 0030. Searches do not use the new index, so they do not wait for it either.
CREATE OR REPLACE FUNCTION gateway.built(p_table text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF EXISTS (SELECT FROM gateway.missing_index m
              WHERE p_table IS NULL AND m.name NOT IN ('message_visitor', 'contact_name_folded') OR m.relation = 'platform.' || p_table)
     OR EXISTS (SELECT FROM gateway.unnoted_block u WHERE p_table IS NULL OR u.relation = 'platform.' || p_table) THEN
    RAISE EXCEPTION 'an index is being built' USING ERRCODE = 'GW503';
  END IF;
  RETURN true;
END $$;
