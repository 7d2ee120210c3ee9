/**
 * A mark finds a write of the gateway in Chatwoot, which has no idempotency keys. It is part of the data: the start of
 * the operation's id, which nobody can guess.
 */
const MARK = /^op_[0-9a-f]{32}/;
const LINE = /\n\n— [^\n]* \[gateway (op_[0-9a-f]{32})\]\s*$/u;
export const DISPOSITION = 'gateway_disposition';
/** The custom attribute of a conversation with the marks of its last dispositions, statuses and assignments. */
export const OPERATIONS = 'gateway_operations';
/**
 * The member of a message's `content_attributes` with its mark, so that the customer reads the text alone. A mark in
 * `source_id` would keep Chatwoot from sending the message: it then counts as one that the channel itself has sent.
 */
export const OPERATION = 'gateway_operation';
/** How many marks a conversation keeps. If it kept only one, a later write would hide an earlier one too soon. */
const KEPT = 5;
export function markOf(operationId) {
    const [mark] = MARK.exec(operationId) ?? [];
    if (mark === undefined)
        throw new Error('an operation id has another form');
    return mark;
}
/** Adds a last line to a note: the author in the gateway and the mark. */
export const marked = (text, author, mark) => `${text}\n\n— ${author.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()} [gateway ${mark}]`;
/** Removes the last line of a note if it has a mark. */
export const unmarked = (content) => content.replace(LINE, '');
export const markIn = (content) => LINE.exec(content)?.[1];
/** Returns the value of OPERATIONS after one more write. A mark can have a proof behind a colon. */
export const withMark = (before, mark) => [...marksOf(before).filter((one) => !isMarkOf(one, markOf(mark))), mark].slice(-KEPT).join(' ');
const isMarkOf = (one, mark) => one === mark || one.startsWith(`${mark}:`);
/** Finds the mark of an operation, with its proof. */
export const markFor = (value, operationId) => marksOf(value).find((one) => isMarkOf(one, markOf(operationId)));
export const marksOf = (value) => typeof value === 'string' ? value.split(' ').filter((one) => MARK.test(one)) : [];
//# sourceMappingURL=mark.js.map