import { packageVersion } from '../config/package.js';
/** Opens the export of traces. The packages of OpenTelemetry are loaded only if traces are exported. */
export async function openTracing({ tracing }, log) {
    if (!tracing)
        return undefined;
    const { startTracing } = await import('../observe/tracing.js');
    return startTracing({
        ...tracing,
        version: packageVersion,
        onError: (spans) => log.warn({ spans }, 'traces could not be exported'),
        onComplaint: () => log.warn('OpenTelemetry logged a warning: it cannot use a setting, or it dropped spans'),
    });
}
//# sourceMappingURL=open-tracing.js.map