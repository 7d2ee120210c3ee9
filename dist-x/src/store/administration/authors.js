import { sql } from '../../core/sql.js';
/**
 * Makes an operator the author of a credential's writes on a website, in place of an earlier one. Undefined if the
 * operator is unknown or disabled, or if the credential is not granted the website.
 */
export async function mapAuthor(db, { credential, operator }) {
    const [row] = await db.query(sql `
    WITH author AS (
      SELECT c.id AS credential_id, p.tenant, p.site, p.id, p.name
        FROM gateway.credential c
        JOIN gateway.installation i ON i.id = c.installation_id
        JOIN gateway.app a ON a.id = i.app_id
        JOIN platform.operator p ON p.tenant = a.tenant AND p.site = ANY (c.sites) AND p.enabled
       WHERE c.id = ${credential} AND 'opr_' || p.tenant || '_' || p.site || '_' || p.id = ${operator}
    ), mapped AS (
      INSERT INTO gateway.native_author AS n (credential_id, tenant, site, operator_id)
      SELECT credential_id, tenant, site, id FROM author
      ON CONFLICT (credential_id, tenant, site) DO UPDATE SET operator_id = excluded.operator_id, created_at = now()
        WHERE n.operator_id <> excluded.operator_id
    ) SELECT name AS operator_name FROM author`);
    return row;
}
/**
 * Removes the author of a credential's writes on a website. Returns the operator's id, or undefined if there was none.
 */
export async function unmapAuthor(db, { credential, tenant, site }) {
    const [row] = await db.query(sql `
    DELETE FROM gateway.native_author WHERE credential_id = ${credential} AND tenant = ${tenant} AND site = ${site}
    RETURNING 'opr_' || tenant || '_' || site || '_' || operator_id AS operator_id`);
    return row?.operator_id;
}
export async function readAuthors(db, filter) {
    const { credential = null, website = null } = filter;
    return db.query(sql `
    SELECT n.credential_id, 'web_' || n.tenant || '_' || n.site AS website_id,
           'opr_' || n.tenant || '_' || n.site || '_' || n.operator_id AS operator_id, p.name AS operator_name,
           p.enabled AND n.site = ANY (c.sites) AS usable, n.created_at
      FROM gateway.native_author n
      JOIN gateway.credential c ON c.id = n.credential_id
      JOIN platform.operator p ON p.tenant = n.tenant AND p.site = n.site AND p.id = n.operator_id
     WHERE (${credential}::text IS NULL OR n.credential_id = ${credential})
       AND (${website}::text IS NULL OR 'web_' || n.tenant || '_' || n.site = ${website})
     ORDER BY n.credential_id, n.tenant, n.site`);
}
//# sourceMappingURL=authors.js.map