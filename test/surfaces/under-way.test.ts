import fc from 'fast-check';
import { expect, it } from 'vitest';
import { UnderWay } from '../../src/surfaces/http/under-way.ts';

it('holds what was added and not taken out, whatever the order; taking out twice does nothing', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(12), { maxLength: 60 }), (turns) => {
      const all = new UnderWay<number>();
      const model = new Map<number, () => void>();
      const gone: (() => void)[] = [];
      turns.forEach((turn, value) => {
        const [first] = [...model].slice(turn % Math.max(1, model.size));
        if (turn < 6 || !first) model.set(value, all.add(value));
        else {
          first[1]();
          model.delete(first[0]);
          gone.push(first[1]);
        }
        gone.at(-1)?.();
        expect([...all.all()].sort((a, b) => a - b)).toEqual([...model.keys()].sort((a, b) => a - b));
      });
    }),
    { numRuns: 300 },
  );
});
