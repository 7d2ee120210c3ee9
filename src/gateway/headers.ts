import { wrongParameter } from '../core/failures.ts';
import type { Call } from './contract.ts';

type SentCall = Pick<Call, 'tool' | 'idempotencyKey' | 'ifMatch' | 'origin'>;

/** Undefined if the operation accepts no key, or if the caller sent none. */
export function keyOf({ tool, idempotencyKey: key }: SentCall): string | undefined {
  if (tool.idempotency === 'none') return undefined;
  const parameter = 'Idempotency-Key';
  const expected = '1 to 128 printable ASCII characters without spaces';
  if (key === undefined && tool.idempotency === 'optional') return undefined;
  if (key === undefined) throw wrongParameter('idempotency_key_required', parameter, expected, 'missing');
  if (/^[!-~]{1,128}$/.test(key)) return key;
  throw wrongParameter('invalid_idempotency_key', parameter, expected);
}

/** If-Match can hold an entity tag or a bare number (HT-10). */
export function ifMatchOf({ tool, ifMatch }: SentCall): number | undefined {
  if (!tool.ifMatch) return undefined;
  const parameter = 'If-Match';
  const expected = 'the current revision, such as 3';
  if (ifMatch === undefined) throw wrongParameter('if_match_required', parameter, expected, 'missing');
  const [, tag, bare] = /^(?:"([1-9][0-9]{0,9})"|([1-9][0-9]{0,9}))$/.exec(ifMatch) ?? [];
  const revision = tag ?? bare;
  if (revision === undefined) throw wrongParameter('invalid_parameter', parameter, expected);
  return Number(revision);
}

/** The store later checks that the credential has registered this origin. */
export function originOf({ tool, origin }: SentCall): string | undefined {
  if (!tool.origin) return undefined;
  if (origin === undefined) throw wrongParameter('invalid_request', 'Origin', 'an origin of the credential', 'missing');
  return origin;
}
