import { isMembers } from './matching.js';
const WORK = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_89' } };
/** No contact has this id, so the task fails. */
const FAILS = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_999999' } };
const NO_FILES = 'The agent makes no files. Its skills answer with data, and the card names these media types.';
/** The longer of two names that begin alike comes first. */
export const BEHAVIOURS = {
    'tck-complete-task': { work: WORK },
    'tck-artifact-text': { work: WORK, modes: ['text/plain'] },
    'tck-artifact-data': { work: WORK, modes: ['application/json'] },
    'tck-artifact-file-url': { skipped: NO_FILES },
    'tck-artifact-file': { skipped: NO_FILES },
    'tck-stream-basic': { work: WORK },
    'tck-stream-chunked': { skipped: 'The agent sends an artifact whole, so no second piece follows.' },
    'tck-long-running': { work: WORK, takes: 1_500 },
    'tck-cancel': { work: WORK, takes: 1_500 },
    'tck-task-failure': { work: FAILS },
    'tck-multi-turn': { asks: true },
    // A token without scopes may ask what the agent can do. It may not use a skill.
    'authorization should fail': { work: WORK },
    'tck-message-response': {
        skipped: 'The agent answers every message with a task. A2A leaves the choice to the agent (section 3.1.1).',
    },
    'tck-auth-required': { skipped: 'The agent asks for no second authorization within a task.' },
};
/** The last turn of a conversation says only this. */
const DONE = 'done';
/**
 * The params of a request as this agent reads them. The suites write `taskId` and `contextId` beside the message, but
 * A2A has them in the message. They also leave out the `messageId` that A2A requires.
 */
export function prepared({ taskId, contextId, ...params }) {
    const { message } = params;
    if (!isMembers(message))
        return { params: { ...params, ...(taskId !== undefined && { taskId }) }, takes: 0 };
    const parts = Array.isArray(message['parts']) ? message['parts'] : [];
    const text = parts[0]?.text;
    const name = Object.keys(BEHAVIOURS).find((one) => typeof text === 'string' && text.startsWith(one));
    const behaviour = text === DONE ? { work: WORK } : name === undefined ? undefined : BEHAVIOURS[name];
    const works = behaviour !== undefined && 'work' in behaviour ? behaviour : undefined;
    const configuration = { ...(isMembers(params['configuration']) && params['configuration']) };
    if (works?.modes)
        configuration['acceptedOutputModes'] = works.modes;
    return {
        takes: works?.takes ?? 0,
        params: {
            ...params,
            ...(Object.keys(configuration).length > 0 && { configuration }),
            message: {
                messageId: crypto.randomUUID(),
                ...(taskId !== undefined && { taskId }),
                ...(contextId !== undefined && { contextId }),
                ...message,
                parts: works ? [...parts, { data: works.work, mediaType: 'application/json' }] : parts,
            },
        },
    };
}
//# sourceMappingURL=behaviours.js.map