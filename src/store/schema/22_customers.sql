-- The look-up of people by e-mail address and telephone number.

-- The digits that find a telephone number: the last seven, in whatever form the number is written.
CREATE FUNCTION platform.phone_key(number text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT right(regexp_replace(number, '[^0-9]', '', 'g'), 7)
$$;

-- True if two numbers have the same digits, with or without the zeros at the start. At least one of the numbers has no
-- country code that can be read, so a number can equal the end of the other number. The equal part has seven digits or
-- more. These digits can start with a zero that belongs to the number.
CREATE FUNCTION platform.same_phone(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT bool_or(v.a <> '' AND (v.a = v.b OR (least(length(v.a), length(v.b)) >= 7 AND (right(v.a, length(v.b)) = v.b OR right(v.b, length(v.a)) = v.a))))
    FROM (SELECT regexp_replace(one, '[^0-9]', '', 'g') AS a, regexp_replace(other, '[^0-9]', '', 'g') AS b) n
   CROSS JOIN LATERAL (VALUES (n.a, n.b), (ltrim(n.a, '0'), ltrim(n.b, '0'))) AS v (a, b)
$$;

SELECT gateway.want_index('platform.contact', 'contact_email_folded',
  '(tenant, site, lower(email)) WHERE NOT deleted AND email IS NOT NULL');
SELECT gateway.want_index('platform.contact', 'contact_mobile_key',
  '(tenant, site, platform.phone_key(coalesce(mobile_e164, mobile))) WHERE NOT deleted AND coalesce(mobile_e164, mobile) IS NOT NULL');
SELECT gateway.want_index('platform.contact', 'contact_phone_key',
  '(tenant, site, platform.phone_key(coalesce(phone_e164, phone))) WHERE NOT deleted AND coalesce(phone_e164, phone) IS NOT NULL');

-- The query for names of a website in which each word of the text is the start of a word. Null if the text has no word.
CREATE FUNCTION platform.name_query(tenant bigint, site bigint, t text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_agg(quote_literal(word) || ':*', ' & ')::tsquery FROM unnest(platform.starts(tenant, site, t)) AS word
$$;

-- People with the same name, whatever its case (customer_find). The index of words finds all who share a word, and a word such as
-- "Visitor" is in millions of names. Until the index is built, nobody is counted.
SELECT gateway.want_index('platform.contact', 'contact_name_folded',
  '(tenant, site, lower(name)) WHERE NOT deleted AND name IS NOT NULL');
UPDATE gateway.wanted_index SET searched = false WHERE name = 'contact_name_folded';
