import { createHmac, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.ts';
import type { TaskPlace } from '../store/tasks.ts';

const seal = (key: Uint8Array, list: string, place: string): Buffer =>
  createHmac('sha256', key).update(`page ${place} ${list}`).digest().subarray(0, 16);

/** Where the next page of a list begins, sealed for that very list: `{ms}.{task id}.{seal}` in base64url. */
export const pageTokenOf = (key: Uint8Array, list: string, { at, id }: TaskPlace): string => {
  const place = `${at}.${id}`;
  return Buffer.from(`${place}.${seal(key, list, place).toString('base64url')}`).toString('base64url');
};

/** Throws `invalid_cursor` for what `pageTokenOf` has not made for this list. */
export function placeOf(key: Uint8Array, list: string, token: string): TaskPlace {
  const [, place = '', at = '', id = '', mac = ''] =
    /^((\d{1,15})\.(task_[a-f0-9]{32}))\.([\w-]{22})$/.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  const given = Buffer.from(mac, 'base64url');
  const due = seal(key, list, place);
  if (given.length !== due.length || !timingSafeEqual(given, due)) throw new Failure('invalid_cursor');
  return { at: Number(at), id };
}
