/** Three websites of one organization and one of another. Website 1 has a row of each kind. All journals are empty. */
export async function plant(sql) {
    // All statements of one script run in one transaction.
    await sql.unsafe(`
    SELECT set_config('gateway.capture', 'off', true);
    INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'one', 'One'), (2, 'two', 'Two');
    INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      SELECT t, s, 'w' || t || s, 'W', 'UTC' FROM (VALUES (1, 1), (1, 2), (1, 3), (2, 1)) AS w (t, s);
    INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
      SELECT tenant, site, n, 'v' || site || n, now() FROM platform.website, generate_series(1, 8) AS n;
    INSERT INTO platform.contact (tenant, site, id, external_id, created_at) VALUES (1, 1, 1, 'c1', now()), (1, 1, 2, 'c2', now());
    INSERT INTO platform.team (tenant, site, id, external_id) VALUES (1, 1, 1, 't1'), (1, 1, 2, 't2');
    INSERT INTO platform.operator (tenant, site, id, external_id, name, role) VALUES (1, 1, 1, 'o1', 'O', 'owner'), (1, 1, 2, 'o2', 'P', 'operator');
    INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, created_at, updated_at)
      SELECT 1, 1, n, 'cnv' || n, n, 'unassigned', 'web', now(), now() FROM generate_series(1, 4) AS n;
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, created_at)
      VALUES (1, 1, 1, 'm1', 1, 'visitor', 'public', 'text', now());
    -- Generated numbers start above every number that a test writes by hand.
    INSERT INTO platform.native_id (tenant, site, kind, last) SELECT tenant, CASE WHEN kind = 'operator' THEN 0 ELSE site END, kind, 1000000 FROM platform.website,
      unnest(ARRAY['visitor', 'contact', 'team', 'operator', 'conversation', 'message']) AS kind ON CONFLICT DO NOTHING;
  `);
}
/** `<website> <type>` for each receipt after the given positions, by website and position. */
export async function receipts(sql, since = new Map()) {
    const rows = await sql `
    SELECT tenant || '_' || site AS website, position, event_type FROM gateway.journal ORDER BY tenant, site, position`;
    return rows
        .filter(({ website, position }) => Number(position) > (since.get(website) ?? 0))
        .map(({ website, event_type }) => `${website} ${event_type}`);
}
export async function heads(sql) {
    const rows = await sql `
    SELECT tenant || '_' || site AS website, position FROM gateway.journal_head`;
    return new Map(rows.map(({ website, position }) => [website, Number(position)]));
}
/** Runs the statements in one transaction. Returns the receipts that they append. */
export async function appended(sql, statements) {
    const before = await heads(sql);
    await sql.unsafe(statements);
    return receipts(sql, before);
}
//# sourceMappingURL=journal.js.map