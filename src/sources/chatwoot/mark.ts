/**
 * The marks by which the gateway finds its own writes in Chatwoot. Chatwoot knows no idempotency keys, so a mark is part
 * of the data. A mark is the start of the operation's id. Nobody can guess the mark of another operation.
 */

const MARK = /^op_[0-9a-f]{32}/;
const LINE = /\n\n— [^\n]* \[gateway (op_[0-9a-f]{32})\]\s*$/u;

/** The custom attribute of a conversation that holds the disposition. */
export const DISPOSITION = 'gateway_disposition';
/** The custom attribute of a conversation that holds the marks of its last dispositions. */
export const OPERATIONS = 'gateway_operations';
/** The number of marks that a conversation keeps. A later disposition must not hide an earlier one too soon. */
const KEPT = 5;

export function markOf(operationId: string): string {
  const [mark] = MARK.exec(operationId) ?? [];
  if (mark === undefined) throw new Error('an operation id has another form');
  return mark;
}

/** Adds the last line of a note: its author in the gateway and its mark. */
export const marked = (text: string, author: string, mark: string): string =>
  `${text}\n\n— ${author.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()} [gateway ${mark}]`;

/** The text of a note without its last line, if the last line has a mark. */
export const unmarked = (content: string): string => content.replace(LINE, '');

export const markIn = (content: string): string | undefined => LINE.exec(content)?.[1];

/** The value of OPERATIONS after one more disposition. */
export const withMark = (before: unknown, mark: string): string => [...marksOf(before), mark].slice(-KEPT).join(' ');

export const marksOf = (value: unknown): readonly string[] =>
  typeof value === 'string' ? value.split(' ').filter((one) => MARK.test(one)) : [];
