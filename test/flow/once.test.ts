import { expect, it } from 'vitest';
import { once } from '../../src/flow/once.ts';

it('a value is made once, and a promise that failed is made again', async () => {
  let made = 0;
  const value = once(() => ++made);
  expect([value(), value()]).toEqual([1, 1]);

  let asked = 0;
  const loaded = once(async () => {
    if (++asked === 1) throw new Error('no file descriptor is left');
    return asked;
  });
  await expect(loaded()).rejects.toThrow('no file descriptor');
  expect(await Promise.all([loaded(), loaded()])).toEqual([2, 2]);
});
