/** A cell of a spreadsheet that begins like this would be a formula. Some programs skip spaces and invisible characters. */
const FORMULA = /^(?:[\s\p{Cf}\p{Cc}]*[=+\-@]|[\t\r])/u;
const text = (value) => {
    if (value === null || value === undefined)
        return '';
    if (value instanceof Date)
        return value.toISOString();
    return Array.isArray(value) ? value.map(text).join(' ') : String(value);
};
function cell(value) {
    const plain = text(value);
    const safe = FORMULA.test(plain) ? `'${plain}` : plain;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
/** A list as CSV (RFC 4180) or as one JSON object a line. */
export function fileOf({ name, format, rows }) {
    if (format === 'ndjson') {
        const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
        return { type: 'application/x-ndjson', name: `${name}.ndjson`, text: lines.join('') };
    }
    const columns = Object.keys(rows[0] ?? {});
    const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
    const csv = lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
    return { type: 'text/csv; charset=utf-8', name: `${name}.csv`, text: rows.length === 0 ? '' : csv };
}
//# sourceMappingURL=export.js.map