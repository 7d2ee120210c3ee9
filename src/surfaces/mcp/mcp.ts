import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { metadataUri } from '../../auth/oauth/metadata.ts';
import { isBearer } from '../../auth/tokens.ts';
import { Failure } from '../../core/failures.ts';
import { BODY_BYTES } from '../../core/limits.ts';
import { SCOPES } from '../../core/scopes.ts';
import { ALL_TOOLS, readSelection, TOOLSETS } from '../../core/toolsets.ts';
import { asFailure, type Corridor } from '../../gateway/call.ts';
import { preferredType } from '../http/accept.ts';
import { readBody, requireJson } from '../http/body.ts';
import { calledLoopback } from '../http/client-address.ts';
import { exchangeOf } from '../http/exchange.ts';
import { noteCall, noteRefusal, type RequestHandler } from '../http/records.ts';
import { rateLimit, send, sendNothing, sendProblem } from '../http/reply.ts';
import { atEndpoint, bearerOf, refuseAmbiguous, refuseQuery } from '../http/request.ts';
import { METHOD_NOT_FOUND, PARSE_ERROR, type RequestId, RpcError, readMessage } from '../jsonrpc/envelope.ts';
import { eraOf, isModern } from './era.ts';
import { McpRequest } from './request.ts';
import { openRpc, type RpcOptions } from './rpc.ts';
import { stepUp } from './step-up.ts';
import { ASSUMED, MODERN } from './versions.ts';

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';
const UNKNOWN_SET = `The address names a set of tools that does not exist. The sets are ${TOOLSETS.join(', ')}.`;
/** The Accept header of nearly every client. */
const BOTH = `${JSON_TYPE}, ${STREAM_TYPE}`;

export type McpOptions = Omit<RpcOptions, 'registry'>;

/**
 * The MCP endpoint: Streamable HTTP with POST only, plain JSON and no session. Only a valid request reaches its method.
 * The order of the checks: origin, method, query, bearer, headers, body, version.
 *
 * A problem of the headers or the body is reported only after the store has verified the bearer token. The conformance
 * test passes another `open`, because the public suite calls tools of its own behind this gate.
 */
export function mcpSurface(corridor: Corridor, options: McpOptions, open = openRpc): RequestHandler {
  const dispatch = open({ ...options, registry: corridor.registry });
  const own = new URL(options.baseUrl);
  const resource = metadataUri(options.baseUrl, 'mcp');

  return (request, response, { requestId, record }) => {
    const at = atEndpoint(request, '/mcp');
    const selection = at && readSelection(at.below);
    if (!selection) return false;
    record.surface = 'mcp';
    const source = exchangeOf(request);
    record.operation = 'mcp';
    let mcpRequest: McpRequest | undefined;
    const headers = (): OutgoingHttpHeaders => rateLimit(mcpRequest?.quota);
    const refuse = (failure: Failure): void => {
      noteRefusal(record, failure);
      const context = { baseUrl: options.baseUrl, requestId, resource, scope: SCOPES.join(' ') };
      sendProblem(request, response, failure, context, headers());
    };
    const answerWith = (status: number, text: string): void => {
      const challenge = mcpRequest && stepUp(mcpRequest, resource);
      send(request, response, challenge ? 403 : status, JSON_TYPE, text, { ...headers(), ...challenge });
    };
    const reply = (status: number, message: object): void => answerWith(status, JSON.stringify(message));
    // Without a readable id, the older versions send null, as JSON-RPC says. MCP 2026-07-28 leaves it out.
    const replyError = (status: number, error: RpcError, id?: RequestId): void => {
      record.code = String(error.code);
      reply(status, {
        jsonrpc: '2.0',
        ...((id !== undefined || !isModern(request.headers)) && { id: id ?? null }),
        error: { code: error.code, message: error.message, ...(error.data !== undefined && { data: error.data }) },
      });
    };

    const answer = async (): Promise<void> => {
      refuseAmbiguous(request);
      refuseForeign(request, own);
      if (request.method !== 'POST') throw new Failure('method_not_allowed', { allow: ['POST'] });
      refuseQuery(at.query);
      const bearer = bearerOf(request);
      if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      const selected = selection === 'unknown' ? ALL_TOOLS : selection;
      mcpRequest = new McpRequest(corridor, bearer, requestId, ASSUMED, source, selected);
      const current = mcpRequest;
      /** If `work` finds a problem in the message, checks the bearer token before the problem is reported. */
      const proved = async <T>(work: () => T | Promise<T>): Promise<T> => {
        try {
          return await work();
        } catch (problem) {
          await current.admit();
          throw problem;
        }
      };
      const message = await proved(async () => {
        if (selection === 'unknown') throw new Failure('not_found', { detail: UNKNOWN_SET });
        negotiate(request);
        const body = await readBody(request, response, BODY_BYTES).catch((error: unknown) => {
          throw error instanceof Failure && error.code === 'body_too_large' ? tooLarge() : error;
        });
        const read = readMessage(body);
        const { version, traceparent, readsStructured = false, opensPages, client } = eraOf(request.headers, read);
        current.version = version;
        current.readsStructured = readsStructured;
        current.showsPage = opensPages === true && read.kind === 'request' && !('inputResponses' in read.params);
        if (source && client) source.client = client;
        if (traceparent !== undefined) source?.follow(traceparent);
        return read;
      });
      if (message.kind === 'notification') {
        await current.admit();
        sendNothing(request, response, 202, { ...headers(), 'Content-Length': 0 });
        return;
      }
      try {
        const outcome = await dispatch(message.method, message.params, current);
        noteCall(record, current);
        if (current.writes) record.effect = true;
        const text = withStructured(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcome }), current.structured);
        source?.hold(Buffer.byteLength(text));
        await current.pay();
        answerWith(200, text);
        if ('error' in outcome) record.code = String(outcome.error.code);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        replyError(statusOf(error, current), error, message.id);
      } finally {
        record.operation = current.called ?? 'mcp';
        if (current.writes) record.does = 'write';
        if (current.failed) noteRefusal(record, current.failed);
      }
    };
    return answer()
      .catch((error: unknown) => {
        if (error instanceof RpcError) replyError(400, error, error.id);
        else refuse(asFailure(error));
      })
      .finally(() => {
        if (mcpRequest) noteCall(record, mcpRequest);
      });
  };
}

