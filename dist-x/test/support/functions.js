import { expect } from 'vitest';
export const replaced = async (sql, name, from, to) => {
    const [row] = await sql `SELECT pg_get_functiondef(${name}::regproc) AS text`;
    const text = row?.text ?? '';
    const other = text.replace(from, to);
    expect(other).not.toBe(text);
    await sql.unsafe(other);
};
//# sourceMappingURL=functions.js.map