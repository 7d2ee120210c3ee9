import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { packageVersion } from '../config/package.ts';
import type { Tracing } from '../observe/tracing.ts';

/** Opens the export of traces. The packages of OpenTelemetry are loaded only if traces are exported. */
export async function openTracing({ tracing }: Config, log: Logger): Promise<Tracing | undefined> {
  if (!tracing) return undefined;
  const { startTracing } = await import('../observe/tracing.ts');
  return startTracing({
    ...tracing,
    version: packageVersion,
    onError: (spans) => log.warn({ spans }, 'traces could not be exported'),
    onComplaint: () => log.warn('OpenTelemetry logged a warning: it cannot use a setting, or it dropped spans'),
  });
}
