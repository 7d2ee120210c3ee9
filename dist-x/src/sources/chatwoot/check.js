import { raw, sql } from '../../core/sql.js';
import { ALL, PRESENT } from './columns.js';
import { grantFor, identifier, OUTBOX_VERSION } from './grants.js';
import { namesColumn, noteFunction, triggerName, triggersOf, WATCHED } from './watched.js';
/** How much the clocks of Chatwoot's server and of this process may differ, in seconds. */
const CLOCK = 60;
/** The largest number of names in a warning. */
const NAMES = 12;
const OUTBOX_COMMAND = 'gateway source grants chatwoot --mode live';
const refused = (about, text) => ({ level: 'refused', about, text });
const warning = (about, text) => ({ level: 'warning', about, text });
async function serverOf(db) {
    const [row] = await db.read(sql `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
      to_regnamespace('gateway') IS NOT NULL AND to_regclass('public.gateway_migration') IS NOT NULL AS gateway,
      current_user::text AS role, pg_is_in_recovery() AS standby,
      (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
      extract(epoch FROM clock_timestamp())::text AS now`);
    if (row === undefined)
        throw new Error('Chatwoot did not answer the check');
    return row;
}
function schemaFindings(present) {
    return ALL.flatMap(([name, { columns, lost }]) => {
        const names = Object.keys(columns);
        const absent = names.filter((column) => !present.has(`${name}.${column}`));
        if (absent.length === names.length) {
            const text = `Chatwoot has no table ${name}.`;
            return lost === undefined
                ? [refused(name, `${text} The gateway needs this table.`)]
                : [{ level: 'degraded', about: name, text: `${text} The gateway does not read ${lost}.` }];
        }
        return absent.map((column) => {
            const about = `${name}.${column}`;
            const text = `Chatwoot has no column ${about}.`;
            const missed = columns[column]?.lost;
            return missed === undefined
                ? refused(about, `${text} The gateway needs this column.`)
                : { level: 'degraded', about, text: `${text} The gateway does not read ${missed}.` };
        });
    });
}
/** Columns of ordinary tables of all schemas, except those of PostgreSQL and of the outbox. */
const COLUMNS = `pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
   AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'gateway_outbox') AND n.nspname NOT LIKE 'pg\\_%'`;
const READABLE = raw(`SELECT CASE WHEN n.nspname = 'public' THEN '' ELSE n.nspname || '.' END || c.relname || '.' || a.attname AS name,
       has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable
  FROM ${COLUMNS} AND (n.nspname = 'public' OR has_column_privilege(c.oid, a.attnum, 'SELECT'))
 ORDER BY n.nspname, c.relname, a.attnum`);
const WRITABLE = raw(`SELECT DISTINCT CASE WHEN n.nspname = 'public' THEN '' ELSE n.nspname || '.' END || c.relname AS name
  FROM ${COLUMNS} AND (has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE') OR has_table_privilege(c.oid, 'DELETE, TRUNCATE'))
 ORDER BY 1`);
/** Row-level security hides rows without an error. A comparison would then delete the records of these rows. */
const HIDING = raw(`SELECT c.relname AS name FROM pg_class c
 WHERE c.relnamespace = to_regnamespace('public') AND c.relkind IN ('r', 'p')
   AND c.relname IN (${ALL.map(([name]) => `'${name}'`).join(', ')}) AND row_security_active(c.oid) ORDER BY 1`);
