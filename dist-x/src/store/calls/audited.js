import { sql } from '../../core/sql.js';
/**
 * SQL of `entries`, a JSON list of the ledger's answers, that also inserts the audit record of each write with a draft.
 * Effect and record commit together. `attempt`: a second attempt looks for the record of the first.
 */
export function audited(drafts, attempt, entries) {
    if (drafts.every((draft) => draft === undefined))
        return entries;
    const members = JSON.stringify(drafts.map((draft) => draft?.members ?? null));
    return sql `gateway.audit_writes(${entries}, ${members}::text::jsonb, ${attempt > 1}::boolean)`;
}
/** The same for one write. `entry` is its JSON answer of the ledger. */
export const auditedEntry = (draft, attempt, entry) => draft ? sql `(${audited([draft], attempt, sql `json_build_array(${entry})`)} -> 0)` : entry;
//# sourceMappingURL=audited.js.map