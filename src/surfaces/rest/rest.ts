import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import accepts from 'accepts';
import { metadataUri } from '../../auth/oauth/metadata.ts';
import type { Authority } from '../../core/authority.ts';
import type { Surface } from '../../core/calls.ts';
import { Failure } from '../../core/failures.ts';
import type { Tool } from '../../core/tool.ts';
import { type AuditKind, doesOf } from '../../gateway/audit.ts';
import { asFailure, type Corridor, type Outcome } from '../../gateway/call.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import type { OperationState } from '../../gateway/writes.ts';
import { readJson } from '../http/body.ts';
import { rateLimit, send, sendNothing, sendProblem } from '../http/reply.ts';
import { bearerOf, refuseAmbiguous, refuseBody, refuseOrigins } from '../http/request.ts';
import { bytesHeaders, readConditions } from './bytes.ts';
import { addBody, readInput } from './input.ts';
import { routesOf } from './routes.ts';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';
/** A page of messages can reach 10 MB; readers that take nothing must not fill the memory before they are cut off. */
const HELD = 64 * 1024 * 1024;

/** What the log says of a request: never a path, a query or a value. */
export interface RequestRecord {
  /** Whose it is; `public` where nobody says so. */
  surface?: Surface;
  operation?: string;
  code?: string;
  credential?: string;
  /** By which a person let the caller act. */
  consent?: string;
  cause?: unknown;
  /** What the audit calls it where nothing stops it (checks, LG-02). */
  does?: AuditKind | undefined;
  /** Further ids of who did something to what. */
  audit?: Readonly<Record<string, string | boolean>>;
}

export interface RestContext {
  readonly requestId: string;
  readonly record: RequestRecord;
}

/** False: the path is not its own. A promise is the end of its work, which the answer may come before. */
export type RestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RestContext,
) => boolean | Promise<void>;

/** Who called, and what a write is known by: what every surface notes of a call. */
export function noteCall(
  record: RequestRecord,
  {
    authority,
    operation,
  }: { readonly authority?: Authority | undefined; readonly operation?: OperationState | undefined },
): void {
  if (authority) noteActor(record, authority);
  if (operation) record.audit = { operation_id: operation.id, ...(operation.replayed && { replayed: true }) };
}

export function noteActor(record: RequestRecord, { credentialId, consentId }: Authority): void {
  record.credential = credentialId;
  if (consentId !== null) record.consent = consentId;
}

export function noteRefusal(record: RequestRecord, failure: Failure): void {
  const { code, details } = failure;
  record.code = code;
  record.cause = details.cause;
  // Whose token it was that is no good any more.
  if (details.credential !== undefined) record.credential ??= details.credential;
  record.does = doesOf(failure, record.does);
}

/**
 * The REST facade: every tool of the registry under its path. Returns whether the path is one of ours, so that the
 * application behind it answers the others.
 */
export function restSurface(corridor: Corridor, baseUrl: string): RestHandler {
  const find = routesOf(corridor.registry);
  const resource = metadataUri(baseUrl, 'rest');

  // Bytes of replies that their readers have not taken yet, of all requests together.
  let held = 0;

  return (request, response, { requestId, record }) => {
    const url = request.url ?? '';
    const cut = url.indexOf('?');
    const match = find(cut === -1 ? url : url.slice(0, cut));
    if (!match) return false;
    record.surface = 'rest';
    const refuse = (failure: Failure, headers: OutgoingHttpHeaders = {}): void => {
      noteRefusal(record, failure);
      const tokenSent = request.headers.authorization !== undefined;
      sendProblem(request, response, failure, { baseUrl, requestId, resource, tokenSent }, headers);
    };
    let quota: QuotaState | undefined;
    /** What is wrong with a body is told, and costs, when the bearer is proved: as on MCP (CONTRIBUTING, 3 and 14). */
    const proved = async (bearer: string, problem: unknown): Promise<never> => {
      const admission = await corridor.admit(bearer, 'rest');
      noteActor(record, admission.authority);
      ({ quota } = admission);
      throw problem;
    };
    const answer = async (): Promise<void> => {
      const tool = match.methods.get(request.method === 'HEAD' ? 'GET' : (request.method ?? ''));
      if (!tool) throw new Failure('method_not_allowed', { allow: allowed(match.methods) });
      record.operation = tool.name;
      if (tool.effect === 'write') record.does = 'write';
      if (tool.origin) refuseOrigins(request);
      refuseAmbiguous(request);
      const wantsBytes = negotiate(request, tool);
      const { input, problems } = readInput(tool, match.path, cut === -1 ? '' : url.slice(cut + 1));
      const bearer = bearerOf(request);
      if (!tool.body) refuseBody(request, response);
      // Without a token nobody's body is waited for.
      else if (bearer === undefined) throw new Failure('unauthenticated');
      else {
        const body = await readJson(request, response).catch((problem: unknown) => proved(bearer, problem));
        problems.push(...addBody(tool, input, body));
      }
      const conditions = tool.bytes ? readConditions(request, wantsBytes, input) : undefined;
      const outcome = await corridor.call({
        tool,
        resource: 'rest',
        bearer,
        input,
        idempotencyKey: header(request, 'idempotency-key'),
        ifMatch: header(request, 'if-match'),
        origin: header(request, 'origin'),
        problems: [...problems, ...(conditions?.problems ?? [])],
        ...(wantsBytes && conditions && { bytes: conditions.bytes }),
      });
      noteCall(record, outcome);
      render(tool, outcome);
    };
    const reply = (status: number, type: string, body: string | Uint8Array, headers: OutgoingHttpHeaders): void => {
      if (response.destroyed) return;
      const length = Buffer.byteLength(body);
      if (held > 0 && held + length > HELD) {
        refuse(new Failure('service_unavailable', { retryAfter: 1 }), headers);
        return;
      }
      held += length;
      response.once('close', () => {
        held -= length;
      });
      send(request, response, status, type, body, headers);
    };
    const render = (tool: Tool, outcome: Outcome): void => {
      const headers = { ...rateLimit(outcome.quota), ...operationHeaders(outcome.operation) };
      if ('failure' in outcome) refuse(outcome.failure, headers);
      else if ('bytes' in outcome) {
        const status = outcome.bytes.size === 0 ? 200 : 206;
        reply(status, BYTES_TYPE, outcome.bytes.bytes, { ...headers, ...bytesHeaders(outcome.bytes) });
      } else if (tool.status === 204) sendNothing(response, headers);
      else
        reply(tool.status, JSON_TYPE, JSON.stringify(outcome.body), { ...headers, ...described(tool, outcome.body) });
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

/** A header that Node has not joined: it is refused where it is sent twice. */
function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

const allowed = (methods: ReadonlyMap<string, Tool>): string[] =>
  [...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));

/** Whether the caller prefers raw bytes. JSON is what every operation speaks, and what nobody has to ask for. */
function negotiate(request: IncomingMessage, tool: Tool): boolean {
  const { accept } = request.headers;
  if (accept === undefined || accept === JSON_TYPE || accept === '*/*') return false;
  const chosen = accepts(request).type(tool.bytes ? [JSON_TYPE, BYTES_TYPE] : [JSON_TYPE]);
  if (chosen === false) throw new Failure('not_acceptable');
  return chosen === BYTES_TYPE;
}
