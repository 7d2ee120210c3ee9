import { type Message, type Part, Role, TaskState as WireState, type Task as WireTask } from '@a2a-js/sdk';
import { FAILURE_CODES, type FailureCode, titleOf } from '../../core/failures.ts';
import type { OfferedSkill } from '../../gateway/skills.ts';
import type { Task, TaskState } from '../../tasks/tasks.ts';
import { question, reminder } from './question.ts';

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
  /** True in a list of tasks. Then a waiting task has a short text in place of the skills with their schemas. */
  readonly listed?: boolean;
  /** The form of the artifact. Default: data. */
  readonly form?: 'data' | 'text';
  /** The most messages of the history. Absent: all that are kept. */
  readonly historyLength?: number | undefined;
}

/** A task in the form of the SDK's codec. Its history has only texts, because data can hold customers' text. */
export function wireTask(task: Task, { skills, listed = false, form = 'data', historyLength }: Showing): WireTask {
  const { id, contextId, skill, websiteId, state, stateAt, expiresAt, artifact, history } = task;
  const kept =
    historyLength === undefined ? history : history.slice(history.length - Math.min(historyLength, history.length));
  // A result that the reader may not see must not look like an empty one.
  const failure = task.failure ?? (task.withheld ? 'result_withheld' : null);
  const said =
    failure !== null ? explanation(failure) : state === 'input_required' ? asked(skills(), listed) : undefined;
  return {
    id,
    contextId,
    status: {
      state: STATES[state],
      timestamp: stateAt.toISOString(),
      message: said && message(task, `${id}-${said.name}`, Role.ROLE_AGENT, said.parts),
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

const EMPTY = { metadata: undefined, filename: '' };
const part = (value: unknown): Part => ({ ...EMPTY, content: { $case: 'data', value }, mediaType: JSON_TYPE });
const textPart = (value: string): Part => ({ ...EMPTY, content: { $case: 'text', value }, mediaType: 'text/plain' });

/** The message of a status. Its id ends with `name`, so that other parts have another id. */
interface StatusMessage {
  readonly name: 'failure' | 'question' | 'reminder';
  readonly parts: Part[];
}

function asked(skills: readonly OfferedSkill[], listed: boolean): StatusMessage {
  if (listed) return { name: 'reminder', parts: [textPart(reminder(skills))] };
  const { text, data } = question(skills);
  return { name: 'question', parts: [textPart(text), part(data)] };
}

/** A task has no Retry-After, and the same message finds the same failed task until it has expired. */
const PASSING =
  'The service could not answer in time. Send a read again with a new messageId. To send a write again, wait until the task has expired, and use the same messageId.';

/** Titles for codes that only tasks have, and for those that tell a client of REST what a task cannot do. */
const TITLES: Readonly<Record<string, string>> = {
  service_unavailable: PASSING,
  authority_unavailable: PASSING,
  native_unavailable: PASSING,
  operation_in_progress: PASSING,
  result_withheld:
    'The result was made under other grants than those of your token. Send a read again with a new messageId. Never repeat a write.',
  artifact_too_large:
    'The result is larger than 131,072 bytes. Ask for a smaller result, such as a page with a smaller limit.',
  interrupted:
    'The gateway process that ran the task ended before the task was complete. The task has changed nothing.',
  outcome_unknown:
    'The result of the write is unknown or no longer stored. Check the data. Never repeat the write in a new message.',
};

const isFailureCode = (code: string): code is FailureCode => FAILURE_CODES.some((known) => known === code);

/** Why a task has no result, as a code and a fixed title. The text never comes from a caller or the store. */
function explanation(code: string): StatusMessage {
  const title = TITLES[code] ?? titleOf(isFailureCode(code) ? code : 'internal');
  return { name: 'failure', parts: [part({ code, title })] };
}
