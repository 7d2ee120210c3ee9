import type { SendMessageRequest, StreamResponse } from '@a2a-js/sdk';
import {
  A2AError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { Failure, invalidCursor } from '../../core/failures.ts';
import { argumentsOf, permit, type Skills } from '../../gateway/skills.ts';
import { MessageIdConflict, type NewTask, type Task, type Tasks, TaskUnable } from '../../tasks/tasks.ts';
import { contentOf, formOf, invalidField, type MessageContent } from './content.ts';
import { invalidParams, messageIdConflict } from './refusals.ts';
import { type Showing, statesOf, wireTask } from './wire-task.ts';

/** Tasks on a page of `ListTasks` by default (A2A, section 3.1.4). */
const PAGE = 50;

export interface A2aServices {
  readonly tasks: Tasks;
  readonly skills: Skills;
}

/** One request to `/a2a`, with its caller's authority. A cached authority is not yet confirmed by the store. */
export interface A2aRequest {
  /** Who sends it. `id` is that of a new task. `signal` aborts when the client disconnects before the reply is complete. */
  readonly sender: Pick<NewTask, 'id' | 'requestId' | 'origin' | 'bearer' | 'from' | 'caller' | 'signal'>;
  /** Seconds until the app's quota grows by one unit. */
  readonly unit: number;
  /** The units that the task costs beside the admission of the request. */
  charged?: number;
  skill?: string;
  /** The checked arguments of the skill. */
  input?: Readonly<Record<string, unknown>>;
  /** An error that is not an A2A error. The surface throws it: the SDK would send its text to the client. */
  failed?: unknown;
}

const pushUnsupported = async (): Promise<never> => {
  throw new PushNotificationNotSupportedError(
    'Push notifications are not supported. Follow a stream, or poll with GetTask.',
  );
};
const unsupported = (): never => {
  throw new UnsupportedOperationError('There is no extended card. Read the public card: /.well-known/agent-card.json.');
};

/**
 * The A2A methods for one request, with tasks in PostgreSQL. The SDK's own handler keeps tasks in the memory of one
 * process. There, a result could overwrite a cancellation from another replica, and a repeated message would start a
 * second task.
 */
export function requestHandler({ tasks, skills }: A2aServices, request: A2aRequest): A2ARequestHandler {
  const { caller, bearer, from, signal } = request.sender;
  const answering =
    <P, R>(work: (params: P) => Promise<R>) =>
    async (params: P): Promise<R> => {
      try {
        return await work(params);
      } catch (error) {
        if (!(error instanceof A2AError)) request.failed = error;
        throw error;
      }
    };
  const shown: Showing = { skills: () => skills.usableBy(caller.authority) };
  /** The skill and its checked input. Throws if the caller may not use the skill, or if the input is wrong. */
  const askedOf = (work: NonNullable<MessageContent['work']>) => {
    const offered = skills.get(work.skill);
    if (!offered) throw invalidField(`${work.at}.skill`, `one of ${skills.names.join(', ')}`);
    request.skill = work.skill;
    permit(offered, caller.authority);
    const input = given(() => argumentsOf(offered, work.arguments), `${work.at}.arguments.`);
    request.input = input;
    return { skill: offered.skill, input };
  };
  const send = async ({ message, configuration }: SendMessageRequest, wait: boolean): Promise<SentTask> => {
    if (!message) throw new Error('unchecked params');
    const form = formOf(configuration);
    const { work, text } = contentOf(message);
    const asked = work && askedOf(work);
    const task = await tasks
      .send({
        ...request.sender,
        charged: (units) => {
          request.charged = units;
        },
        messageId: message.messageId,
        contextId: message.contextId === '' ? undefined : message.contextId,
        taskId: message.taskId === '' ? undefined : message.taskId,
        skill: asked?.skill,
        input: asked?.input ?? {},
        text,
        wait,
      })
      .catch((error: unknown) => {
        throw sendingError(error, request);
      });
    return { task, showing: { ...shown, form, historyLength: configuration?.historyLength } };
  };
  /** A stream: the task as it is now, and then each change of its state, with the artifact before the last one. */
  async function* streaming(begin: () => Promise<SentTask>): AsyncGenerator<StreamResponse, void, undefined> {
    try {
      const { task, showing } = await begin();
      yield { payload: { $case: 'task', value: wireTask(task, showing) } };
      for await (const next of tasks.follow({ bearer, from, signal }, task)) {
        const { id, contextId, status, artifacts, metadata } = wireTask(next, showing);
        const of = { taskId: id, contextId, metadata: undefined };
        for (const artifact of artifacts)
          yield {
            payload: { $case: 'artifactUpdate', value: { ...of, artifact, append: false, lastChunk: true } },
          };
        yield { payload: { $case: 'statusUpdate', value: { ...of, status, metadata } } };
      }
    } catch (error) {
      if (!(error instanceof A2AError)) request.failed = error;
      throw error;
    }
  }
  return {
    sendMessage: answering(async (params) => {
      const { task, showing } = await send(params, params.configuration?.returnImmediately !== true);
      return wireTask(task, showing);
    }),

    sendMessageStream: (params) => streaming(() => send(params, false)),

    resubscribe: ({ id }) =>
      streaming(async () => {
        const task = await tasks.get(caller, id);
        if (!task) throw notFound();
        if (isEnded(task)) throw new UnsupportedOperationError('The task has ended. Read it with GetTask.');
        return { task, showing: shown };
      }),

    getTask: answering(async ({ id, historyLength }) => {
      const task = await tasks.get(caller, id);
      if (!task) throw notFound();
      return wireTask(task, { ...shown, historyLength });
    }),

    cancelTask: answering(async ({ id }) => {
      const found = await tasks.cancel(caller, id);
      if (!found) throw notFound();
      if (!found.canceled)
        throw new TaskNotCancelableError('The task has ended, so it cannot be canceled. Read it with GetTask.');
      return wireTask(found.task, shown);
    }),

    listTasks: answering(async ({ contextId, status, pageSize = PAGE, pageToken, statusTimestampAfter, ...wanted }) => {
      const page = await tasks
        .list(caller, {
          contextId: contextId === '' ? undefined : contextId,
          states: statesOf(status),
          statusAfter: statusTimestampAfter === undefined ? undefined : moment(statusTimestampAfter),
          pageSize,
          pageToken: pageToken === '' ? undefined : pageToken,
          artifacts: wanted.includeArtifacts === true,
        })
        .catch((error: unknown) => {
          if (!(error instanceof Failure) || error.code !== 'invalid_cursor') throw error;
          throw invalidParams(invalidCursor('pageToken', 'the nextPageToken of the previous page, unchanged'));
        });
      return { ...page, tasks: page.tasks.map((task) => wireTask(task, { ...shown, listed: true })), pageSize };
    }),

    getAgentCard: unsupported,
    getAuthenticatedExtendedAgentCard: async () => unsupported(),
    createTaskPushNotificationConfig: pushUnsupported,
    getTaskPushNotificationConfig: pushUnsupported,
    listTaskPushNotificationConfigs: pushUnsupported,
    deleteTaskPushNotificationConfig: pushUnsupported,
  };
}

interface SentTask {
  readonly task: Task;
  readonly showing: Showing;
}

const notFound = (): TaskNotFoundError =>
  new TaskNotFoundError(
    'This credential has no such task, or the task has expired. Check the id, or send the same message again.',
  );

const isEnded = ({ state }: Task): boolean => state === 'completed' || state === 'failed' || state === 'canceled';

/** The error for a message that became no task. */
function sendingError(error: unknown, request: A2aRequest): unknown {
  if (error instanceof MessageIdConflict) return messageIdConflict();
  if (!(error instanceof TaskUnable)) return withAdmission(error, request);
  if (error.why === 'absent') return notFound();
  if (error.why === 'elsewhere') return invalidField('message.contextId', 'the contextId of the task, or none');
  return new UnsupportedOperationError(
    'The task works or has ended, so it takes no further messages. Send the message without taskId, with the same contextId.',
  );
}

/** A retry costs two quota units, one for admission and one for the task. The client waits until both are available. */
function withAdmission(error: unknown, { unit }: A2aRequest): unknown {
  if (!(error instanceof Failure) || error.code !== 'quota_exceeded') return error;
  return new Failure('quota_exceeded', { retryAfter: (error.details.retryAfter ?? 0) + unit });
}

/** The end of the year 9999 in UTC. A client can send a later time: 9999-12-31T23:59:59-01:00 is in the year 10000. */
const LATEST = 253_402_300_799_999;

/** Limits a time to the years 1970 to 9999. PostgreSQL has no year 0, and no task is older than 1970. */
const moment = (text: string): Date => new Date(Math.min(LATEST, Math.max(0, Date.parse(text))));

function given<T>(work: () => T, at: string): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Failure && error.status === 400 ? invalidParams(error, at) : error;
  }
}
