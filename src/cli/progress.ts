import { type Options, Presets, SingleBar } from 'cli-progress';
import type { Progress } from '../import/import.ts';

/** How far long work is: a bar on a terminal, plain lines elsewhere. On standard error, beside the result. */
export interface ProgressReport {
  show(progress: Progress): void;
  end(): void;
}

/** Milliseconds between plain lines of one phase. */
const QUIET = 5_000;

export const openProgress = (stream: NodeJS.WriteStream = process.stderr): ProgressReport =>
  stream.isTTY === true ? bar(stream) : lines(stream);

function bar(stream: NodeJS.WriteStream): ProgressReport {
  const options: Options = { stream, hideCursor: true, clearOnComplete: true, format: '{bar} {percentage}%  {phase}' };
  const single = new SingleBar(options, Presets.shades_classic);
  let phase = '';
  return {
    show: (progress) => {
      const total = Math.max(progress.total ?? progress.done, 1);
      if (phase === '') single.start(total, progress.done, { phase: progress.phase });
      phase = progress.phase;
      single.setTotal(total);
      single.update(progress.done, { phase });
    },
    end: () => single.stop(),
  };
}

function lines(stream: NodeJS.WriteStream): ProgressReport {
  let phase = '';
  let last = 0;
  return {
    show: (progress) => {
      const now = performance.now();
      if (progress.phase === phase && now - last < QUIET) return;
      phase = progress.phase;
      last = now;
      const { done, total } = progress;
      const share = total === null || total === 0 ? '' : ` (${Math.floor((100 * done) / total)}%)`;
      stream.write(`${phase}: ${done}${total === null ? '' : ` of ${total}`}${share}\n`);
    },
    end: () => undefined,
  };
}
