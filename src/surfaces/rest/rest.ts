import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import accepts from 'accepts';
import { metadataUri } from '../../auth/oauth/metadata.ts';
import { isBearer } from '../../auth/tokens.ts';
import { Failure } from '../../core/failures.ts';
import type { Tool } from '../../core/tool.ts';
import { asFailure, type Corridor, type Outcome } from '../../gateway/call.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import { readJson } from '../http/body.ts';
import { exchangeOf } from '../http/exchange.ts';
import { noteActor, noteCall, noteRefusal, type RequestHandler } from '../http/records.ts';
import { rateLimit, send, sendNothing, sendProblem } from '../http/reply.ts';
import { bearerOf, refuseAmbiguous, refuseBody, refuseOrigins } from '../http/request.ts';
import { bytesHeaders, readConditions } from './bytes.ts';
import { addBody, readInput } from './input.ts';
import { routesOf } from './routes.ts';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

/**
 * The REST surface. The surface serves every tool of the registry on the path of the tool. For a path without a tool,
 * the function returns false, so that the next handler answers.
 */
export function restSurface(corridor: Corridor, baseUrl: string): RequestHandler {
  const find = routesOf(corridor.registry);
  const resource = metadataUri(baseUrl, 'rest');

  return (request, response, { requestId, record }) => {
    const url = request.url ?? '';
    const cut = url.indexOf('?');
    const match = find(cut === -1 ? url : url.slice(0, cut));
    if (!match) return false;
    record.surface = 'rest';
    const source = exchangeOf(request);
    const refuse = (failure: Failure, headers: OutgoingHttpHeaders = {}): void => {
      noteRefusal(record, failure);
      const tokenSent = request.headers.authorization !== undefined;
      sendProblem(request, response, failure, { baseUrl, requestId, resource, tokenSent }, headers);
    };
    let quota: QuotaState | undefined;
    /**
     * Reports a problem of the body, but first checks the bearer token and charges the app of the token. So a caller
     * without a valid token learns nothing about the body. MCP uses the same order.
     */
    const proved = async (bearer: string, problem: unknown): Promise<never> => {
      const admission = await corridor.admit(bearer, 'rest', source);
      noteActor(record, admission.authority);
      ({ quota } = admission);
      throw problem;
    };
    const answer = async (): Promise<void> => {
      const tool = match.methods.get(request.method === 'HEAD' ? 'GET' : (request.method ?? ''));
      if (!tool) throw new Failure('method_not_allowed', { allow: allowed(match.methods) });
      record.operation = tool.name;
      if (tool.effect === 'write') {
        record.does = 'write';
        record.effect = true;
      }
      if (tool.origin) refuseOrigins(request);
      refuseAmbiguous(request);
      const wantsBytes = negotiate(request, tool);
      const { input, problems } = readInput(tool, match.path, cut === -1 ? '' : url.slice(cut + 1));
      const bearer = bearerOf(request);
      if (!tool.body) refuseBody(request, response);
      // A request without a well-formed gateway token is refused before its body is read.
      else if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      else {
        const body = await readJson(request, response).catch((problem: unknown) => proved(bearer, problem));
        problems.push(...addBody(tool, input, body));
      }
      const conditions = tool.bytes ? readConditions(request, wantsBytes, input) : undefined;
      const outcome = await corridor.call({
        tool,
        resource: 'rest',
        bearer,
        source,
        input,
        idempotencyKey: header(request, 'idempotency-key'),
        ifMatch: header(request, 'if-match'),
        origin: header(request, 'origin'),
        problems: [...problems, ...(conditions?.problems ?? [])],
        ...(wantsBytes && conditions && { bytes: conditions.bytes }),
      });
      noteCall(record, outcome);
      await render(tool, outcome);
    };
    const render = async (tool: Tool, outcome: Outcome): Promise<void> => {
      const body = 'body' in outcome && tool.status !== 204 ? JSON.stringify(outcome.body) : '';
      const { authority } = outcome;
      const bytes = Buffer.byteLength(body);
      source?.hold(bytes);
      if (authority) await corridor.payFor(authority, bytes);
      const state = authority ? corridor.quotaOf(authority) : outcome.quota;
      const headers = { ...rateLimit(state), ...operationHeaders(outcome.operation) };
      if ('failure' in outcome) refuse(outcome.failure, headers);
      else if ('bytes' in outcome) {
        const status = outcome.bytes.size === 0 ? 200 : 206;
        const all = { ...headers, ...bytesHeaders(outcome.bytes) };
        send(request, response, status, BYTES_TYPE, outcome.bytes.bytes, all);
      } else if (tool.status === 204) sendNothing(request, response, 204, headers);
      else {
        const all = { ...headers, ...described(tool, outcome.body) };
        send(request, response, tool.status, JSON_TYPE, body, all);
      }
    };
    return answer().catch((error: unknown) => refuse(asFailure(error), rateLimit(quota)));
  };
}

const operationHeaders = (operation: OperationState | undefined): OutgoingHttpHeaders =>
  operation
    ? { 'X-Gateway-Operation-Id': operation.id, ...(operation.replayed && { 'Idempotency-Replayed': 'true' }) }
    : {};

const described = ({ revision, location }: Tool, body: unknown): OutgoingHttpHeaders => ({
  ...(revision && { ETag: `"${revision(body)}"` }),
  ...(location && { Location: location(body) }),
});

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

const allowed = (methods: ReadonlyMap<string, Tool>): string[] =>
  [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));

/**
 * True if the caller prefers raw bytes to JSON. The default is JSON. Throws `not_acceptable` if the caller accepts
 * neither.
 */
function negotiate(request: IncomingMessage, tool: Tool): boolean {
  const { accept } = request.headers;
  if (accept === undefined || accept === JSON_TYPE || accept === '*/*') return false;
  const chosen = accepts(request).type(tool.bytes ? [JSON_TYPE, BYTES_TYPE] : [JSON_TYPE]);
  if (chosen === false) throw new Failure('not_acceptable');
  return chosen === BYTES_TYPE;
}
