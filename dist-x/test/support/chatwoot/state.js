import { cw, run } from './script.js';
/** `share`, from 0 to 1, chooses the old rows. */
export async function readState(sql, account, share) {
    // The inner queries read the primary key alone. With the account in them, the planner chose slow plans.
    const sample = (table, columns, here) => {
        const near = (place, order, n) => `SELECT ${columns} FROM (SELECT * FROM ${table} WHERE id ${place} ORDER BY id ${order} LIMIT ${n}) t WHERE ${here}`;
        return `coalesce((SELECT json_agg(x) FROM ((${near(`> (SELECT max(id) - 900 FROM ${table})`, 'DESC', 500)})
      UNION (${near(`>= (SELECT max(id) * ${share}::float8 FROM ${table})::bigint`, '', 150)})) x), '[]')`;
    };
    const own = cw `account_id = ${account}`;
    const ids = (rows) => `(SELECT coalesce(json_agg(i -> 'id'), '[]') FROM json_array_elements(${rows}) i)`;
    const all = (query) => `coalesce((SELECT json_agg(id) FROM (${query} ORDER BY id DESC LIMIT 250) x), '[]')`;
    const [row] = await run(sql, `SELECT json_build_object(
      'contacts', ${ids(sample('contacts', 'id', own))},
      'conversations', ${sample('conversations', 'id, contact_id AS contact, assignee_id AS assignee', own)},
      'messages', ${sample('messages', 'id, conversation_id AS conversation', own)},
      'contactInboxes', ${ids(sample('contact_inboxes', 'id', `inbox_id IN (SELECT id FROM inboxes WHERE ${own})`))},
      'agents', ${all(cw `SELECT user_id AS id FROM account_users WHERE account_id = ${account}`)},
      'teams', ${all(cw `SELECT id FROM teams WHERE account_id = ${account}`)},
      'inboxes', ${all(cw `SELECT id FROM inboxes WHERE account_id = ${account}`)},
      'smallInboxes', ${all(cw `SELECT id FROM inboxes i WHERE account_id = ${account} AND (SELECT count(*) FROM (SELECT FROM conversations WHERE inbox_id = i.id LIMIT 40) c) < 40`)},
      'bots', coalesce((SELECT json_agg(b) FROM (
        ${cw `SELECT id, false AS assistant, account_id IS NOT NULL AS own FROM agent_bots WHERE account_id = ${account} OR account_id IS NULL
        UNION ALL SELECT id, true, true FROM captain_assistants WHERE account_id = ${account}`}) b), '[]')) AS state`);
    if (row === undefined)
        throw new Error(`account ${account} cannot be read`);
    return { account, ...row.state };
}
//# sourceMappingURL=state.js.map