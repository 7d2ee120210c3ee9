import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { A2AError } from '@a2a-js/sdk/errors';
import { metadataUri } from '../../auth/oauth/metadata.ts';
import { isBearer } from '../../auth/tokens.ts';
import type { CallActor, CallReport } from '../../core/audit.ts';
import type { Authority } from '../../core/authority.ts';
import { Failure, type FailureCode, refusesCredential, statusOf, wrongParameter } from '../../core/failures.ts';
import { BODY_BYTES } from '../../core/limits.ts';
import { asFailure, type Corridor } from '../../gateway/call.ts';
import { idsIn } from '../../gateway/call-report.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import { newTaskId } from '../../tasks/tasks.ts';
import { preferredType } from '../http/accept.ts';
import { readBody, requireJson } from '../http/body.ts';
import { exchangeOf } from '../http/exchange.ts';
import { noteActor, noteRefusal, type RequestHandler } from '../http/records.ts';
import { rateLimit, send, sendProblem } from '../http/reply.ts';
import { atEndpoint, bearerOf, headerOf, refuseAmbiguous, refuseQuery } from '../http/request.ts';
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Message,
  PARSE_ERROR,
  type RequestId,
  RpcError,
  readMessage,
} from '../jsonrpc/envelope.ts';
import { namedIn } from './content.ts';
import { type A2aEra, eraOf } from './eras.ts';
import { type A2aRequest, type A2aServices, requestHandler } from './handler.ts';
import { complete, faultOf, LAPSED, type RpcFault } from './refusals.ts';
import { STREAM_TYPE, Stream, type Streams } from './streams.ts';

const JSON_TYPE = 'application/json';
/** Methods that answer with an event stream. Clients call them with the Accept header of one. */
const STREAMING: readonly string[] = [
  ...['SendStreamingMessage', 'SubscribeToTask'],
  // Of version 0.3.
  ...['message/stream', 'tasks/resubscribe'],
];
/** Methods whose log line names the task, with their names there. */
const NAMING: ReadonlyMap<string, string> = new Map([
  ['CancelTask', 'task_cancel'],
  ['SubscribeToTask', 'task_subscribe'],
]);
/** An id of another form can be text of a caller, so it is not logged. */
const TASK = /^task_[a-f0-9]{32}$/;
const CHANGING: readonly string[] = ['SendMessage', 'SendStreamingMessage', 'CancelTask'];
/** Milliseconds that a socket may be idle while a call waits for its task. The longest such wait is 30 seconds. */
const IDLE_TIMEOUT = 45_000;

export interface A2aOptions extends A2aServices {
  readonly baseUrl: string;
  /** The streams of the whole process. Their bounds count all hosts. */
  readonly streams: Streams;
}

type RpcAnswer = { readonly result: unknown } | { readonly error: RpcFault };

/**
 * The A2A endpoint: versions 1.0 and 0.3, JSON-RPC over POST. The handler checks the request and its bearer token. Then the A2A
 * SDK decodes the message and runs the method. The order of the checks: repeated headers, method, URL, bearer, other
 * headers, body, version, params.
 */
