/** The store cannot be reached now: the server has refused, lost or ended the connection. The SQL is not the cause. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

/**
 * The gateway does not go on with the server of somebody else: it breaks the protocol, or the connection is not safe. The
 * message is for the operator and holds no secret.
 */
export class ForeignServerRefused extends Error {
  override readonly name = 'ForeignServerRefused';
  readonly code = 'FOREIGN_SERVER';
}

// Codes that mean: the server cannot be reached now. Class 08 is a lost connection, 57P0x is a shutdown, and 53300
// means too many connections. AT_STANDBY is the gateway's own code for a server that is a standby.
export const UNREACHABLE =
  /^(08...|57P0[123]|53300|AT_STANDBY|CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOENT|ENOTFOUND|ETIMEDOUT|EBUSY|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

// Codes for a new connection that could not be opened. Open connections may still work.
export const REFUSED = /^(ENOTFOUND|EAI_AGAIN|53300|AT_STANDBY)$/;

export const atStandby = (): Error => Object.assign(new Error('the server is a standby'), { code: 'AT_STANDBY' });
export const isStandby = (error: unknown): boolean => sqlState(error) === 'AT_STANDBY';
// The SQLSTATE of a write to a server that is read-only.
export const READ_ONLY = /^25006$/;
// The SQLSTATE of a function that only a primary runs (store/calls/guard.ts).
export const ON_STANDBY = /^55000$/;

// Two codes of the gateway itself, for statements without an answer in time. SILENT: the server does not answer.
// QUEUED: too many statements wait for a connection.
export const SILENT = 'ETIMEDOUT';
export const QUEUED = 'EBUSY';
export const late = (code: string): Error => Object.assign(new Error('no answer in time'), { code });
const WAITED = /^(ETIMEDOUT|EBUSY|CONNECT_TIMEOUT)$/;
// Codes for a server that does not listen or is still starting.
export const DOWN = /^(ECONNREFUSED|ENOENT|57P03)$/;

export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

// SQLSTATEs of statement and lock time-outs, deadlocks, lack of resources, a read-only server, and a function that a
// standby refuses (55000).
const BUSY = /^(57014|55P03|40P01|40001|25006|55000|53...)$/;

/** True when the store could not run the statement now. The data is unharmed, and a later attempt can succeed. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnreachable || BUSY.test(sqlState(error));

/**
 * True when a statement that is safe to repeat should be sent again. False after a silent server, because a second wait
 * would only double the first wait.
 */
export const mayRepeat = (error: unknown): boolean =>
  error instanceof StoreUnreachable && !WAITED.test(sqlState(error.cause));
