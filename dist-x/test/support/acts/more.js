import { prepared } from './behaviours.js';
import { isMembers, mismatch, valuesAt } from './matching.js';
import { eventView, openWire } from './wire.js';
/**
 * Some tests ask the runner for more than their steps say, such as two streams at once. Each check returns what is wrong.
 */
export const MORE = {
    async 'STREAM-MULTI-001'(run) {
        const id = await working(run);
        const [first, second] = await Promise.all([subscribe(run, id), subscribe(run, id)]);
        return ended(first) ?? mismatch(resultsOf(first), resultsOf(second), 'the second stream');
    },
    async 'STREAM-MULTI-002'(run) {
        const id = await working(run);
        const other = subscribe(run, id);
        await run.wire.firstEvent('subscribe_to_task', { id });
        return ended(await other);
    },
    async 'STREAM-RESUB-001'(run) {
        const id = await working(run);
        await run.wire.firstEvent('subscribe_to_task', { id });
        return ended(await subscribe(run, id));
    },
    async 'CARD-CACHE-001'({ wire }) {
        const { headers } = await wire.card();
        return headers.get('etag') && headers.get('cache-control') ? undefined : 'no ETag or Cache-Control';
    },
    'CORE-ERR-009': hidesForeignTasks,
    'SEC-AUTH-003': hidesForeignTasks,
};
/** A task that works for a while. It has left its first state, so that two streams begin with the same one. */
async function working({ wire, agent }) {
    const message = { role: 'ROLE_USER', parts: [{ text: 'tck-long-running' }] };
    const { params, takes } = prepared({ message, configuration: { returnImmediately: true } });
    await agent.hold(takes);
    const [id] = valuesAt('task.id', (await wire.call('send_message', params)).result);
    for (let state; state !== 'TASK_STATE_WORKING';) {
        [state] = valuesAt('status.state', (await wire.call('get_task', { id })).result);
        if (/_(COMPLETED|FAILED)$/.test(String(state)))
            throw new Error('the task ended before it was seen at work');
    }
    return id;
}
const subscribe = ({ wire }, id) => wire.call('subscribe_to_task', { id });
const resultsOf = ({ events = [] }) => events.map((event) => (isMembers(event) ? event['result'] : event));
const ended = ({ events }) => mismatch({ status: { state: 'TASK_STATE_COMPLETED' } }, eventView(events?.at(-1)), 'the last event');
async function hidesForeignTasks({ wire, agent }) {
    const foreign = await wire.call('get_task', { id: await foreignTask(agent) });
    const missing = await wire.call('get_task', { id: 'task_00000000000000000000000000000000' });
    return mismatch(missing.error, foreign.error, 'the error for the task of another user');
}
/** A task of another app. */
export async function foreignTask(agent) {
    const other = openWire(agent.origin, await agent.issue(true));
    const message = { role: 'ROLE_USER', parts: [{ text: 'tck-complete-task for another user' }] };
    const { result } = await other.call('send_message', prepared({ message }).params);
    return valuesAt('task.id', result)[0];
}
//# sourceMappingURL=more.js.map