export function a2aSurface(corridor: Corridor, { baseUrl, streams, ...services }: A2aOptions): RequestHandler {
  const resource = metadataUri(baseUrl, 'a2a');
  const scope = services.skills.scopes.join(' ');

  return (request, response, { requestId, record }) => {
    const at = atEndpoint(request, '/a2a');
    const query = at?.below === '' ? at.query : undefined;
    if (query === undefined) return false;
    record.surface = 'a2a';
    record.operation = 'a2a';
    let quota: QuotaState | undefined;
    const refuse = (failure: Failure): void => {
      noteRefusal(record, failure);
      sendProblem(request, response, failure, { baseUrl, requestId, resource, scope }, rateLimit(quota));
    };
    const reply = (answer: RpcAnswer, id: RequestId | null): void => {
      const code = 'error' in answer ? answer.error.code : undefined;
      if (code !== undefined) record.code = String(code);
      const headers: OutgoingHttpHeaders = rateLimit(quota);
      // Clients in Python read the code of an error only at status 200, and both public suites expect it.
      send(request, response, 200, JSON_TYPE, JSON.stringify({ jsonrpc: '2.0', id, ...answer }), headers);
    };

    const pump = async (stream: Stream, { first, events }: RpcStream, id: RequestId | null): Promise<void> => {
      stream.begin(request, response, rateLimit(quota));
      try {
        await stream.write(first);
        for await (const event of events) await stream.write(event);
      } catch (error) {
        const failure = asFailure(error);
        if (refusesCredential(failure)) stream.end(failure);
        else {
          noteRefusal(record, failure);
          response.destroy();
        }
      }
      if (!stream.lapsed) return;
      noteRefusal(record, stream.lapsed);
      await stream.write({ jsonrpc: '2.0', id, error: LAPSED });
    };

    const answer = async (): Promise<void> => {
      refuseAmbiguous(request);
      if (request.method !== 'POST') throw new Failure('method_not_allowed', { allow: ['POST'] });
      const version = versionOf(request, query);
      const bearer = bearerOf(request);
      if (bearer === undefined || !isBearer(bearer)) throw new Failure('unauthenticated');
      // Abort only if the client disconnects before the reply is complete. An abort creates an error object. An abort
      // at the end of every request took 2 % of a task's time (measured). The event comes once, so nothing is awaited
      // before this line.
      const gone = new AbortController();
      response.once('close', () => response.writableFinished || gone.abort());
      // A problem of the message is reported later, because a bad bearer token must be reported first.
      const read = await readRequest(request, response).then(
        (message) => ({ message }),
        (problem: unknown) => ({ problem }),
      );
      response.setTimeout(IDLE_TIMEOUT);
      const taskId = newTaskId();
      const source = exchangeOf(request);
      const from = source?.from;
      let authority: Authority | undefined;
      let stream: Stream | undefined;
      let era: A2aEra | undefined;
      let asked: A2aRequest | undefined;
      let end: SkillEnd = { outcome: 'ok', status: 200 };
      const paid = (): void => {
        quota = authority && corridor.quotaOf(authority);
        if (authority) noteActor(record, authority);
      };
      try {
        const result = await corridor.run(
          bearer,
          'a2a',
          async (caller) => {
            authority = caller.authority;
            if ('problem' in read) throw read.problem;
            const { id, params } = read.message;
            era = eraOf(version);
            const method = era.nameOf(read.message.method);
            const given = era.checkedParams(read.message.method, params);
            if (CHANGING.includes(method)) record.effect = true;
            // A task's calls write audit entries. A cancellation makes no call, so the request itself is audited.
            if (method === 'CancelTask') record.does = 'write';
            const named = NAMING.get(method);
            if (named !== undefined) {
              record.operation = named;
              const task = TASK.exec(String(given['id']))?.[0];
              if (task !== undefined) record.audit = { task };
            }
            if (STREAMING.includes(method)) stream ??= streams.enter(authority, { bearer, from }, gone);
            const unit = Math.ceil(60 / (corridor.quotaOf(authority)?.perMinute ?? 60));
            const { origin } = source?.audited ?? {};
            const sender = { id: taskId, requestId, origin, bearer, from, caller, signal: gone.signal };
            const a2aRequest: A2aRequest = { sender, unit };
            asked = a2aRequest;
            const rpc = { jsonrpc: '2.0' as const, id, method: read.message.method, params: given }; // a literal type
            const outcome = await era.handle(rpc, requestHandler(services, a2aRequest));
            const first = 'jsonrpc' in outcome ? undefined : await outcome.next();
            if (a2aRequest.skill !== undefined) record.operation = a2aRequest.skill;
            if (a2aRequest.failed !== undefined) throw a2aRequest.failed;
            if ('jsonrpc' in outcome) return answerOf(outcome);
            return { first: first?.value, events: outcome };
          },
          source,
        );
        paid();
        if ('error' in result) end = endOf(result.error.code);
        if (stream && 'events' in result) await pump(stream, result, idOf(read));
        else if (!('events' in result)) reply(result, idOf(read));
      } catch (error) {
        // Such a refusal has no quota headers: without a valid token, no app pays for the request.
        if (!(error instanceof Failure && refusesCredential(error))) paid();
        if (!(error instanceof RpcError || error instanceof A2AError)) {
          const { code, status, details } = asFailure(error);
          end = { outcome: code, status, actor: details.actor };
          throw error;
        }
        const fault = faultOf(error);
        end = endOf(fault.code);
        if ('message' in read && era?.errorsInStream(read.message.method)) {
          record.code = String(fault.code);
          stream ??= new Stream({ bearer, from }, gone, () => undefined);
          stream.begin(request, response, rateLimit(quota));
          await stream.write({ jsonrpc: '2.0', id: idOf(read), error: fault });
        } else reply({ error: fault }, idOf(read));
      } finally {
        stream?.close();
        const { actor = authority, ...ended } = end;
        // A refused token ends the request before its message is read.
        const named = end.actor && !asked && 'message' in read ? namedIn(read.message.params) : {};
        const { skill, input, charged = 0 } = asked ?? (services.skills.get(named.skill ?? '') ? named : {});
        if (skill !== undefined && actor) {
          const targets = idsIn(input ?? {});
          const units = end.actor ? 0 : 1 + charged;
          source?.audited?.report({ actor, operation: skill, targets, ...ended, units, input });
        }
      }
    };
    return answer().catch((error: unknown) => {
      refuse(asFailure(error));
    });
  };
}

