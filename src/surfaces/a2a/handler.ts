import {
  A2AError,
  PushNotificationNotSupportedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { Failure } from '../../core/failures.ts';
import type { Caller } from '../../gateway/call.ts';
import { argumentsOf, permit, type Skills } from '../../gateway/skills.ts';
import { MessageIdConflict, type Tasks } from '../../tasks/tasks.ts';
import { invalidArguments, invalidSkill, workOf } from './params.ts';
import { invalidParams, messageIdConflict } from './refusals.ts';
import { statesOf, wireTask } from './wire-task.ts';

/** Default number of tasks in a page (A2A, section 3.1.4). */
const PAGE = 50;
const TASK = /^task_[a-f0-9]{32}$/;

export interface Services {
  readonly tasks: Tasks;
  readonly skills: Skills;
}

/** One request to `/a2a`. The authority of the caller may not be proved yet. */
export interface Exchange {
  readonly bearer: string;
  readonly caller: Caller;
  /** Id of the task that the request may start. It stays the same if the authority has to be loaded again. */
  readonly taskId: string;
  readonly requestId: string;
  /** Seconds in which the app's quota grows by one unit. */
  readonly unit: number;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The requested skill, for the log. */
  skill?: string;
  /** The id of the task to cancel, for the log. Set only if it has the form of a task id. */
  canceled?: string;
  /** A thrown error that is not an A2A error. The SDK would answer -32603 and show its message. */
  failed?: unknown;
}

const pushUnsupported = async (): Promise<never> => {
  throw new PushNotificationNotSupportedError();
};
const unsupported = (): never => {
  throw new UnsupportedOperationError();
};

/**
 * The protocol's methods over the task ledger, for one request. The SDK's own handler keeps tasks in one process. With
 * it, a result on another replica would override a cancel, and a repeated message would start a second task.
 */
export function requestHandler({ tasks, skills }: Services, exchange: Exchange): A2ARequestHandler {
  const { caller, bearer, taskId, requestId, signal } = exchange;
  const answering =
    <P, R>(work: (params: P) => Promise<R>) =>
    async (params: P): Promise<R> => {
      try {
        return await work(params);
      } catch (error) {
        if (!(error instanceof A2AError)) exchange.failed = error;
        throw error;
      }
    };
  return {
    sendMessage: answering(async ({ message, configuration }) => {
      const content = message?.parts[0]?.content;
      if (!message || content?.$case !== 'data') throw new Error('unchecked params');
      const work = workOf(content.value);
      const offered = skills.get(work.skill);
      if (!offered) throw invalidSkill();
      exchange.skill = work.skill;
      permit(offered, caller.authority);
      const input = given(() => argumentsOf(offered, work.arguments));
      // A task takes one message. Only the owner of a task learns that it exists.
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
          throw error instanceof MessageIdConflict ? messageIdConflict() : withAdmission(error, exchange);
        });
      return wireTask(task);
    }),

    getTask: answering(async ({ id }) => {
      const task = await tasks.get(caller, id);
      if (!task) throw new TaskNotFoundError();
      return wireTask(task);
    }),

    cancelTask: answering(async ({ id }) => {
      if (TASK.test(id)) exchange.canceled = id;
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
          throw invalidParams(
            new Failure('invalid_cursor', { errors: [{ parameter: 'pageToken', code: 'invalid_cursor' }] }),
          );
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

/** If the quota had no unit for the task's read, a retry needs two units: one for admission and one for the read. */
function withAdmission(error: unknown, { unit }: Exchange): unknown {
  if (!(error instanceof Failure) || error.code !== 'quota_exceeded') return error;
  return new Failure('quota_exceeded', { retryAfter: (error.details.retryAfter ?? 0) + unit });
}

/** The end of the year 9999 in UTC. A time with an offset can lie after it. */
const LATEST = 253_402_300_799_999;

/** A time in the range that PostgreSQL accepts. PostgreSQL has no year 0, and no task is older than the epoch. */
const moment = (text: string): Date => new Date(Math.min(LATEST, Math.max(0, Date.parse(text))));

/** Runs `work`, and turns a refusal with status 400 into a protocol error about the arguments. */
function given<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Failure && error.status === 400 ? invalidArguments(error) : error;
  }
}
