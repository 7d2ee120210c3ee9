-- A consent keeps the flags and restrictions that its page has shown. What its tokens may do is what both the consent and its
-- credential hold (src/store/credentials.ts): a credential that is widened afterwards adds nothing.
ALTER TABLE gateway.consent
  ADD COLUMN data_access text[],
  ADD COLUMN channel_ids text[],                        -- null: was not restricted, as in gateway.credential
  ADD COLUMN team_ids text[],
  ADD COLUMN subsite_ids text[];

-- Nobody knows what older pages have shown. From here on their consents are held to what the credential has now.
UPDATE gateway.consent c
   SET data_access = k.data_access, channel_ids = k.channel_ids, team_ids = k.team_ids, subsite_ids = k.subsite_ids
  FROM gateway.credential k WHERE k.id = c.credential_id;
ALTER TABLE gateway.consent ALTER COLUMN data_access SET NOT NULL;

-- By a trigger, so that it also holds for consents that a replica of the version before records. Whoever records one holds
-- the credential's row at the revision that the page has shown.
CREATE FUNCTION gateway.consent_given() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT k.data_access, k.channel_ids, k.team_ids, k.subsite_ids
    INTO NEW.data_access, NEW.channel_ids, NEW.team_ids, NEW.subsite_ids
    FROM gateway.credential k WHERE k.id = NEW.credential_id;
  RETURN NEW;
END $$;
CREATE TRIGGER consent_given BEFORE INSERT ON gateway.consent FOR EACH ROW EXECUTE FUNCTION gateway.consent_given();