type SkillEnd = Pick<CallReport, 'outcome' | 'status'> & { readonly actor?: CallActor | undefined };

/** The end of a skill's call in audit records, by its JSON-RPC error. */
function endOf(code: number): SkillEnd {
  const failed: FailureCode =
    code === INVALID_PARAMS ? 'invalid_parameter' : code === NO_TASK ? 'not_found' : 'invalid_request';
  return { outcome: failed, status: statusOf(failed) };
}

/** A2A's error for a task that does not exist (A2A, section 5.4). */
const NO_TASK = -32_001;

/**
 * The version that the client asks for, in the header or the query parameter `A2A-Version` (A2A, section 3.6.1). No
 * other query parameter is allowed.
 */
function versionOf(request: IncomingMessage, query: string): string | undefined {
  const sent = headerOf(request.headers, 'a2a-version');
  const parameters = [...new URLSearchParams(query)];
  refuseQuery(query, ['A2A-Version']);
  if (parameters.length + (sent === undefined ? 0 : 1) > 1)
    throw wrongParameter('duplicate_parameter', 'A2A-Version', 'the version once');
  return sent ?? parameters[0]?.[1];
}

async function readRequest(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Extract<Message, { kind: 'request' }>> {
  const { accept } = request.headers;
  const takes = (type: string): boolean => preferredType(request, [type]) !== false;
  const takesJson = accept === undefined || accept === JSON_TYPE || takes(JSON_TYPE);
  if (!takesJson && !takes(STREAM_TYPE)) throw new Failure('not_acceptable');
  requireJson(request);
  const body = await readBody(request, response, BODY_BYTES).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== 'body_too_large') throw error;
    throw new RpcError(PARSE_ERROR, `The body is larger than ${BODY_BYTES} bytes.`);
  });
  const message = readMessage(body);
  // A message without an id is a notification. It would get no answer, but its task would cost quota.
  if (message.kind !== 'request') throw new RpcError(INVALID_REQUEST, 'The message has no id.');
  if (!takesJson && !STREAMING.includes(message.method)) throw new Failure('not_acceptable');
  return message;
}

const idOf = (
  read: { readonly message: { readonly id: RequestId } } | { readonly problem: unknown },
): RequestId | null =>
  'message' in read ? read.message.id : read.problem instanceof RpcError ? (read.problem.id ?? null) : null;

/** An event stream whose first event is known, so that the authority of the request is proved. */
interface RpcStream {
  readonly first: unknown;
  readonly events: AsyncGenerator<unknown>;
}

function answerOf(outcome: { readonly result?: unknown; readonly error?: unknown }): RpcAnswer {
  // The cast is correct: the SDK gives every error a code, a message and details.
  return outcome.error === undefined ? { result: outcome.result } : { error: complete(outcome.error as RpcFault) };
}
