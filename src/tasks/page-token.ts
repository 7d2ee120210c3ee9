import { createHmac, timingSafeEqual } from 'node:crypto';
import { Failure } from '../core/failures.ts';
import type { TaskPlace } from '../store/tasks/tasks.ts';

const seal = (key: Uint8Array, list: string, place: string): Buffer =>
  createHmac('sha256', key).update(`page ${place} ${list}`).digest().subarray(0, 16);

/** The position of a list's next page, sealed for this list: `{ms}.{task id}.{seal}` in base64url. */
export const pageTokenOf = (key: Uint8Array, list: string, { at, id }: TaskPlace): string => {
  const place = `${at}.${id}`;
  return Buffer.from(`${place}.${seal(key, list, place).toString('base64url')}`).toString('base64url');
};

/** Throws `invalid_cursor` unless `pageTokenOf` has made exactly this token for this list. */
export function placeOf(key: Uint8Array, list: string, token: string): TaskPlace {
  const [, at = '', id = ''] =
    /^(\d{1,15})\.(task_[a-f0-9]{32})\./.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  const place = { at: Number(at), id };
  const [given, due] = [Buffer.from(token), Buffer.from(pageTokenOf(key, list, place))];
  if (given.length !== due.length || !timingSafeEqual(given, due)) throw new Failure('invalid_cursor');
  return place;
}
