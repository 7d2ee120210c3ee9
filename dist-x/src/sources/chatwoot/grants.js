import { createHash } from 'node:crypto';
import { ALL } from './columns.js';
import { noteFunction, WATCHED } from './watched.js';
/** The name of the role when the caller names no other role. */
const ROLE = 'gateway_reader';
export const CHANNEL = 'gateway_outbox';
export const identifier = (name) => `"${name.replaceAll('"', '""')}"`;
const literal = (text) => `'${text.replaceAll("'", "''")}'`;
const watched = ALL.flatMap(([name]) => {
    const targets = WATCHED[name];
    return targets === undefined ? [] : [noteFunction(name, targets)];
}).join('\n\n');
/** The version of the outbox. Any change of a trigger function changes it. */
export const OUTBOX_VERSION = createHash('sha256').update(watched).digest('hex').slice(0, 16);
/** Writes the GRANT for the columns of one table that this Chatwoot has. */
export const grantFor = (role, table, columns) => `GRANT SELECT (${columns.join(', ')}) ON public.${table} TO ${identifier(role)};`;
function reading(role) {
    return ALL.map(([name, { columns, lost }]) => {
        const list = Object.entries(columns);
        const needed = list.filter(([, column]) => column.lost === undefined).map(([column]) => column);
        const extra = list.filter(([, column]) => column.lost !== undefined).map(([column]) => column);
        const perhaps = lost === undefined ? extra : [...needed, ...extra];
        const plain = lost === undefined ? [grantFor(role, name, needed)] : [];
        if (perhaps.length === 0)
            return plain.join('\n');
        // Not every version of Chatwoot has these columns.
        const block = `DO $$ DECLARE list text; BEGIN
  SELECT string_agg(quote_ident(attname), ', ') INTO list FROM pg_attribute WHERE attrelid = to_regclass('public.${name}')
     AND NOT attisdropped AND attname = ANY ('{${perhaps.join(',')}}');
  IF list IS NOT NULL THEN
    EXECUTE format('GRANT SELECT (%s) ON public.${name} TO %I', list, ${literal(role)});
  END IF;
END $$;`;
        return [...plain, block].join('\n');
    }).join('\n');
}
/** The trigger functions of the outbox, as the content of a text array. */
const FUNCTIONS = ALL.flatMap(([name]) => (WATCHED[name] === undefined ? [] : [`note_${name}`])).join(',');
/** The name of the role that owns the outbox of this database, as SQL. Each database has its own role. */
const OWNER = `(SELECT 'gateway_outbox_owner_' || oid FROM pg_database WHERE datname = current_database())`;
/**
 * If somebody prepared the schema, the script could run foreign code, or give it the rights of the triggers. So each
 * step calls this first. One check at the start is not enough, because psql continues after an error by default.
 */
