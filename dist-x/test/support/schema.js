/**
 * Reads what the system catalogue knows about the schemas of the gateway, one part a kind of object. The dump is the same
 * on PostgreSQL 15 and 18, and depends on no number or order of creation, except the order of columns.
 */
export async function dumpSchema(sql) {
    const tables = await sql.unsafe(`SELECT ${relation} AS name FROM pg_class c WHERE c.relnamespace IN (${SCHEMAS}) AND c.relkind = 'r'`);
    // The key of the ledger and times of the migration differ from store to store.
    const rows = tables.map(({ name }) => `SELECT '${name} ' || (to_jsonb(r) - '{key,spent_at,until}'::text[])::text AS line FROM ${name} r`);
    const parts = [];
    for (const [title, query] of [...Object.entries(PARTS), ['Rows of a new store', rows.join(' UNION ALL ')]]) {
        const lines = (await sql.unsafe(query)).map(({ line }) => line);
        // Databases compare names by other collations. The order of the columns is part of the schema.
        if (title !== 'Columns')
            lines.sort();
        parts.push(`-- ${title}\n${lines.join('\n')}`);
    }
    return `${parts.join('\n\n')}\n`;
}
/** PostgreSQL gives smaller numbers to its own objects. */
const OURS = 16384;
const SCHEMAS = `'platform'::regnamespace, 'gateway'::regnamespace`;
const relation = `format('%s.%I', c.relnamespace::regnamespace, c.relname)`;
/** Each query returns the column `line`. */
const PARTS = {
    Relations: `
    SELECT concat_ws(' ', CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' WHEN 't' THEN 'TEMPORARY' END,
             CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' WHEN 'c' THEN 'TYPE' ELSE 'KIND ' || c.relkind::text END,
             ${relation}, 'WITH ' || array_to_string(c.reloptions, ', '), 'TOAST ' || array_to_string(t.reloptions, ', '),
             CASE WHEN c.relkind = 'r' AND c.relreplident <> 'd' THEN 'REPLICA IDENTITY ' || c.relreplident::text END,
             CASE WHEN c.relrowsecurity THEN 'ROW LEVEL SECURITY' END, CASE WHEN c.relforcerowsecurity THEN 'FORCED' END,
             'INHERITS ' || (SELECT string_agg(i.inhparent::regclass::text, ', ' ORDER BY i.inhseqno) FROM pg_inherits i WHERE i.inhrelid = c.oid),
             (SELECT format('AS %s START %s INCREMENT %s MIN %s MAX %s CACHE %s%s', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin,
                            s.seqmax, s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' END) FROM pg_sequence s WHERE s.seqrelid = c.oid),
             'OWNED BY ' || (SELECT d.refobjid::regclass || '.' || a.attname FROM pg_depend d
                               JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND c.relkind = 'S' AND d.deptype IN ('a', 'i'))) AS line
      FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
     WHERE c.relnamespace IN (${SCHEMAS}) AND c.relkind NOT IN ('i', 'I')`,
    Columns: `
    SELECT concat_ws(' ', ${relation} || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
             CASE WHEN a.attcollation <> t.typcollation THEN 'COLLATE ' || a.attcollation::regcollation END,
             CASE WHEN a.attnotnull THEN 'NOT NULL' END,
             CASE WHEN a.attidentity <> '' THEN 'IDENTITY ' || a.attidentity::text END,
             CASE WHEN a.attgenerated = '' THEN 'DEFAULT' ELSE 'GENERATED ' || a.attgenerated::text END || ' ' || pg_get_expr(d.adbin, d.adrelid),
             CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || a.attstorage::text END,
             CASE WHEN a.attcompression <> '' THEN 'COMPRESSION ' || a.attcompression::text END,
             CASE WHEN a.attstattarget >= 0 THEN 'STATISTICS ' || a.attstattarget END,
             'WITH ' || array_to_string(a.attoptions, ', ')) AS line
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace IN (${SCHEMAS}) AND c.relkind NOT IN ('i', 'I', 'S') AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY c.relnamespace::regnamespace::text, c.relname COLLATE "C", a.attnum`,
    // PostgreSQL 18 has a constraint for each NOT NULL. The columns show these.
    Constraints: `
    SELECT format('%s %s: %s', coalesce(nullif(conrelid, 0)::regclass::text, contypid::regtype::text), conname, pg_get_constraintdef(oid)) AS line
      FROM pg_constraint WHERE connamespace IN (${SCHEMAS}) AND contype <> 'n'`,
    Indexes: `
    SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), CASE WHEN NOT i.indisvalid THEN 'INVALID' END,
                     CASE WHEN i.indisclustered THEN 'CLUSTERED' END, CASE WHEN i.indisreplident THEN 'REPLICA IDENTITY' END,
                     (SELECT 'STATISTICS ' || string_agg(a.attnum || ' ' || a.attstattarget, ', ' ORDER BY a.attnum)
                        FROM pg_attribute a WHERE a.attrelid = i.indexrelid AND a.attstattarget >= 0)) AS line
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace IN (${SCHEMAS})`,
    Triggers: `
    SELECT concat_ws(' ', pg_get_triggerdef(t.oid), CASE WHEN t.tgenabled <> 'O' THEN 'ENABLED ' || t.tgenabled::text END) AS line
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE NOT t.tgisinternal AND c.relnamespace IN (${SCHEMAS})`,
    Types: `
    SELECT concat_ws(' ', format('%s.%I', t.typnamespace::regnamespace, t.typname), t.typtype,
                     nullif(t.typbasetype, 0)::regtype, t.typdefault,
                     (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid)) AS line
      FROM pg_type t WHERE t.typnamespace IN (${SCHEMAS}) AND t.typtype NOT IN ('b', 'c')`,
    // Comments are part of the catalogue. So are grants: an empty part says that there are none.
    Comments: `
    SELECT format('%s %s: %s', o.type, o.identity, d.description) AS line
      FROM pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) o
     WHERE d.objoid >= ${OURS}`,
    Grants: `
    SELECT g.what || ': ' || g.acl AS line FROM (
      SELECT 'SCHEMA ' || nspname, nspacl::text FROM pg_namespace WHERE oid IN (${SCHEMAS})
      UNION ALL SELECT c.oid::regclass::text, c.relacl::text FROM pg_class c WHERE c.relnamespace IN (${SCHEMAS})
      UNION ALL SELECT ${relation} || '.' || a.attname, a.attacl::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                 WHERE c.relnamespace IN (${SCHEMAS})
      UNION ALL SELECT oid::regprocedure::text, proacl::text FROM pg_proc WHERE pronamespace IN (${SCHEMAS})
      UNION ALL SELECT oid::regtype::text, typacl::text FROM pg_type WHERE typnamespace IN (${SCHEMAS})
      UNION ALL SELECT 'DEFAULT ' || defaclobjtype::text || ' ' || defaclnamespace::regnamespace, defaclacl::text FROM pg_default_acl
                 WHERE defaclnamespace IN (0, ${SCHEMAS})) AS g (what, acl)
     WHERE g.acl IS NOT NULL`,
    // Policies, rules, statistics, operators and the like. The gateway has none of them.
    'Other objects': `
    SELECT DISTINCT format('%s %s', o.type, o.identity) AS line
      FROM pg_depend d, pg_identify_object(d.classid, d.objid, d.objsubid) o
     WHERE d.objid >= ${OURS} AND d.classid NOT IN ('pg_class'::regclass, 'pg_type'::regclass, 'pg_proc'::regclass, 'pg_constraint'::regclass,
                             'pg_trigger'::regclass, 'pg_attrdef'::regclass)
       AND NOT (o.type = 'rule' AND o.identity LIKE '"_RETURN" %')
       AND (d.refclassid = 'pg_namespace'::regclass AND d.refobjid IN (${SCHEMAS})
            OR d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM pg_class WHERE relnamespace IN (${SCHEMAS})))
    `,
    // PostgreSQL 15 writes the name of the only table before each column of a view.
    Views: `
    SELECT format(E'CREATE VIEW %s AS\\n%s\\n', ${relation}, regexp_replace(pg_get_viewdef(c.oid), '\\m(' || v.tables || ')\\.', '', 'g')) AS line
      FROM pg_class c CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT r.relname, '|') AS tables
          FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
          JOIN pg_class r ON d.refclassid = 'pg_class'::regclass AND r.oid = d.refobjid
         WHERE w.ev_class = c.oid AND r.oid <> c.oid) v
     WHERE c.relnamespace IN (${SCHEMAS}) AND c.relkind = 'v'`,
    Functions: `
    SELECT pg_get_functiondef(p.oid) AS line FROM pg_proc p
     WHERE p.pronamespace IN (${SCHEMAS}) AND p.prokind IN ('f', 'p')`,
};
//# sourceMappingURL=schema.js.map