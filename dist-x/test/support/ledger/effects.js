/**
 * Lets triggers write the effects of the writes to an append-only log, in the effect's transaction. The log has no
 * unique constraint, so it also shows an effect that happens twice. The mark of a status or an assignment names the
 * change's time too, which no two changes of a conversation share.
 */
export const LOG_EFFECTS = `
  CREATE TABLE public.effect (operation text, mark text, at timestamptz DEFAULT clock_timestamp());
  CREATE FUNCTION public.effect() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE made jsonb := to_jsonb(NEW);
    BEGIN
      INSERT INTO public.effect VALUES (TG_ARGV[0], made ->> TG_ARGV[1]);
      RETURN NULL;
    END $$;
  CREATE FUNCTION public.change_effect() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.effect VALUES (TG_ARGV[0], concat_ws(' ', to_jsonb(NEW) ->> TG_ARGV[1],
        format('cnv_%s_%s_%s', NEW.tenant, NEW.site, NEW.id),
        to_char(NEW.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
      RETURN NULL;
    END $$;
  CREATE TRIGGER effect AFTER INSERT ON platform.note
    FOR EACH ROW EXECUTE FUNCTION public.effect('visitor_note_add', 'text');
  CREATE TRIGGER effect AFTER INSERT ON platform.message
    FOR EACH ROW EXECUTE FUNCTION public.effect('conversation_reply', 'text');
  CREATE TRIGGER disposed AFTER UPDATE OF disposition ON platform.conversation
    FOR EACH ROW EXECUTE FUNCTION public.effect('conversation_disposition_set', 'disposition');
  -- Only this write sets the column closed_at, and only an assignment sets the column operator_id.
  CREATE TRIGGER set AFTER UPDATE OF closed_at ON platform.conversation
    FOR EACH ROW EXECUTE FUNCTION public.change_effect('conversation_status_set', 'status');
  CREATE TRIGGER assigned AFTER UPDATE OF operator_id ON platform.conversation
    FOR EACH ROW EXECUTE FUNCTION public.change_effect('conversation_assign', 'operator_id');
  GRANT ALL ON public.effect TO PUBLIC;`;
//# sourceMappingURL=effects.js.map