/** Adds the structured content to the text of a response, whose last member is the object `result`. */
const withStructured = (text: string, structured: string | undefined): string =>
  structured === undefined ? text : `${text.slice(0, -2)},"structuredContent":${structured}}}`;

/**
 * The HTTP status of a method's error. In MCP 2026-07-28, an unknown method has 404, and an error that MCP itself
 * defines has 400. The older versions answer each readable message with 200.
 */
function statusOf({ code }: RpcError, { version }: McpRequest): number {
  if (version !== MODERN) return 200;
  if (code === METHOD_NOT_FOUND) return 404;
  return code <= FIRST_OF_MCP && code >= LAST_OF_MCP ? 400 : 200;
}

/** The error codes that MCP 2026-07-28 reserves, from the first down to the last. */
const FIRST_OF_MCP = -32020;
const LAST_OF_MCP = -32099;

const tooLarge = (): RpcError => new RpcError(PARSE_ERROR, `The body is larger than ${BODY_BYTES} bytes.`);

/**
 * Refuses requests from foreign web pages. A browser's Origin must be the gateway's own (check MC-03). On loopback,
 * Host must be a loopback name or the gateway's host, against DNS rebinding to 127.0.0.1 (check MC-04).
 */
function refuseForeign(request: IncomingMessage, own: URL): void {
  const { origin, host = '' } = request.headers;
  if (origin !== undefined && origin !== own.origin) throw new Failure('origin_not_allowed');
  const local = /^(::ffff:)?127\.|^::1$/.test(request.socket.localAddress ?? '');
  if (local && host.toLowerCase() !== own.host && !calledLoopback(request)) throw new Failure('origin_not_allowed');
}

function negotiate(request: IncomingMessage): void {
  // MCP requires an Accept header with both JSON and event streams. An absent or empty header is usually `*/*`, so it
  // is refused here.
  const accept = request.headers.accept?.trim() ?? '';
  const both = accept === BOTH || [JSON_TYPE, STREAM_TYPE].every((type) => preferredType(request, [type]) !== false);
  const named = accept !== '' && both;
  if (!named) throw new Failure('not_acceptable');
  requireJson(request);
}
