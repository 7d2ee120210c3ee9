import { z } from 'zod';
import { jsonOf } from '../core/json.ts';

export interface CursorKeys {
  /** The name of the key that signs new cursors. */
  readonly kid: string;
  sign(purpose: 'cursor', data: string): { readonly kid: string; readonly mac: Buffer };
  verify(purpose: 'cursor', data: string, signature: { readonly kid: string; readonly mac: Uint8Array }): boolean;
}

/** The content of a cursor: how far a client has read the journals of a subscription. */
export interface CursorState {
  readonly subscription: string;
  readonly revision: number;
  readonly credential: string;
  readonly environment: 'live' | 'test';
  /** By website id: the position up to which the client has read the journal. */
  readonly positions: ReadonlyMap<string, number>;
}

/** In characters. A cursor for fifty websites with ids and positions of full length has 5,200. */
export const CURSOR_MAX = 12_000;
const VERSION = 1;

const Payload = z.strictObject({
  v: z.literal(VERSION),
  kid: z.string(),
  sub: z.string(),
  rev: z.int(),
  crd: z.string(),
  env: z.enum(['live', 'test']),
  positions: z.record(z.string(), z.int().min(0)),
});

/**
 * Writes a cursor: base64url(JSON) "." base64url(HMAC-SHA256 of the text before the dot) (CU-01). Positions are not
 * secret, because each receipt shows its own. A cursor does not expire, but the journal deletes old receipts.
 */
export function writeCursor(keys: CursorKeys, state: CursorState): string {
  const payload: z.output<typeof Payload> = {
    v: VERSION,
    kid: keys.kid,
    sub: state.subscription,
    rev: state.revision,
    crd: state.credential,
    env: state.environment,
    positions: Object.fromEntries(state.positions),
  };
  const text = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${text}.${keys.sign('cursor', text).mac.toString('base64url')}`;
}

/** Verifies and parses a cursor. Undefined unless one of the gateway's keys has signed exactly this text. */
export function readCursor(keys: CursorKeys, cursor: string): CursorState | undefined {
  if (cursor.length > CURSOR_MAX) return undefined;
  const [text = '', signature = '', ...rest] = cursor.split('.');
  const mac = Buffer.from(signature, 'base64url');
  // The last base64url character of a MAC has two unused bits, so several texts decode to the same bytes. Accept only
  // the text that the gateway writes.
  if (rest.length > 0 || mac.toString('base64url') !== signature) return undefined;
  const payload = parse(text);
  // The check of the MAC needs the name of the key, so only this name is read before the check.
  if (payload === undefined || !keys.verify('cursor', text, { kid: payload.kid, mac })) return undefined;
  const { data } = Payload.safeParse(payload);
  return (
    data && {
      subscription: data.sub,
      revision: data.rev,
      credential: data.crd,
      environment: data.env,
      positions: new Map(Object.entries(data.positions)),
    }
  );
}

function parse(text: string): { readonly kid: string } | undefined {
  const value = jsonOf(Buffer.from(text, 'base64url').toString('utf8'));
  return typeof value === 'object' && value !== null && 'kid' in value && typeof value.kid === 'string'
    ? { ...value, kid: value.kid }
    : undefined;
}
