export const cw = (parts, ...values) => parts.reduce((text, part, i) => text + literal(values[i - 1] ?? null) + part);
export const together = (...scripts) => scripts.filter((one) => one !== undefined).join(';\n');
/** Keeps the transaction open here for some seconds. */
export const held = (seconds) => `SELECT pg_sleep(${seconds})`;
/** content_attributes as Rails writes it: encoded twice, so the column holds a JSON string. Others write the object. */
export const attributes = (value, twice = true) => twice ? JSON.stringify(JSON.stringify(value)) : JSON.stringify(value);
/** UTC, with microseconds. */
export function railsTime(ms, micros = 0) {
    return `${new Date(ms).toISOString().slice(0, 23).replace('T', ' ')}${String(micros % 1000).padStart(3, '0')}`;
}
/** Runs the script as one transaction. Returns the rows of the last statement that has rows. */
export async function run(sql, script) {
    const results = await sql.unsafe(script).simple();
    const lists = Array.isArray(results) && results.some(Array.isArray) ? results : [results];
    const last = lists.filter((one) => Array.isArray(one) && one.length > 0).at(-1);
    return (last ?? []); // the caller knows the columns of its own statement
}
/** True if the server or the connection is gone, so that the outcome is unknown. */
export function isLost(error) {
    const code = codeOf(error);
    return /^(08|57P0|53300|CONN|CONNECTION_|ECONN|EPIPE|ENOENT|ETIMEDOUT)/.test(code);
}
/** True if PostgreSQL refused the transaction, which Rails can see too: a deadlock or a duplicate. */
export const isRefused = (error) => /^(40001|40P01|23505|55P03|57014)$/.test(codeOf(error));
function codeOf(error) {
    return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
function literal(value) {
    if (value === null)
        return 'NULL';
    if (typeof value === 'string')
        return `'${value.replaceAll("'", "''")}'`;
    return String(value);
}
//# sourceMappingURL=script.js.map