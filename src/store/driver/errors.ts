/**
 * The store cannot be reached now. The connection was refused, lost or ended by the server. The SQL is not at fault.
 */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

// SQLSTATE classes and driver codes for a server that cannot be reached now. Class 08 is a lost connection, 57P0x is a
// shutdown, and 53300 means too many connections.
export const UNREACHABLE =
  /^(08...|57P0[123]|53300|CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOENT|ENOTFOUND|ETIMEDOUT|EBUSY|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

// Error codes for a new connection that could not be opened. The open connections may still work.
export const REFUSED = /^(ENOTFOUND|EAI_AGAIN|53300)$/;

// Two error codes of the gateway itself, when no answer came within time-out and grace. SILENT stands for a silent
// server. QUEUED stands for a long line of waiting statements.
export const SILENT = 'ETIMEDOUT';
export const QUEUED = 'EBUSY';
export const late = (code: string): Error => Object.assign(new Error('no answer in time'), { code });
const WAITED = /^(ETIMEDOUT|EBUSY|CONNECT_TIMEOUT)$/;
// Error codes for a server that does not listen, or that is still starting.
export const DOWN = /^(ECONNREFUSED|ENOENT|57P03)$/;

export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

// SQLSTATE codes for statement and lock time-outs, deadlocks and a read-only server.
const BUSY = /^(57014|55P03|40P01|40001|25006|53...)$/;

/**
 * Returns true when the store could not run the statement now. The data is unharmed, and a later attempt can succeed.
 */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnreachable || BUSY.test(sqlState(error));

/**
 * Returns true when a repeatable statement should be sent again. After a silent server the answer is false, because a
 * second wait would only double the first wait.
 */
export const mayRepeat = (error: unknown): boolean =>
  error instanceof StoreUnreachable && !WAITED.test(sqlState(error.cause));
