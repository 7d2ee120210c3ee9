import { Role, TaskState as WireState, type Task as WireTask } from '@a2a-js/sdk';
import { FAILURE_CODES, type FailureCode, titleOf } from '../../core/failures.ts';
import type { Task, TaskState } from '../../tasks/tasks.ts';

const JSON_TYPE = 'application/json';

const STATES: Readonly<Record<TaskState, WireState>> = {
  submitted: WireState.TASK_STATE_SUBMITTED,
  working: WireState.TASK_STATE_WORKING,
  completed: WireState.TASK_STATE_COMPLETED,
  failed: WireState.TASK_STATE_FAILED,
  canceled: WireState.TASK_STATE_CANCELED,
};

/** The gateway's states for a task state of A2A. Undefined: all states. Empty: no task can have the state. */
export function statesOf(asked: WireState): TaskState[] | undefined {
  if (asked === WireState.TASK_STATE_UNSPECIFIED) return undefined;
  return Object.entries(STATES).flatMap(([state, wire]) => (wire === asked ? [state as TaskState] : [])); // every key of STATES is a TaskState
}

/** A task in the form of the SDK's codec, without the message history, because messages can contain customers' text. */
export function wireTask(task: Task): WireTask {
  const { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact } = task;
  return {
    id,
    contextId,
    status: {
      state: STATES[state],
      timestamp: stateAt.toISOString(),
      message: failure === null ? undefined : explanation(task, failure),
    },
    artifacts:
      artifact === undefined
        ? []
        : [
            {
              artifactId: 'result',
              name: skill,
              description: '',
              parts: [part(artifact)],
              metadata: undefined,
              extensions: [],
            },
          ],
    history: [],
    metadata: { skill, ...(websiteId !== null && { website_id: websiteId }), expires_at: expiresAt.toISOString() },
  };
}

const part = (value: unknown): WireTask['artifacts'][number]['parts'][number] => ({
  content: { $case: 'data', value },
  metadata: undefined,
  filename: '',
  mediaType: JSON_TYPE,
});

/** Titles for failure codes that only tasks have. They are not in core/failures.ts. */
const TITLES: Readonly<Record<string, string>> = {
  artifact_too_large:
    'The result is larger than 131,072 bytes. Ask for a smaller result, such as a page with a smaller limit.',
  interrupted:
    'The gateway process that ran the task ended before the task was complete. The task has changed nothing.',
  outcome_unknown:
    'The result of the write is unknown or no longer stored. Check the data. Never repeat the write in a new message.',
};

const isFailureCode = (code: string): code is FailureCode => FAILURE_CODES.some((known) => known === code);

/** Why a task failed, as a code and a fixed title. The text never comes from a caller or the store. */
function explanation({ id, contextId }: Task, code: string): NonNullable<WireTask['status']>['message'] {
  const title = TITLES[code] ?? titleOf(isFailureCode(code) ? code : 'internal');
  return {
    messageId: `${id}-failure`,
    contextId,
    taskId: id,
    role: Role.ROLE_AGENT,
    parts: [part({ code, title })],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
