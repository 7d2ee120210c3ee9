import { type Message, type Part, Role, TaskState as WireState, type Task as WireTask } from '@a2a-js/sdk';
import { FAILURE_CODES, type FailureCode, titleOf } from '../../core/failures.ts';
import type { OfferedSkill } from '../../gateway/skills.ts';
import type { Task, TaskState } from '../../tasks/tasks.ts';
import { question } from './question.ts';

const JSON_TYPE = 'application/json';

const STATES: Readonly<Record<TaskState, WireState>> = {
  submitted: WireState.TASK_STATE_SUBMITTED,
  working: WireState.TASK_STATE_WORKING,
  input_required: WireState.TASK_STATE_INPUT_REQUIRED,
  completed: WireState.TASK_STATE_COMPLETED,
  failed: WireState.TASK_STATE_FAILED,
  canceled: WireState.TASK_STATE_CANCELED,
};

/** The gateway's states for a task state of A2A. Undefined: all states. Empty: no task can have the state. */
export function statesOf(asked: WireState): TaskState[] | undefined {
  if (asked === WireState.TASK_STATE_UNSPECIFIED) return undefined;
  return Object.entries(STATES).flatMap(([state, wire]) => (wire === asked ? [state as TaskState] : [])); // every key of STATES is a TaskState
}

export interface Showing {
  /** The skills that the reader may use. A task that waits for a skill names them. */
  readonly skills: () => readonly OfferedSkill[];
  /** The form of the artifact. Default: data. */
  readonly form?: 'data' | 'text';
  /** The most messages of the history. Absent: all that are kept. */
  readonly historyLength?: number | undefined;
}

/** A task in the form of the SDK's codec. Its history has only texts, because data can hold customers' text. */
export function wireTask(task: Task, { skills, form = 'data', historyLength }: Showing): WireTask {
  const { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact, history } = task;
  const kept =
    historyLength === undefined ? history : history.slice(history.length - Math.min(historyLength, history.length));
  const told = failure !== null ? explanation(failure) : state === 'input_required' ? question(skills()) : undefined;
  return {
    id,
    contextId,
    status: {
      state: STATES[state],
      timestamp: stateAt.toISOString(),
      message: told && message(task, `${id}-${failure === null ? 'question' : 'failure'}`, Role.ROLE_AGENT, told),
    },
    artifacts:
      artifact === undefined
        ? []
        : [
            {
              artifactId: 'result',
              name: skill ?? '',
              description: '',
              parts: [form === 'data' ? part(artifact) : textPart(JSON.stringify(artifact))],
              metadata: undefined,
              extensions: [],
            },
          ],
    history: kept.map((one) => message(task, one.id, Role.ROLE_USER, [textPart(one.text)])),
    metadata: {
      ...(skill !== null && { skill }),
      ...(websiteId !== null && { website_id: websiteId }),
      expires_at: expiresAt.toISOString(),
    },
  };
}

const message = ({ id, contextId }: Task, messageId: string, role: Role, parts: Part[]): Message => ({
  messageId,
  contextId,
  taskId: id,
  role,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

const part = (value: unknown): Part => ({
  content: { $case: 'data', value },
  metadata: undefined,
  filename: '',
  mediaType: JSON_TYPE,
});

const textPart = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
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
function explanation(code: string): Part[] {
  const title = TITLES[code] ?? titleOf(isFailureCode(code) ? code : 'internal');
  return [part({ code, title })];
}
