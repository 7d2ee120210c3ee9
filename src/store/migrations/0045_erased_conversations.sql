-- An erased conversation counts as changed. So a consumer that reads conversations in the order of their changes finds it.

-- As in 0018: if the trigger does not get its lock soon, the migration gives up, and the gateway tries again.
LOCK TABLE platform.conversation IN SHARE UPDATE EXCLUSIVE MODE;
SELECT set_config('lock_timeout', '400ms', true);

CREATE FUNCTION platform.conversation_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.updated_at := platform.next_change(OLD.updated_at);
  RETURN NEW;
END $$;
CREATE TRIGGER conversation_erased BEFORE UPDATE OF external_id ON platform.conversation FOR EACH ROW
  WHEN (NEW.external_id LIKE 'erased:%' AND NEW.external_id <> OLD.external_id) EXECUTE FUNCTION platform.conversation_erased();
