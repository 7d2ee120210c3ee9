import { type Options, Presets, SingleBar } from 'cli-progress';
import type { Progress } from '../sources/engine/apply.ts';

export interface ProgressReport {
  show(progress: Progress): void;
  end(): void;
}

/** The shortest time (ms) between two plain lines of progress. The last line of a phase is always written. */
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
    end: () => {
      if (phase !== '') single.stop();
      phase = '';
    },
  };
}

function lines(stream: NodeJS.WriteStream): ProgressReport {
  let last = performance.now();
  return {
    show: ({ phase, done, total }) => {
      const now = performance.now();
      const ended = total !== null && done >= total && total > 0;
      if (!ended && now - last < QUIET) return;
      last = now;
      const unit = phase === 'read' ? 'bytes' : 'records';
      const known = total !== null && total > 0;
      const share = known ? `${done} of ${total} ${unit} (${Math.floor((100 * done) / total)}%)` : `${done} ${unit}`;
      stream.write(`${phase}: ${share}\n`);
    },
    end: () => undefined,
  };
}
