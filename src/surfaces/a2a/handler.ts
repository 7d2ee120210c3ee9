import {
  A2AError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { Failure, invalidCursor } from '../../core/failures.ts';
import type { Caller } from '../../gateway/call.ts';
import { argumentsOf, permit, type Skills } from '../../gateway/skills.ts';
import { MessageIdConflict, type Tasks } from '../../tasks/tasks.ts';
import { invalidArguments, invalidSkill, workOf } from './params.ts';
import { invalidParams, messageIdConflict } from './refusals.ts';
import { statesOf, wireTask } from './wire-task.ts';

/** Tasks on a page of `ListTasks` by default (A2A, section 3.1.4). */
const PAGE = 50;
const TASK = /^task_[a-f0-9]{32}$/;

export interface A2aServices {
  readonly tasks: Tasks;
  readonly skills: Skills;
}

/** One request to `/a2a`, with its caller's authority. A cached authority is not yet confirmed by the store. */
export interface A2aRequest {
  readonly bearer: string;
  readonly caller: Caller;
  /** The id of a new task. It stays the same when the gateway repeats the request with a fresh authority. */
  readonly taskId: string;
  readonly requestId: string;
  /** Seconds until the app's quota grows by one unit. */
  readonly unit: number;
  /** Aborts when the client disconnects before the reply is complete. */
  readonly signal: AbortSignal;
  skill?: string;
  /** The task to cancel, for the log. Absent if the client's id does not have the form of a task id. */
  canceled?: string;
  /** An error that is not an A2A error. The surface throws it: the SDK would send its text to the client. */
  failed?: unknown;
}

const pushUnsupported = async (): Promise<never> => {
  throw new PushNotificationNotSupportedError();
};
const unsupported = (): never => {
  throw new UnsupportedOperationError();
};

/**
 * The A2A methods for one request, with tasks in PostgreSQL. The SDK's own handler keeps tasks in the memory of one
 * process. There, a result could overwrite a cancellation from another replica, and a repeated message would start a
 * second task.
 */
export function requestHandler({ tasks, skills }: A2aServices, request: A2aRequest): A2ARequestHandler {
  const { caller, bearer, taskId, requestId, signal } = request;
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
  return {
    sendMessage: answering(async ({ message, configuration }) => {
      const content = message?.parts[0]?.content;
      if (!message || content?.$case !== 'data') throw new Error('unchecked params');
      const work = workOf(content.value);
      const offered = skills.get(work.skill);
      if (!offered) throw invalidSkill(skills.names);
      request.skill = work.skill;
      permit(offered, caller.authority);
      const input = given(() => argumentsOf(offered, work.arguments));
      // A task accepts no second message. Only its owner learns that it exists.
      if (message.taskId !== '') {
        throw (await tasks.get(caller, message.taskId))
          ? new UnsupportedOperationError('A task takes no further messages.')
          : new TaskNotFoundError();
      }
      const task = await tasks
        .send({
          id: taskId,
          requestId,
          bearer,
          caller,
          messageId: message.messageId,
          contextId: message.contextId === '' ? undefined : message.contextId,
          skill: offered.skill,
          input,
          wait: configuration?.returnImmediately !== true,
          signal,
        })
        .catch((error: unknown) => {
          throw error instanceof MessageIdConflict ? messageIdConflict() : withAdmission(error, request);
        });
      return wireTask(task);
    }),

    getTask: answering(async ({ id }) => {
      const task = await tasks.get(caller, id);
      if (!task) throw new TaskNotFoundError();
      return wireTask(task);
    }),

    cancelTask: answering(async ({ id }) => {
      if (TASK.test(id)) request.canceled = id;
      const found = await tasks.cancel(caller, id);
      if (!found) throw new TaskNotFoundError();
      if (!found.canceled) throw new TaskNotCancelableError();
      return wireTask(found.task);
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
      return { ...page, tasks: page.tasks.map(wireTask), pageSize };
    }),

    getAgentCard: unsupported,
    getAuthenticatedExtendedAgentCard: async () => unsupported(),
    sendMessageStream: unsupported,
    resubscribe: unsupported,
    createTaskPushNotificationConfig: pushUnsupported,
    getTaskPushNotificationConfig: pushUnsupported,
    listTaskPushNotificationConfigs: pushUnsupported,
    deleteTaskPushNotificationConfig: pushUnsupported,
  };
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

function given<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Failure && error.status === 400 ? invalidArguments(error) : error;
  }
}
