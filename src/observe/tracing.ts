import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import type { CallTrace } from '../core/calls.ts';
import { seldom } from '../flow/seldom.ts';
import { collectorAgent } from '../outbound/collector-agent.ts';
import type { OnStatement } from '../store/driver/watched.ts';

/**
 * OpenTelemetry traces. Each call gets a server span. Each read of the store during the call gets a client span inside
 * it.
 *
 * This file loads the SDK, so import the file only when an endpoint is configured. The SDK itself reads its other
 * settings (OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_BSP_…).
 */
export interface Tracing {
  readonly trace: (traceparent: string | undefined) => CallTrace;
  readonly onStatement: OnStatement;
  /** Sends the remaining spans. Resolves with false if this takes longer than a second. */
  stop(): Promise<boolean>;
}

export interface TracingOptions {
  readonly url: string;
  readonly service: string;
  readonly version: string;
  /** Called at most once a minute, with the number of spans lost by failed exports or dropped from a full queue. */
  readonly onError: (lost: number) => void;
  /**
   * Called at most once a minute when the SDK warns. The warning itself can contain settings, so it is not passed on.
   */
  readonly onComplaint: () => void;
  /** Milliseconds that one export may take. The default is the constant TIMEOUT. */
  readonly timeout?: number;
}

const TIMEOUT = 5_000;
const LAST = 1_000;
const QUIET = 60_000;

export function startTracing(options: TracingOptions): Tracing {
  const { url, service, version, onError, onComplaint, timeout = TIMEOUT } = options;
  const complain = seldom(QUIET, () => onComplaint());
  const unsaid = (): void => undefined;
  diag.setLogger(
    { error: complain, warn: complain, info: unsaid, debug: unsaid, verbose: unsaid },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = telling(
    new OTLPTraceExporter({ url, timeoutMillis: timeout, httpAgentOptions: collectorAgent(2 * timeout) }),
    onError,
  );
  const settings = {
    resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new BatchSpanProcessor(exporter, { exportTimeoutMillis: timeout })],
  };
  const provider = new BasicTracerProvider(settings);
  const tracer = provider.getTracer('installation-gateway', version);
  // Makes the other spans of a sampled call. Samplers such as traceidratio trust the trace id, which a client can
  // choose.
  const sampled = new BasicTracerProvider({ ...settings, sampler: new AlwaysOnSampler() }).getTracer(
    'installation-gateway',
    version,
  );
  const current = new AsyncLocalStorage<{ span: Span }>();

  return {
    trace(traceparent) {
      const parent = contextOf(traceparent);
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      // Which operation was called is known only at the end of the call. So `end` sets the name of the span.
      const startTime = Date.now();
      const call = { span: tracer.startSpan('call', { kind: SpanKind.SERVER }, context) };
      return {
        get id() {
          return call.span.isRecording() ? call.span.spanContext().traceId : undefined;
        },
        run: (work) => current.run(call, work),
        follow(later) {
          const named = parent || !call.span.isRecording() ? undefined : contextOf(later);
          if (!named) return;
          const followed = trace.setSpanContext(ROOT_CONTEXT, { ...named, traceFlags: TraceFlags.SAMPLED });
          // A span cannot get another parent. So a new span replaces the old one, which is never ended and never sent.
          call.span = sampled.startSpan('call', { kind: SpanKind.SERVER, startTime }, followed);
        },
        end({ surface, operation, outcome, status, requestId }) {
          const { span } = call;
          span.updateName(`${surface} ${operation}`);
          span.setAttributes({
            'gateway.surface': surface,
            'gateway.operation': operation,
            'gateway.outcome': outcome,
            'gateway.request_id': requestId,
            'http.response.status_code': status,
          });
          if (status >= 500 || outcome === 'internal') span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    onStatement(pool) {
      const parent = current.getStore()?.span;
      if (!parent?.isRecording()) return () => undefined;
      const span = sampled.startSpan(
        `store ${pool}`,
        { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', 'gateway.pool': pool } },
        trace.setSpan(ROOT_CONTEXT, parent),
      );
      return (failed) => {
        if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      };
    },
    async stop() {
      // Ignore the error of a failed export, because it was already reported.
      const sent = provider.shutdown().then(
        () => true,
        () => false,
      );
      // The exporter's own timer and socket keep the process until then.
      return Promise.race([sent, pause(LAST, false, { ref: false })]);
    },
  };
}

/** The traceparent header of any version except ff (W3C Trace Context, section 3.2), perhaps with more fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Returns the caller's span. For an absent or malformed header, returns `undefined`: the call starts a new trace. */
export function contextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return undefined;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

function telling(exporter: OTLPTraceExporter, onError: (lost: number) => void): SpanExporter {
  let lost = 0;
  const tell = seldom(QUIET, () => {
    onError(lost);
    lost = 0;
  });
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) {
          lost += spans.length;
          tell();
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}
