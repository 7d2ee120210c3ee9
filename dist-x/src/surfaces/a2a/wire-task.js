import { Role, TaskState as WireState } from '@a2a-js/sdk';
import { FAILURE_CODES, titleOf } from '../../core/failures.js';
import { question, reminder } from './question.js';
const JSON_TYPE = 'application/json';
const STATES = {
    submitted: WireState.TASK_STATE_SUBMITTED,
    working: WireState.TASK_STATE_WORKING,
    input_required: WireState.TASK_STATE_INPUT_REQUIRED,
    completed: WireState.TASK_STATE_COMPLETED,
    failed: WireState.TASK_STATE_FAILED,
    canceled: WireState.TASK_STATE_CANCELED,
};
/** The gateway's states for a task state of A2A. Undefined: all states. Empty: no task can have the state. */
export function statesOf(asked) {
    if (asked === WireState.TASK_STATE_UNSPECIFIED)
        return undefined;
    return Object.entries(STATES).flatMap(([state, wire]) => (wire === asked ? [state] : [])); // every key of STATES is a TaskState
}
/** A task in the form of the SDK's codec. Its history has only texts, because data can hold customers' text. */
export function wireTask(task, { skills, listed = false, form = 'data', historyLength }) {
    const { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact, history } = task;
    const kept = historyLength === undefined ? history : history.slice(history.length - Math.min(historyLength, history.length));
    const said = failure !== null ? explanation(failure) : state === 'input_required' ? asked(skills(), listed) : undefined;
    return {
        id,
        contextId,
        status: {
            state: STATES[state],
            timestamp: stateAt.toISOString(),
            message: said && message(task, `${id}-${said.name}`, Role.ROLE_AGENT, said.parts),
        },
        artifacts: artifact === undefined
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
const message = ({ id, contextId }, messageId, role, parts) => ({
    messageId,
    contextId,
    taskId: id,
    role,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
});
const part = (value) => ({
    content: { $case: 'data', value },
    metadata: undefined,
    filename: '',
    mediaType: JSON_TYPE,
});
const textPart = (value) => ({
    content: { $case: 'text', value },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
});
function asked(skills, listed) {
    if (listed)
        return { name: 'reminder', parts: [textPart(reminder(skills))] };
    const { text, data } = question(skills);
    return { name: 'question', parts: [textPart(text), part(data)] };
}
/** Titles for failure codes that only tasks have. They are not in core/failures.ts. */
const TITLES = {
    artifact_too_large: 'The result is larger than 131,072 bytes. Ask for a smaller result, such as a page with a smaller limit.',
    interrupted: 'The gateway process that ran the task ended before the task was complete. The task has changed nothing.',
    outcome_unknown: 'The result of the write is unknown or no longer stored. Check the data. Never repeat the write in a new message.',
};
const isFailureCode = (code) => FAILURE_CODES.some((known) => known === code);
/** Why a task failed, as a code and a fixed title. The text never comes from a caller or the store. */
function explanation(code) {
    const title = TITLES[code] ?? titleOf(isFailureCode(code) ? code : 'internal');
    return { name: 'failure', parts: [part({ code, title })] };
}
//# sourceMappingURL=wire-task.js.map