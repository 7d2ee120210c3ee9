import { setTimeout as pause } from 'node:timers/promises';
import { prepared } from './behaviours.js';
import { holds, isMembers, mismatch, valuesAt } from './matching.js';
import { foreignTask, MORE } from './more.js';
import { CODES, eventView, openWire } from './wire.js';
/** Runs one test with a token of its own. Returns the first difference from what the test expects, with its step. */
export async function runTest(agent, test) {
    const run = await openRun(agent, test.variables);
    for (const step of test.steps) {
        const found = await runStep(run, step);
        if (found !== undefined)
            return `step ${step.id}: ${found}`;
    }
    return MORE[test.id]?.(run);
}
async function openRun(agent, variables) {
    const token = await agent.issue(true);
    const wire = openWire(agent.origin, token);
    const values = { ...variables, token };
    return { wire, agent, values };
}
/** Replaces `{{name}}` in all texts. The suites leave some values to the runner, such as the task of another user. */
async function filled(run, value) {
    if (Array.isArray(value))
        return Promise.all(value.map((one) => filled(run, one)));
    if (isMembers(value)) {
        const members = Object.entries(value).map(async ([name, one]) => [name, await filled(run, one)]);
        return Object.fromEntries(await Promise.all(members));
    }
    if (typeof value !== 'string')
        return value;
    let text = value;
    for (const [whole, name = ''] of value.matchAll(/\{\{(.+?)\}\}/g)) {
        text = text.replace(whole, String(await lookUp(run, name)));
    }
    return text;
}
async function lookUp({ agent, values }, name) {
    if (name === '$uuid')
        return crypto.randomUUID();
    if (name === 'insufficientAuthToken')
        return agent.issue(false);
    if (name === 'otherUserTaskId')
        return foreignTask(agent);
    const [value] = valuesAt(name, values);
    if (value === undefined)
        throw new Error(`no value for ${name}`);
    return value;
}
async function runStep(run, step) {
    const { repeat } = step;
    let reply = await perform(run, step);
    for (let attempt = 1; repeat && !holds(repeat.until, reply.result); attempt++) {
        if (attempt >= repeat.max_attempts)
            return `${repeat.until} did not become true: ${JSON.stringify(reply.body)}`;
        await pause(Math.min(repeat.delay_ms, 200));
        reply = await perform(run, step);
    }
    const root = step.raw ? reply.body : reply.result;
    const captured = Object.entries(step.capture).map(([name, path]) => [name, valuesAt(path, root)[0]]);
    run.values[step.id] = { response: root, ...Object.fromEntries(captured) };
    return judged(run, step, reply, root);
}
async function perform(run, step) {
    const given = await filled(run, step.params);
    if (step.raw)
        return run.wire.exchange(await rawRequest(run, step));
    const { params, takes } = prepared(isMembers(given) ? given : {});
    if (step.operation === 'get_agent_card') {
        return params['extended'] === true ? run.wire.call('get_extended_agent_card', {}) : run.wire.card();
    }
    if (takes > 0)
        await run.agent.hold(takes);
    const push = params['pushNotificationConfig'];
    // A2A 1.0 has the members of the configuration beside the task's id.
    return run.wire.call(step.operation ?? '', isMembers(push) ? { taskId: params['taskId'], ...push } : params);
}
/**
 * A raw request: to the address that the card names, with the token of the test. A test that is about authorization has
 * a header of its own, or is named so.
 */
async function rawRequest(run, step) {
    const { method = 'POST', path = '/', body, body_raw, headers = {} } = step.raw ?? {};
    const given = await filled(run, body);
    const params = isMembers(given) && isMembers(given['params']) ? prepared(given['params']).params : undefined;
    const sent = body_raw ?? JSON.stringify(isMembers(given) && params ? { ...given, params } : given);
    const own = await filled(run, headers);
    const authorization = `Bearer ${run.values['token']}`;
    return {
        method,
        path: path === '/' ? '/a2a' : path,
        headers: {
            ...(!/-without-auth$/.test(step.id) && { Authorization: authorization }),
            ...(isMembers(own) && stringsOf(own)),
        },
        ...(method === 'POST' && sent !== undefined && { body: sent }),
    };
}
const stringsOf = (members) => Object.fromEntries(Object.entries(members).map(([name, value]) => [name, String(value)]));
async function judged(run, step, reply, root) {
    const { status, error } = reply;
    const expected = await filled(run, step.expect ?? {});
    const failure = await filled(run, step.expect_error);
    if (isMembers(failure))
        return refused(failure, error);
    const { status: wanted, body, ...rest } = isMembers(expected) ? expected : {};
    // Two suites write an expected error in a form of their own.
    if (wanted === 'error' || isMembers(rest['error'])) {
        return error === undefined ? `expected an error, found ${JSON.stringify(reply.body)}` : undefined;
    }
    if (!step.raw && error !== undefined)
        return `refused: ${JSON.stringify(error)}`;
    const found = mismatch(wanted ?? 200, status, 'the HTTP status') ??
        mismatch(body ?? {}, root) ??
        mismatch(rest, root) ??
        streamed(step, reply);
    if (found !== undefined)
        return found;
    for (const { source, any } of step.assertions) {
        const of = valuesAt(source.replace(/^\{\{(.+)\}\}$/, '$1'), run.values)[0];
        const match = await filled(run, any.match);
        if (!valuesAt(any.path, of).some((value) => mismatch(match, value) === undefined)) {
            return `nothing at ${any.path} matches ${JSON.stringify(match)} in ${JSON.stringify(of)}`;
        }
    }
    return undefined;
}
/** Compares an error. The suites name its kind `code` or `error_type`, with a name or a choice of names. */
function refused({ code, error_type, ...rest }, error) {
    if (!isMembers(error))
        return `expected an error, found ${JSON.stringify(error)}`;
    const named = code ?? error_type;
    const names = isMembers(named) && Array.isArray(named['one_of']) ? named['one_of'] : named === undefined ? [] : [named];
    const codes = names.map((name) => CODES[String(name)]);
    if (codes.length > 0 && !codes.includes(Number(error['code']))) {
        return `expected ${names.join(' or ')}, found ${JSON.stringify(error)}`;
    }
    return mismatch(rest, error, 'the error');
}
/** No state follows a final one, and none goes back to the first. */
const FINAL = /_(COMPLETED|FAILED|CANCELED|REJECTED)$/;
const regresses = (states) => states.some((state, at) => at > 0 && (FINAL.test(states[at - 1] ?? '') || (/_SUBMITTED$/.test(state) && states[at - 1] !== state)));
function streamed({ expect_stream: wanted }, { events }) {
    if (!wanted)
        return undefined;
    if (!events)
        return 'expected a stream of events';
    const views = events.map(eventView);
    const all = `in ${JSON.stringify(views)}`;
    if (events.length < wanted.min_count)
        return `expected ${wanted.min_count} events, found ${events.length} ${all}`;
    const states = views.flatMap((view) => valuesAt('status.state', view).map(String));
    if (wanted.ordering && regresses(states))
        return `the states go back: ${states.join(', ')}`;
    for (const { description: _, match, index, ...one } of wanted.events) {
        const among = match === 'any_position' ? views : [views[Number(index ?? 0)]];
        if (!among.some((view) => mismatch(one, view) === undefined))
            return `no event is ${JSON.stringify(one)} ${all}`;
    }
    const each = events.map((event) => mismatch(wanted.each_event ?? {}, event)).find((found) => found !== undefined);
    return each ?? mismatch(wanted.final_event ?? {}, views.at(-1), 'the last event');
}
//# sourceMappingURL=run.js.map