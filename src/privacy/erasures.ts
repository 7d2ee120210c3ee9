import { z } from 'zod';
import type { Keyring } from '../auth/keys.ts';
import { jsonOf } from '../core/json.ts';
import { sql } from '../core/sql.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Certificate } from './certificate.ts';
import { openDigest, sealedKey, takeSeal } from './digests.ts';
import { erase, identityOf } from './erase.ts';

/** What must be kept outside of the backups, so that a restored store can erase the same people again. */
const listSchema = z.object({
  /** The key of the digests, under a key of GATEWAY_KEYS. Null if nobody was ever erased. */
  key: z.string().nullable(),
  erasures: z.array(
    z.object({
      erasure_id: z.string().regex(/^era_[a-f0-9]{32}$/),
      time: z.iso.datetime(),
      kind: z.enum(['contact', 'visitor']),
      organization_id: z.string(),
      /** The public id of the person. */
      subject: z.string().regex(/^(ctc|vis)(_[1-9]\d{0,17}){3}$/),
      subject_digest: z.string(),
      /** False: the erasure was killed, or ran when the list was written. */
      finished: z.boolean(),
      reason: z.string(),
      counts: z.record(z.string(), z.number()),
    }),
  ),
  /** What imports and sources must not bring back, by organization. */
  suppressed: z.record(z.string(), z.array(z.string().max(22))),
});
export type ErasureList = z.infer<typeof listSchema>;

/** The list in a text. Undefined if the text is no such list. */
export const parseErasures = (text: string): ErasureList | undefined => listSchema.safeParse(jsonOf(text)).data;

export async function listErasures(db: Database): Promise<ErasureList> {
  const erasures = await db.query<ErasureList['erasures'][number]>(sql`
    SELECT id AS erasure_id, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS time, kind, organization_id,
           subject, subject_digest, finished_at IS NOT NULL AS finished, reason, counts
      FROM gateway.erasure ORDER BY created_at, id`);
  const suppressed = await db.query<{ organization: string; digests: string[] }>(sql`
    SELECT o.public_id AS organization, array_agg(s.digest ORDER BY s.digest) AS digests
      FROM gateway.suppression s JOIN platform.organization o ON o.tenant = s.tenant GROUP BY 1 ORDER BY 1`);
  return {
    key: (await sealedKey(db)) ?? null,
    erasures,
    suppressed: Object.fromEntries(suppressed.map(({ organization, digests }) => [organization, digests])),
  };
}

export interface Repeated {
  /** People who were in the store and are erased again. */
  readonly erased: Certificate[];
  /** The number of people who were not in the store, or were erased in it. */
  readonly absent: number;
  /** Ids under which the store has somebody else. Nobody of them was erased. */
  readonly others: string[];
}

/** Repeats erasures in a store that was restored from an older backup. Safe to repeat. */
export async function repeatErasures(db: Database, keys: Keyring, list: ErasureList): Promise<Repeated> {
  const repeated = { erased: [] as Certificate[], absent: 0, others: [] as string[] }; // the compiler takes [] for never[]
  if (list.key === null) return repeated;
  await takeSeal(db, keys, list.key);
  for (const [organization, digests] of Object.entries(list.suppressed)) {
    await db.query(sql`
      INSERT INTO gateway.suppression (tenant, digest)
      SELECT o.tenant, d FROM platform.organization o CROSS JOIN unnest(${digests}::text[]) AS d WHERE o.public_id = ${organization}
      ON CONFLICT DO NOTHING`);
  }
  const digest = await openDigest(db, async () => keys);
  if (digest === undefined) return repeated;
  // A backup that was taken during an erasure has a part of it.
  const begun = await db.query<Pick<ErasureList['erasures'][number], 'kind' | 'subject' | 'reason'>>(
    sql`SELECT kind, subject, reason FROM gateway.erasure WHERE finished_at IS NULL ORDER BY created_at, id`,
  );
  for (const { kind, subject, reason } of begun) {
    const certificate = await erase(db, keys, { kind, id: subject, reason });
    if (certificate !== undefined) repeated.erased.push(certificate);
  }
  const continued = new Set(begun.map(({ subject }) => subject));
  await leaveIds(db, list);
  for (const { erasure_id: id, time, kind, subject, reason, organization_id, ...rest } of list.erasures) {
    if (continued.has(subject)) continue;
    const identity = await identityOf(db, digest, { kind, id: subject });
    if (identity === undefined) {
      repeated.absent++;
      if (!rest.finished) continue;
      // The certificate stays, although the backup was older.
      await db.query(sql`
        INSERT INTO gateway.erasure (id, tenant, site, native, organization_id, kind, subject, subject_digest, reason, counts, created_at, finished_at)
        SELECT ${id}, split_part(${subject}, '_', 2)::bigint, split_part(${subject}, '_', 3)::bigint, split_part(${subject}, '_', 4)::bigint,
               ${organization_id}, ${kind}, ${subject}, ${rest.subject_digest}, ${reason}, ${JSON.stringify(rest.counts)}::text::jsonb,
               ${time}::text::timestamptz, now()
        ON CONFLICT DO NOTHING`);
    } else if (!(list.suppressed[organization_id] ?? []).includes(identity)) {
      repeated.others.push(subject);
    } else {
      const certificate = await erase(db, keys, { kind, id: subject, reason, as: { id, time } });
      if (certificate !== undefined) repeated.erased.push(certificate);
    }
  }
  return repeated;
}

/** Makes sure that nobody gets the id of an erased person: the backup gives the ids after it again. */
async function leaveIds(db: Database, { erasures }: ErasureList): Promise<void> {
  const subjects = erasures.map(({ kind, subject, organization_id }) => ({ kind, subject, organization_id }));
  await db.query(sql`
    INSERT INTO platform.native_id AS n (tenant, site, kind, last)
    SELECT w.tenant, w.site, s.kind, max(split_part(s.subject, '_', 4)::bigint)
      FROM json_to_recordset(${JSON.stringify(subjects)}::text::json) AS s (kind text, subject text, organization_id text)
      JOIN platform.organization o ON o.public_id = s.organization_id AND o.tenant = split_part(s.subject, '_', 2)::bigint
      JOIN platform.website w ON w.tenant = o.tenant AND w.site = split_part(s.subject, '_', 3)::bigint
     GROUP BY 1, 2, 3
    ON CONFLICT (tenant, site, kind) DO UPDATE SET last = greatest(n.last, excluded.last)`);
}
