import type { Exported } from './page.ts';

/** A cell of a spreadsheet that begins like this would be a formula. Some programs skip spaces and invisible characters. */
const FORMULA = /^(?:[\s\p{Cf}\p{Cc}]*[=+\-@]|[\t\r])/u;

/** Without it, a spreadsheet reads the file in the encoding of its country. */
const BYTE_ORDER_MARK = '\ufeff';

const text = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? value.map(text).join(' ') : String(value);
};

function cell(value: unknown): string {
  const plain = text(value);
  const safe = FORMULA.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A list as CSV (RFC 4180) or as one JSON object a line. */
export function fileOf({ name, format, columns, rows }: Exported): { type: string; name: string; text: string } {
  if (format === 'ndjson') {
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
    return { type: 'application/x-ndjson', name: `${name}.ndjson`, text: lines.join('') };
  }
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  const csv = lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
  return { type: 'text/csv; charset=utf-8', name: `${name}.csv`, text: `${BYTE_ORDER_MARK}${csv}` };
}
