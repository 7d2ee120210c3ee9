import { createHash } from 'node:crypto';
import type { TableName } from './columns.ts';
import { ALL } from './columns.ts';
import { noteFunction, WATCHED } from './watched.ts';

/** The name of the role when the caller names no other role. */
const ROLE = 'gateway_reader';
export const CHANNEL = 'gateway_outbox';

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const watched = ALL.flatMap(([name]) => {
  const targets = WATCHED[name];
  return targets === undefined ? [] : [noteFunction(name, targets)];
}).join('\n\n');

/** The version of the outbox. It changes with each change of a trigger function. */
export const OUTBOX_VERSION = createHash('sha256').update(watched).digest('hex').slice(0, 16);

/** Writes the GRANT for the columns of one table that this Chatwoot has. */
export const grantFor = (role: string, table: TableName, columns: readonly string[]): string =>
  `GRANT SELECT (${columns.join(', ')}) ON public.${table} TO ${identifier(role)};`;

function reading(role: string): string {
  return ALL.map(([name, { columns, lost }]) => {
    const list = Object.entries(columns);
    const needed = list.filter(([, column]) => column.lost === undefined).map(([column]) => column);
    const extra = list.filter(([, column]) => column.lost !== undefined).map(([column]) => column);
    const perhaps = lost === undefined ? extra : [...needed, ...extra];
    const plain = lost === undefined ? [grantFor(role, name, needed)] : [];
    if (perhaps.length === 0) return plain.join('\n');
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

const outbox = (role: string): string => `
-- Live mode: an outbox in a schema of its own. Triggers write which rows changed, and nothing else. A trigger that
-- fails writes one entry and lets Chatwoot continue. The triggers need no right of Chatwoot's own role.
CREATE SCHEMA IF NOT EXISTS gateway_outbox;
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

-- Compares those of the columns that this Chatwoot has. Only this script uses the function.
CREATE OR REPLACE FUNCTION gateway_outbox.comparison(name text, columns text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(string_agg(format('n.%1$s IS DISTINCT FROM o.%1$s', c), ' OR '), 'false')
    FROM unnest(string_to_array(columns, ',')) c
    JOIN pg_attribute a ON a.attrelid = to_regclass('public.' || name) AND a.attname = split_part(c, '::', 1)
     AND NOT a.attisdropped
$$;
REVOKE ALL ON FUNCTION gateway_outbox.comparison(text, text) FROM PUBLIC;

${watched}

COMMENT ON SCHEMA gateway_outbox IS 'Installation Gateway, version ${OUTBOX_VERSION}';
GRANT USAGE ON SCHEMA gateway_outbox TO ${identifier(role)};
GRANT SELECT, DELETE ON gateway_outbox.change TO ${identifier(role)};
GRANT SELECT, INSERT, UPDATE, DELETE ON gateway_outbox.reader TO ${identifier(role)};
`;

/**
 * Writes the SQL that a database administrator runs in Chatwoot's database. The script can run again at any time. The
 * role can read only the columns that the gateway uses.
 */
export function chatwootGrants({ role = ROLE, mode }: { role?: string; mode: 'poll' | 'live' }): string {
  return `-- Gives the Installation Gateway the right to read Chatwoot. Run this script in Chatwoot's database, as a superuser
-- or as the owner of Chatwoot's tables with the right to make roles. The script can run again at any time.
-- Do not run the script in one transaction: each CREATE TRIGGER locks its table for writers until the end.
SET lock_timeout = '5s';

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
RESET lock_timeout;

-- To remove everything that this script makes, run these statements in Chatwoot's database:
--   DROP SCHEMA IF EXISTS gateway_outbox CASCADE;
--   DROP OWNED BY ${identifier(role)};
--   DROP ROLE ${identifier(role)};
`;
}