const CHECK = `CREATE OR REPLACE FUNCTION pg_temp.gateway_outbox_owner() RETURNS name LANGUAGE plpgsql AS $check$
DECLARE
  owner_name name := ${OWNER};
  owner_id oid := (SELECT oid FROM pg_roles WHERE rolname = owner_name);
  outbox oid := to_regnamespace('gateway_outbox');
  tables oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = outbox AND relname IN ('change', 'reader'));
  problem text;
BEGIN
  SELECT p INTO problem FROM (
    SELECT format('The role %I has attributes, for example LOGIN. The role must have none. Remove the attributes.', owner_name)
      FROM pg_roles WHERE oid = owner_id
       AND (rolsuper OR rolcanlogin OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
    UNION ALL
    SELECT format('The role %s is a member of the role %s. Revoke this membership.', member::regrole, roleid::regrole)
      FROM pg_auth_members WHERE member = owner_id
        OR (roleid = owner_id AND member <> (SELECT oid FROM pg_roles WHERE rolname = current_user))
    UNION ALL
    SELECT format('The role %I has rights on an object outside of the outbox: %s.', owner_name,
        pg_describe_object(classid, objid, objsubid))
      FROM pg_shdepend
     WHERE refclassid = 'pg_authid'::regclass AND refobjid = owner_id
       AND dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
       AND NOT (classid = 'pg_namespace'::regclass AND objid = outbox)
       AND NOT (classid = 'pg_class'::regclass AND objid IN (SELECT oid FROM pg_class WHERE relnamespace = outbox))
       AND NOT (classid = 'pg_proc'::regclass AND objid IN (SELECT oid FROM pg_proc WHERE pronamespace = outbox))
    UNION ALL
    SELECT format('%s belongs to the role %s. If an older script of the gateway made the schema gateway_outbox, run: '
        'DROP SCHEMA gateway_outbox CASCADE; Then run this script again. Otherwise find out who made the schema.',
        o.name, o.owner::regrole)
      FROM (SELECT 'The schema gateway_outbox' AS name, nspowner AS owner FROM pg_namespace WHERE oid = outbox
        UNION ALL SELECT 'The table gateway_outbox.' || relname, relowner FROM pg_class WHERE relnamespace = outbox AND relkind <> 'i'
        UNION ALL SELECT 'The function gateway_outbox.' || proname, proowner FROM pg_proc WHERE pronamespace = outbox) o
     WHERE o.owner IS DISTINCT FROM owner_id
    UNION ALL
    SELECT format('The schema gateway_outbox holds an object that this script does not know: %s. Find out who made it.',
        pg_describe_object(d.classid, d.objid, d.objsubid))
      FROM pg_depend d
      LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid
      LEFT JOIN pg_constraint n ON d.classid = 'pg_constraint'::regclass AND n.oid = d.objid
     WHERE (d.refclassid = 'pg_namespace'::regclass AND d.refobjid = outbox
        AND (c.relkind = 'r' AND c.relname IN ('change', 'reader') OR c.relkind = 'S' AND c.relname = 'change_seq_seq'
          OR f.proname = ANY ('{${FUNCTIONS}}') AND f.pronargs = 0) IS NOT TRUE)
       OR (d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables)
        AND (c.relkind IN ('i', 'S', 't') OR n.contype IN ('p', 'n')
          OR d.classid IN ('pg_type'::regclass, 'pg_attrdef'::regclass)) IS NOT TRUE)
  ) all_problems (p) LIMIT 1;
  IF problem IS NOT NULL THEN
    RAISE EXCEPTION '%', problem;
  END IF;
  RETURN owner_name;
END $check$;
DO $$ BEGIN PERFORM pg_temp.gateway_outbox_owner(); END $$;`;
const REMOVAL = `--   SET search_path = pg_catalog, pg_temp;
--   DO $$ DECLARE outbox_owner name := ${OWNER};
--   BEGIN
--     EXECUTE format('GRANT %I TO CURRENT_USER', outbox_owner);
--     DROP SCHEMA gateway_outbox CASCADE;
--     EXECUTE format('DROP ROLE %I', outbox_owner);
--   END $$;
`;
const outbox = (role) => `
-- Live mode: an outbox in a schema of its own. Triggers write which rows changed, and nothing else. A trigger that
-- fails writes one entry and lets Chatwoot continue. The triggers need no right of Chatwoot's own role.
-- The outbox belongs to a role that cannot log in. The triggers run with the rights of this role.
DO $outer$
DECLARE
  runner name := current_user;
  outbox_owner name := pg_temp.gateway_outbox_owner();
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = outbox_owner) THEN
    EXECUTE format('CREATE ROLE %I NOLOGIN', outbox_owner);
  END IF;
  IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = runner) THEN
    EXECUTE format('GRANT %I TO %I', outbox_owner, runner);
  END IF;
  EXECUTE format('CREATE SCHEMA IF NOT EXISTS gateway_outbox AUTHORIZATION %I', outbox_owner);
  EXECUTE format('SET LOCAL ROLE %I', outbox_owner);
  CREATE TABLE IF NOT EXISTS gateway_outbox.change (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    id bigint NOT NULL,
    account_id bigint,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX IF NOT EXISTS change_xid ON gateway_outbox.change (xid);
  CREATE TABLE IF NOT EXISTS gateway_outbox.reader (
    name text PRIMARY KEY,
    snapshot pg_snapshot NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  );
  GRANT USAGE ON SCHEMA gateway_outbox TO ${identifier(role)};
  GRANT SELECT, DELETE ON gateway_outbox.change TO ${identifier(role)};
  GRANT SELECT, INSERT, UPDATE, DELETE ON gateway_outbox.reader TO ${identifier(role)};
  EXECUTE format('SET LOCAL ROLE %I', runner);
END $outer$;

${watched}

DO $outer$
DECLARE
  runner name := current_user;
  outbox_owner name := pg_temp.gateway_outbox_owner();
BEGIN
  EXECUTE format('SET LOCAL ROLE %I', outbox_owner);
  COMMENT ON SCHEMA gateway_outbox IS 'Installation Gateway, version ${OUTBOX_VERSION}';
  EXECUTE format('SET LOCAL ROLE %I', runner);
  IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = runner) THEN
    EXECUTE format('REVOKE %I FROM %I', outbox_owner, runner);
  END IF;
END $outer$;
DROP FUNCTION pg_temp.gateway_outbox_owner();
`;
/**
 * Writes the SQL that a database administrator runs in Chatwoot's database, once or several times. It lets the role
 * read only the columns that the gateway uses.
 */
export function chatwootGrants({ role = ROLE, mode }) {
    // A line break would end a comment of the script, and a dollar sign could end a block.
    if (/[\p{Cc}$]/u.test(role))
        throw new Error('the name of the role must not have control characters or dollar signs');
    return `-- Gives the Installation Gateway the right to read Chatwoot. Run this script in Chatwoot's database, as a superuser
-- or as the owner of Chatwoot's tables with the right to make roles. The script can run again at any time.
-- Do not run the script in one transaction: each CREATE TRIGGER locks its table for writers until the end.
-- In psql, use the option -v ON_ERROR_STOP=1. Without this option, psql goes on after an error.
SET lock_timeout = '5s';
-- Chatwoot's own role can make functions in the schema public. The script must not call such a function.
SET search_path = pg_catalog, pg_temp;
${mode === 'live' ? CHECK : ''}

DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN
    CREATE ROLE ${identifier(role)} LOGIN;
  END IF;
END $$;
-- The role has no password yet. Set the password in psql, so that it does not stand in a file:
--   \\password ${identifier(role)}

DO $$ BEGIN
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), ${literal(role)});
END $$;
GRANT USAGE ON SCHEMA public TO ${identifier(role)};
${reading(role)}
${mode === 'live' ? outbox(role) : ''}
RESET search_path;
RESET lock_timeout;

-- To remove everything that this script makes, run these statements in Chatwoot's database:
${mode === 'live' ? REMOVAL : ''}--   DROP OWNED BY ${identifier(role)};
--   DROP ROLE ${identifier(role)};
`;
}
//# sourceMappingURL=grants.js.map