import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { metadataUri } from '../../auth/oauth/metadata.ts';
import { isBearer } from '../../auth/tokens.ts';
import type { Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import { SCOPES } from '../../core/scopes.ts';
import type { Tool } from '../../core/tool.ts';
import { asFailure, type Corridor, type Outcome } from '../../gateway/call.ts';
import { isConditional } from '../../gateway/operation-wire.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import { isPresent } from '../../gateway/registry.ts';
import { preferredType } from '../http/accept.ts';
import { readJson } from '../http/body.ts';
import { entityTag, namesTag } from '../http/entity-tag.ts';
import { exchangeOf } from '../http/exchange.ts';
import { noteActor, noteCall, noteRefusal, type RequestHandler } from '../http/records.ts';
import { rateLimit, send, sendNothing, sendProblem } from '../http/reply.ts';
import { bearerOf, headerOf, pathOf, queryOf, refuseAmbiguous, refuseBody, refuseOrigins } from '../http/request.ts';
import { bytesHeaders, readConditions } from './bytes.ts';
import { allowOrigin } from './cross-origin.ts';
import { addBody, readInput } from './input.ts';
import { routesOf } from './routes.ts';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

/**
 * Serves every tool of the registry on its path. False for a path without a tool, so that the next handler answers.
 * `origins` reads the origins that are registered on any credential.
 */
export function restSurface(
  corridor: Corridor,
  baseUrl: string,
  origins = async (): Promise<ReadonlySet<string>> => new Set(),
): RequestHandler {
  const find = routesOf(corridor.registry);
  const resource = metadataUri(baseUrl, 'rest');
  const scope = SCOPES.join(' ');
  const quotaHeaders = (authority: Authority | undefined): OutgoingHttpHeaders =>
    rateLimit(authority && corridor.quotaOf(authority));

  return (request, response, { requestId, record }) => {
    const match = find(pathOf(request));
    if (!match) return false;
    record.surface = 'rest';
    const source = exchangeOf(request);
    const refuse = (failure: Failure, headers: OutgoingHttpHeaders = {}): void => {
      noteRefusal(record, failure);
      sendProblem(request, response, failure, { baseUrl, requestId, resource, scope }, headers);
    };
    let paid: Authority | undefined;
    /**
     * Reports a problem of the body only after the bearer token is checked and its app has paid. So a caller without a
     * valid token learns nothing about the body. MCP has the same order.
     */
    const proved = async (bearer: string, tool: Tool, problem: unknown): Promise<never> => {
      paid = await corridor.admit(bearer, 'rest', source, { tool, problem });
      noteActor(record, paid);
      throw isPresent(tool, paid) ? problem : new Failure('not_found');
    };
    const answer = async (): Promise<void> => {
      if (request.headers.origin !== undefined) {
        const preflight = await allowOrigin(request, response, match.methods, origins);
        if (preflight) return sendNothing(request, response, 204, preflight);
      }
      const tool = match.methods.get(request.method === 'HEAD' ? 'GET' : (request.method ?? ''));
      if (!tool) throw noMethod(match.methods);
      record.operation = tool.name;
      if (tool.effect === 'write') {
        record.does = 'write';
        record.effect = true;
      }
      if (tool.origin) refuseOrigins(request);
      refuseAmbiguous(request);
      const wantsBytes = negotiate(request, tool);
      const { input, problems } = readInput(tool, match.path, queryOf(request));
      const bearer = bearerOf(request);
      if (!tool.body) refuseBody(request, response);
      // Without a well-formed token, a request is refused before its body is read.
      else if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      else {
        const body = await readJson(request, response).catch((problem: unknown) => proved(bearer, tool, problem));
        problems.push(...addBody(tool, input, body));
      }
      const conditions = tool.bytes ? readConditions(request, wantsBytes, input) : undefined;
      const outcome = await corridor.call({
        tool,
        resource: 'rest',
        bearer,
        source,
        input,
        idempotencyKey: headerOf(request.headers, 'idempotency-key'),
        ifMatch: headerOf(request.headers, 'if-match'),
        origin: headerOf(request.headers, 'origin'),
        problems: [...problems, ...(conditions?.problems ?? [])],
        ...(wantsBytes && conditions && { bytes: conditions.bytes }),
      });
      noteCall(record, outcome);
      await render(tool, outcome);
    };
    const render = async (tool: Tool, outcome: Outcome): Promise<void> => {
      const body = 'body' in outcome && tool.status !== 204 ? JSON.stringify(outcome.body) : '';
      const { authority } = outcome;
      const length = Buffer.byteLength(body);
      source?.hold(length);
      if (authority) await corridor.payFor(authority, length, source);
      const headers = { ...quotaHeaders(authority), ...operationHeaders(outcome.operation) };
      if ('failure' in outcome) refuse(outcome.failure, headers);
      else if ('bytes' in outcome) {
        const status = outcome.bytes.size === 0 ? 200 : 206;
        const all = { ...headers, ...bytesHeaders(outcome.bytes) };
        send(request, response, status, BYTES_TYPE, outcome.bytes.bytes, all);
      } else if (tool.status === 204) sendNothing(request, response, 204, headers);
      else {
        const { awaits } = outcome;
        const all = {
          ...headers,
          ...(awaits === undefined ? described(tool, outcome.body, body) : { Location: awaits }),
        };
        const unchanged = isConditional(tool) && namesTag(request.headers['if-none-match'], String(all.ETag));
        if (unchanged) sendNothing(request, response, 304, all);
        else send(request, response, awaits === undefined ? tool.status : 202, JSON_TYPE, body, all, { held: length });
      }
    };
    return answer().catch((error: unknown) => refuse(asFailure(error), quotaHeaders(paid)));
  };
}

const operationHeaders = (operation: OperationState | undefined): OutgoingHttpHeaders =>
  operation
    ? { 'X-Gateway-Operation-Id': operation.id, ...(operation.replayed && { 'Idempotency-Replayed': 'true' }) }
    : {};

/** `text` is the body as JSON. The same bytes have the same tag, so a caller can ask whether an answer has changed. */
const described = (tool: Tool, body: unknown, text: string): OutgoingHttpHeaders => ({
  ...(tool.revision && { ETag: `"${tool.revision(body)}"` }),
  ...(isConditional(tool) && { ETag: entityTag(text) }),
  ...(tool.location && { Location: tool.location(body) }),
});

/** A path whose operations exist only by policy is as an unknown path: who asks with another method is not known yet. */
const noMethod = (methods: ReadonlyMap<string, Tool>): Failure =>
  [...methods.values()].every((tool) => tool.byPolicy)
    ? new Failure('not_found')
    : new Failure('method_not_allowed', { allow: allowed(methods) });

const allowed = (methods: ReadonlyMap<string, Tool>): string[] =>
  [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));

/** True if the caller prefers raw bytes to JSON, the default. Throws `not_acceptable` if the caller accepts neither. */
function negotiate(request: IncomingMessage, tool: Tool): boolean {
  const { accept } = request.headers;
  if (accept === undefined || accept === JSON_TYPE || accept === '*/*') return false;
  const chosen = preferredType(request, tool.bytes ? [JSON_TYPE, BYTES_TYPE] : [JSON_TYPE]);
  if (chosen === false) throw new Failure('not_acceptable');
  return chosen === BYTES_TYPE;
}
