import { TABLES } from './columns.js';
const ALWAYS = ['INSERT', 'UPDATE', 'DELETE'];
/** The columns of a table that appear in records, without the columns `except`. */
function mapped(name, except = []) {
    const table = TABLES[name];
    return Object.entries(table.columns)
        .filter(([column, { use }]) => use === 'map' && !except.includes(column))
        .map(([column]) => column);
}
const watch = (name, kind, id, more = {}) => ({
    kind,
    id,
    columns: mapped(name),
    on: ALWAYS,
    ...more,
});
const account = 'account_id';
/** For each watched table of Chatwoot: the entries that its triggers write. */
export const WATCHED = {
    accounts: [watch('accounts', 'accounts', 'id', { account: 'id' })],
    account_users: [watch('account_users', 'members', 'user_id', { account })],
    users: [watch('users', 'users', 'id')],
    teams: [watch('teams', 'teams', 'id', { account })],
    team_members: [watch('team_members', 'users', 'user_id')],
    agent_bots: [watch('agent_bots', 'agent_bots', 'id', { account })],
    captain_assistants: [watch('captain_assistants', 'captain_assistants', 'id', { account })],
    inboxes: [watch('inboxes', 'inboxes', 'id', { account })],
    contacts: [watch('contacts', 'contacts', 'id', { account })],
    contact_inboxes: [watch('contact_inboxes', 'contact_inboxes', 'id')],
    conversations: [
        watch('conversations', 'conversations', 'id', {
            account,
            columns: mapped('conversations', ['contact_last_seen_at']),
        }),
        watch('conversations', 'contact_inboxes', 'contact_inbox_id', {
            account,
            columns: ['contact_inbox_id', 'contact_last_seen_at'],
            when: 'r.contact_last_seen_at IS NOT NULL',
        }),
    ],
    messages: [watch('messages', 'messages', 'id', { account })],
    attachments: [
        watch('attachments', 'attachments', 'id', { account }),
        watch('attachments', 'messages', 'message_id', { account, on: ['INSERT', 'DELETE'] }),
    ],
    active_storage_attachments: [
        watch('active_storage_attachments', 'attachments', 'record_id', { when: `r.record_type = 'Attachment'` }),
    ],
    // Only updates: an attachment is added after a new content, and removed before its content.
    active_storage_blobs: [watch('active_storage_blobs', 'blobs', 'id', { on: ['UPDATE'] })],
    csat_survey_responses: [watch('csat_survey_responses', 'conversations', 'conversation_id')],
    reporting_events: [
        watch('reporting_events', 'conversations', 'conversation_id', { when: `r.name = 'conversation_resolved'` }),
    ],
    notes: [watch('notes', 'notes', 'id', { account })],
    canned_responses: [watch('canned_responses', 'canned_responses', 'id', { account })],
};
export const OPERATIONS = ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'];
export const triggerName = (operation) => `gateway_outbox_${operation.toLowerCase()}`;
const insert = (rows) => `    INSERT INTO gateway_outbox.change (kind, id, account_id)
    ${rows};
    noted := noted OR FOUND;`;
const owned = ({ account: owner }, row) => owner === undefined ? 'NULL::bigint' : `${row}.${owner}`;
/** Writes SQL for the entries of an inserted or deleted row. If two entries name a row, the reader reports it once. */
const whole = (target, rows) => insert(`SELECT '${target.kind}', r.${target.id}, ${owned(target, 'r')} FROM ${rows} r
     WHERE r.${target.id} IS NOT NULL${target.when === undefined ? '' : ` AND ${target.when}`}`);
function comparison(name, { columns }) {
    const table = TABLES[name];
    return columns
        .map((column) => {
        const cast = table.columns[column]?.type === 'json' ? '::text' : '';
        return `n.${column}${cast} IS DISTINCT FROM o.${column}${cast}`;
    })
        .join(' OR ');
}
/**
 * SQL for the entries of an updated row. One join serves all targets, because it takes most of the time. If a foreign
 * key changed, the entries name both rows.
 */
