/** The store cannot be reached now: the server has refused, lost or ended the connection. The SQL is not the cause. */
export class StoreUnreachable extends Error {
  override readonly name = 'StoreUnreachable';
}

/**
 * A foreign server breaks the protocol, or is not safe to connect to. The message is for the operator, without secrets.
 */
export class ForeignServerRefused extends Error {
  override readonly name = 'ForeignServerRefused';
  readonly code = 'FOREIGN_SERVER';
}

/** True if a pooler has refused the settings that the gateway sends. */
export const refusesSettings = ({ cause }: Error): boolean =>
  cause instanceof Error && /unsupported startup parameter/.test(cause.message);

// The server cannot be reached now. Class 08: lost connection. 57P0x: shutdown. 53300: too many connections.
// AT_STANDBY: the gateway's own code for a standby.
export const UNREACHABLE =
  /^(08...|57P0[123]|53300|AT_STANDBY|CONNECTION_(CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN(REFUSED|RESET|ABORTED)|EPIPE|ENOENT|ENOTFOUND|ETIMEDOUT|EBUSY|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

// Codes for a new connection that could not be opened. Open connections may still work.
export const REFUSED = /^(ENOTFOUND|EAI_AGAIN|53300|AT_STANDBY)$/;

export const atStandby = (): Error => Object.assign(new Error('the server is a standby'), { code: 'AT_STANDBY' });
export const isStandby = (error: unknown): boolean => sqlState(error) === 'AT_STANDBY';
/** True if the server has no free connection. Connections that are open work on. */
export const isFull = (error: unknown): boolean => sqlState(error) === '53300';
// The SQLSTATE of a write to a server that is read-only.
export const READ_ONLY = /^25006$/;
// The SQLSTATE of a function that only a primary runs (store/calls/guard.ts).
export const ON_STANDBY = /^55000$/;

export const NO_PRIMARY = new RegExp(`${READ_ONLY.source}|${ON_STANDBY.source}|^AT_STANDBY$`);

// The gateway's own codes for statements without an answer in time. SILENT: none from the server. QUEUED: no free
// connection.
export const SILENT = 'ETIMEDOUT';
export const QUEUED = 'EBUSY';
export const late = (code: string): Error => Object.assign(new Error('no answer in time'), { code });
const WAITED = /^(ETIMEDOUT|EBUSY|CONNECT_TIMEOUT)$/;
// Codes for a server that does not listen or is still starting.
export const DOWN = /^(ECONNREFUSED|ENOENT|57P03)$/;

export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

// Statement and lock time-outs, deadlocks, lack of resources, a read-only server, a function refused by a standby
// (55000), an audit record that cannot be written (GW503), an organization whose writes a move holds (GWMOV).
const BUSY = /^(57014|55P03|40P01|40001|25006|55000|53...|GW503|GWMOV)$/;

/** True if a move holds the writes of an organization of the statement (33_moves.sql). Others can write by themselves. */
export const isHeldByMove = (error: unknown): boolean => sqlState(error) === 'GWMOV';

/** True when the store could not run the statement now. The data is unharmed, and a later attempt can succeed. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnreachable || BUSY.test(sqlState(error));

/**
 * True if a repeatable statement should be sent again, because its connection was lost. Not to a silent server or one
 * that does not listen, because that only doubles the wait.
 */
export const mayRepeat = (error: unknown): boolean =>
  error instanceof StoreUnreachable && ![WAITED, DOWN].some((codes) => codes.test(sqlState(error.cause)));
