import { createHash, randomUUID } from 'node:crypto';
/** The digest of the arguments, which no reader gets. */
export const PLANTED_DIGEST = createHash('sha256').update('arguments').digest();
/** Inserts audit records by SQL, with the partitions that they need. Returns their ids in the order of `records`. */
export async function plantAudit({ sql }, records) {
    const planted = records.map((record, i) => ({
        id: randomUUID(),
        time: new Date(Date.now() - i).toISOString(),
        organization_id: 'org_1',
        surface: 'rest',
        operation: 'contact_get',
        targets: [],
        outcome: 'ok',
        status: 200,
        units: 1,
        duration_ms: 2.5,
        replayed: false,
        input_digest: `\\x${PLANTED_DIGEST.toString('hex')}`,
        ...record,
    }));
    for (const day of new Set(planted.map(({ time }) => time.slice(0, 10)))) {
        await sql.unsafe(`CREATE TABLE IF NOT EXISTS gateway."audit_${day.replaceAll('-', '')}" PARTITION OF gateway.audit
      FOR VALUES FROM ('${day}T00:00:00Z') TO (('${day}'::date + 1)::timestamp AT TIME ZONE 'UTC')`);
    }
    await sql `INSERT INTO gateway.audit
    SELECT * FROM jsonb_populate_recordset(NULL::gateway.audit, ${JSON.stringify(planted)}::text::jsonb)`;
    return planted.map(({ id }) => `aud_${id.replaceAll('-', '')}`);
}
/**
 * Packs the planted records of a credential into blocks, one for each second, or for every second one. Their ids must end
 * with their numbers in the block. The blocks have no valid digest.
 */
export async function packAudit({ sql }, credential, every = 1) {
    const packed = await sql `
    WITH gone AS (DELETE FROM gateway.audit WHERE credential_id = ${credential}
                     AND floor(extract(epoch FROM time))::bigint % ${every}::integer = 0 RETURNING *)
    INSERT INTO gateway.audit_block
    SELECT date_trunc('second', time), (left(min(id::text), 32) || '0000')::uuid, count(*), min(organization_id), min(app_id),
           min(installation_id), credential_id, person_id, min(client_name), min(client_version), min(address), surface, 0,
           array_agg((extract(milliseconds FROM time)::integer % 1000, website_id, operation, targets, count, outcome, status,
                      units, duration_ms, request_id, trace_id, input_digest)::gateway.audit_entry ORDER BY id)::text,
           gen_random_uuid(), count(*), 'none', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex')
      FROM gone GROUP BY 1, credential_id, person_id, surface RETURNING 1`;
    await sql `
    INSERT INTO gateway.audit_target
    SELECT b.time, b.id, x.target, b.credential_id, b.person_id, count(*), count(*) FILTER (WHERE e.outcome <> 'ok'),
           extract(milliseconds FROM min(e.time))::integer % 1000, extract(milliseconds FROM max(e.time))::integer % 1000
      FROM gateway.audit_block b, gateway.audit_expand(b) e, LATERAL (SELECT DISTINCT unnest(e.targets)) x (target)
     WHERE b.credential_id = ${credential} AND NOT EXISTS (SELECT FROM gateway.audit_target t WHERE t.block = b.id) GROUP BY 1, 2, 3, 4, 5`;
    return packed.count;
}
//# sourceMappingURL=planted-audit.js.map