/** Columns with such names come first in a warning. */
const SECRET = /\.[a-z_]*(password|token|secret)/;
const some = (names) => names.length <= NAMES ? names.join(', ') : `${names.slice(0, NAMES).join(', ')} and ${names.length - NAMES} more`;
/** Checks that the role can read the columns of the mapping and nothing else. */
async function rightFindings(db, present, { role, superuser }) {
    const rights = await db.read(READABLE);
    const readable = new Set(rights.filter((one) => one.readable).map(({ name }) => name));
    const wanted = new Set(ALL.flatMap(([name, { columns }]) => Object.keys(columns).map((column) => `${name}.${column}`)));
    const findings = ALL.flatMap(([name, { columns }]) => {
        const denied = Object.keys(columns).filter((column) => {
            const about = `${name}.${column}`;
            return present.has(about) && !readable.has(about);
        });
        if (denied.length === 0)
            return [];
        const text = `The role ${role} cannot read ${some(denied)}. Run: ${grantFor(role, name, denied)}`;
        return [refused(denied.length === 1 ? `${name}.${denied[0]}` : name, text)];
    });
    for (const { name } of await db.read(HIDING)) {
        const text = `Row-level security can hide rows of ${name} from the role ${role}. The gateway would delete their records.`;
        findings.push(refused(name, `${text} Run as a superuser: ALTER ROLE ${identifier(role)} BYPASSRLS`));
    }
    if (superuser)
        findings.push(warning('role', `The role ${role} is a superuser. Use a role that only reads.`));
    const extra = [...readable].filter((name) => !wanted.has(name));
    if (extra.length > 0) {
        const first = [...extra.filter((name) => SECRET.test(name)), ...extra.filter((name) => !SECRET.test(name))];
        const text = `The role ${role} can read columns that the gateway does not use: ${some(first)}. Use the role of: gateway source grants chatwoot`;
        findings.push(warning('rights.read', text));
    }
    const writable = (await db.read(WRITABLE)).map(({ name }) => name);
    if (writable.length > 0) {
        findings.push(warning('rights.write', `The role ${role} can write to tables of Chatwoot: ${some(writable)}.`));
    }
    return findings;
}
async function outboxFindings(db, present, { standby, role }) {
    const run = `Run the output of: ${OUTBOX_COMMAND} --role ${role}`;
    if (standby)
        return [refused('outbox', 'The address leads to a standby server. Live mode needs the primary server.')];
    const [outbox] = await db.read(sql `SELECT count(*) = 2 AS tables, obj_description(to_regnamespace('gateway_outbox'), 'pg_namespace') AS version,
        coalesce(bool_and(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
          AND has_table_privilege(c.oid, 'DELETE') AND (c.relname = 'change' OR has_table_privilege(c.oid, 'INSERT')
          AND has_table_privilege(c.oid, 'UPDATE'))), false) AS usable
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = 'gateway_outbox' AND c.relname IN ('change', 'reader') AND c.relkind = 'r'`);
    if (outbox?.tables !== true)
        return [refused('outbox', `Chatwoot has no outbox for live mode. ${run}`)];
    const findings = [];
    if (!outbox.usable)
        findings.push(refused('outbox', `The role ${role} cannot use the outbox. ${run}`));
    if (outbox.version?.includes(OUTBOX_VERSION) !== true) {
        findings.push(refused('outbox', `The outbox is of another version of the gateway. ${run}`));
    }
    const functions = await db.read(sql `SELECT proname AS name, prosrc AS text FROM pg_proc WHERE pronamespace = to_regnamespace('gateway_outbox')`);
    // A trigger that names a missing column only notes `lost`. The source would then compare again and again.
    const stale = ALL.filter(([name, { columns }]) => {
        const text = functions.find((one) => one.name === `note_${name}`)?.text;
        const written = noteFunction(name, WATCHED[name] ?? []);
        return (text !== undefined &&
            Object.keys(columns).some((column) => namesColumn(written, column) && namesColumn(text, column) !== present.has(`${name}.${column}`)));
    }).map(([name]) => name);
    if (stale.length > 0) {
        const text = `The triggers of these tables do not fit the columns of Chatwoot: ${some(stale)}. ${run}`;
        findings.push(refused('outbox', text));
    }
    const triggers = await db.read(sql `SELECT c.relname || '.' || t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
         WHERE c.relnamespace = to_regnamespace('public') AND t.tgname LIKE 'gateway\\_outbox\\_%' AND t.tgenabled IN ('O', 'A')`);
    const enabled = new Set(triggers.map(({ name }) => name));
    const absent = ALL.flatMap(([name, { columns }]) => Object.keys(columns).some((column) => present.has(`${name}.${column}`))
        ? triggersOf(WATCHED[name] ?? [])
            .filter(() => WATCHED[name] !== undefined)
            .map((operation) => `${name}.${triggerName(operation)}`)
        : []).filter((name) => !enabled.has(name));
    if (absent.length > 0)
        findings.push(refused('outbox', `These triggers are missing or off: ${some(absent)}. ${run}`));
    return findings;
}
/** Returns what is wrong with the server. `now` is the time of this process in milliseconds. */
export function serverFindings(server, now) {
    if (server.gateway) {
        return [
            refused('address', 'The address leads to a store of the gateway. Give the address of Chatwoot’s database.'),
        ];
    }
    if (server.version < 130_000) {
        const version = Math.floor(server.version / 10_000);
        return [refused('server', `The server is PostgreSQL ${version}. The gateway needs PostgreSQL 13 or later.`)];
    }
    const findings = [];
    if (server.encoding !== 'UTF8') {
        findings.push(warning('encoding', `The database has the encoding ${server.encoding}. Some texts can be damaged. Use UTF8.`));
    }
    const apart = Math.round(Math.abs(Number(server.now) - now / 1000));
    if (apart > CLOCK) {
        findings.push(warning('clock', `The clocks of Chatwoot’s server and of the gateway differ by ${apart} seconds.`));
    }
    return findings;
}
/** Checks the address, the server, the schema, the rights, the account and the outbox. */
export async function check(db, account, mode) {
    const server = await serverOf(db);
    const findings = [...serverFindings(server, Date.now())];
    if (findings.some(({ level }) => level === 'refused'))
        return findings;
    const present = new Set((await db.read(PRESENT)).map(({ name }) => name));
    findings.push(...schemaFindings(present));
    findings.push(...(await rightFindings(db, present, server)));
    // Without the table, or the right to read it, the search for the account would fail.
    if (!findings.some(({ level, about }) => level === 'refused' && about.startsWith('accounts'))) {
        const [found] = await db.read(sql `SELECT id::text AS id FROM public.accounts WHERE id = ${account}::bigint`);
        if (found === undefined)
            findings.push(refused('account', `Chatwoot has no account ${account}.`));
    }
    if (mode === 'live')
        findings.push(...(await outboxFindings(db, present, server)));
    return findings;
}
//# sourceMappingURL=check.js.map