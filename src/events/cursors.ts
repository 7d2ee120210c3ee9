import { z } from 'zod';

/** The part of the operator's keys that cursors need (Keyring in auth/keys.ts). */
export interface CursorKeys {
  /** The name of the key that signs. */
  readonly kid: string;
  sign(purpose: 'cursor', data: string): { readonly kid: string; readonly mac: Buffer };
  verify(purpose: 'cursor', data: string, signature: { readonly kid: string; readonly mac: Uint8Array }): boolean;
}

/** The state of a reader: for each website's journal, the position up to which the reader has read. */
export interface CursorState {
  readonly subscription: string;
  readonly revision: number;
  readonly credential: string;
  readonly environment: 'live' | 'test';
  /** The positions by website id, for every website of the subscription. */
  readonly positions: ReadonlyMap<string, number>;
}

/** The largest length of a cursor in characters. Fifty websites with ids and positions of full length take 5,200. */
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
 * secret, because each receipt shows its own position. A cursor does not expire, but the journal keeps receipts only
 * for a limited time.
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

/**
 * Reads a cursor that one of the gateway's keys has signed. Returns `undefined` for any other text. Another spelling of
 * the same bytes also counts as another text.
 */
export function readCursor(keys: CursorKeys, cursor: string): CursorState | undefined {
  if (cursor.length > CURSOR_MAX) return undefined;
  const [text = '', signature = '', ...rest] = cursor.split('.');
  const mac = Buffer.from(signature, 'base64url');
  // The last base64url character of a MAC has two unused bits. So several spellings give the same bytes, and only one
  // of these spellings is accepted.
  if (rest.length > 0 || mac.toString('base64url') !== signature) return undefined;
  const payload = parse(text);
  // The check of the MAC needs the name of the key, so read the name first. Everything else is read after the check.
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
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null && 'kid' in value && typeof value.kid === 'string'
      ? { ...value, kid: value.kid }
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