function updated(name, targets) {
    const parts = targets.flatMap((target) => {
        const { kind, id, on, when } = target;
        if (!on.includes('UPDATE'))
            return [];
        const either = when === undefined ? '' : ` AND (${when.replaceAll('r.', 'n.')} OR ${when.replaceAll('r.', 'o.')})`;
        const differs = `(${comparison(name, target)})${either}`;
        const perhaps = (one, two) => `CASE WHEN ${differs} THEN ${id === 'id' ? one : `CASE WHEN n.${id} IS DISTINCT FROM o.${id} THEN ${two} ELSE ${one} END`} ELSE '{}' END`;
        return [
            {
                differs,
                kinds: perhaps(`ARRAY['${kind}']`, `ARRAY['${kind}', '${kind}']`),
                ids: perhaps(`ARRAY[n.${id}::bigint]`, `ARRAY[n.${id}::bigint, o.${id}::bigint]`),
            },
        ];
    });
    const [first] = targets;
    if (parts.length === 0 || first === undefined)
        return '    NULL;';
    const all = (member) => parts.map((part) => part[member]).join('\n      || ');
    return insert(`SELECT x.kind, x.id, x.account_id FROM (
      SELECT unnest(${all('kinds')}) AS kind,
      unnest(${all('ids')}) AS id, ${owned(first, 'n')} AS account_id
      FROM new_rows n JOIN old_rows o ON o.id = n.id WHERE ${parts.map(({ differs }) => `(${differs})`).join(' OR ')}) x
     WHERE x.id IS NOT NULL`);
}
/** Writes the body of a trigger function for one operation. */
function noting(name, targets, operation) {
    if (operation === 'UPDATE')
        return updated(name, targets);
    const rows = operation === 'INSERT' ? 'new_rows' : 'old_rows';
    const all = targets.filter(({ on }) => on.includes(operation)).map((target) => whole(target, rows));
    return all.length === 0 ? '    NULL;' : all.join('\n');
}
/**
 * Writes the statement that makes the trigger function of a table. The statement is a DO block, because the function
 * must not name a column that this Chatwoot does not have. Such a column is NULL in the function.
 *
 * The function belongs to the owner of the outbox and runs with the rights of this role. The owner of Chatwoot's tables
 * can plant a cast or an operator that the function then calls. Such code must not get the rights of a superuser.
 *
 * A failing trigger would break Chatwoot. So each error ends in an entry `lost`, and the readers start over. The
 * function has no nested loops, because PL/pgSQL keeps the plan that it made for one row. This plan compares each new
 * row with each old row, and a bulk update of 20,000 rows would take minutes.
 *
 * When the queue of notifications is full, a transaction with a notification fails at its commit, after the function has
 * ended. Any role can fill the queue. So a queue that is half full gets no more notifications. The reader also looks
 * every second.
 */
export function noteFunction(name, targets) {
    return `DO $outer$
DECLARE
  runner name := current_user;
  outbox_owner name := pg_temp.gateway_outbox_owner();
  missing text;
  definition text := $definition$
CREATE OR REPLACE FUNCTION gateway_outbox.note_${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_nestloop = off AS $body$
DECLARE
  noted boolean := false;
BEGIN
  IF TG_OP = 'INSERT' THEN
${noting(name, targets, 'INSERT')}
  ELSIF TG_OP = 'UPDATE' THEN
${noting(name, targets, 'UPDATE')}
  ELSIF TG_OP = 'DELETE' THEN
${noting(name, targets, 'DELETE')}
  ELSE
    INSERT INTO gateway_outbox.change (kind, id) VALUES ('lost', 0);
    noted := true;
  END IF;
  IF noted AND pg_notification_queue_usage() < 0.5 THEN
    PERFORM pg_notify('gateway_outbox', '');
  END IF;
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN
  BEGIN
    INSERT INTO gateway_outbox.change (kind, id) VALUES ('lost', 0);
  EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
  END;
  RETURN NULL;
END $body$
  $definition$;
BEGIN
  IF to_regclass('public.${name}') IS NULL THEN
    RETURN;
  END IF;
  FOR missing IN SELECT c FROM unnest('{${Object.keys(TABLES[name].columns).join(',')}}'::text[]) c WHERE NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = 'public.${name}'::regclass AND attname = c AND NOT attisdropped)
  LOOP
    definition := regexp_replace(definition, '\\m[nor]\\.' || missing || '\\M', 'NULL', 'g');
  END LOOP;
  EXECUTE format('SET LOCAL ROLE %I', outbox_owner);
  EXECUTE definition;
  REVOKE ALL ON FUNCTION gateway_outbox.note_${name}() FROM PUBLIC;
  EXECUTE format('SET LOCAL ROLE %I', runner);
${OPERATIONS.map((operation) => triggerFor(name, targets, operation)).join('\n')}
END $outer$;`;
}
/** True if the text of a trigger function names the column of a row. */
export const namesColumn = (text, column) => new RegExp(`\\b[nor]\\.${column}\\b`).test(text);
/** The operations that need a trigger: those that a target watches. */
export const triggersOf = (targets) => OPERATIONS.filter((operation) => operation === 'TRUNCATE' || targets.some(({ on }) => on.includes(operation)));
function triggerFor(name, targets, operation) {
    if (!triggersOf(targets).includes(operation))
        return `  -- no trigger for ${operation}`;
    const rows = {
        INSERT: ' REFERENCING NEW TABLE AS new_rows',
        UPDATE: ' REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows',
        DELETE: ' REFERENCING OLD TABLE AS old_rows',
        TRUNCATE: '',
    }[operation];
    const trigger = triggerName(operation);
    // A trigger that exists and works is left as it is. So a second run of the script takes no lock on Chatwoot's tables.
    return `  IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.${name}'::regclass AND tgname = '${trigger}') THEN
    CREATE TRIGGER ${trigger} AFTER ${operation} ON public.${name}${rows}
      FOR EACH STATEMENT EXECUTE FUNCTION gateway_outbox.note_${name}();
  ELSIF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'public.${name}'::regclass AND tgname = '${trigger}' AND tgenabled IN ('D', 'R')) THEN
    ALTER TABLE public.${name} ENABLE TRIGGER ${trigger};
  END IF;`;
}
//# sourceMappingURL=watched.js.map