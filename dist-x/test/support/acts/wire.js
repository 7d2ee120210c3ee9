import { isMembers } from './matching.js';
/** Abstract operations, and the methods of the JSON-RPC binding. */
const METHODS = {
    send_message: 'SendMessage',
    send_streaming_message: 'SendStreamingMessage',
    get_task: 'GetTask',
    list_tasks: 'ListTasks',
    cancel_task: 'CancelTask',
    subscribe_to_task: 'SubscribeToTask',
    get_extended_agent_card: 'GetExtendedAgentCard',
    set_push_notification_config: 'CreateTaskPushNotificationConfig',
    get_push_notification_config: 'GetTaskPushNotificationConfig',
    list_push_notification_configs: 'ListTaskPushNotificationConfigs',
    delete_push_notification_config: 'DeleteTaskPushNotificationConfig',
};
/** Names of errors, and their codes in the JSON-RPC binding (A2A 1.0.1, sections 5.4 and 9.5). */
export const CODES = {
    TaskNotFoundError: -32_001,
    TaskNotCancelableError: -32_002,
    PushNotificationNotSupportedError: -32_003,
    UnsupportedOperationError: -32_004,
    ContentTypeNotSupportedError: -32_005,
    VersionNotSupportedError: -32_009,
    MethodNotFoundError: -32_601,
    InvalidParamsError: -32_602,
};
export function openWire(origin, token) {
    let requests = 0;
    const send = async ({ method = 'POST', path, headers, body }, until) => fetch(origin + path, {
        method,
        ...(headers && { headers }),
        ...(body !== undefined && { body }),
        ...(until && { signal: until }),
    });
    const exchange = async (sent) => {
        const response = await send(sent);
        const { status, headers } = response;
        const text = await response.text();
        const streamed = headers.get('content-type')?.startsWith('text/event-stream') ?? false;
        const events = streamed ? eventsOf(text) : undefined;
        const body = events ? events[0] : /json/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : text;
        const envelope = isMembers(events?.at(-1) ?? body) ? (events?.at(-1) ?? body) : {};
        const { result, error } = isMembers(envelope) ? envelope : {};
        return { status, headers, body, result, error, events };
    };
    const authorized = { 'Content-Type': 'application/json', 'A2A-Version': '1.0', Authorization: `Bearer ${token}` };
    const request = (operation, params) => {
        const method = METHODS[operation];
        if (method === undefined)
            throw new Error(`unknown operation ${operation}`);
        const streams = operation === 'send_streaming_message' || operation === 'subscribe_to_task';
        return {
            path: '/a2a',
            headers: { ...authorized, ...(streams && { Accept: 'text/event-stream' }) },
            body: JSON.stringify({ jsonrpc: '2.0', id: `acts-${++requests}`, method, params }),
        };
    };
    return {
        exchange,
        call: (operation, params) => exchange(request(operation, params)),
        card: async () => {
            const reply = await exchange({ method: 'GET', path: '/.well-known/agent-card.json' });
            return { ...reply, result: reply.body };
        },
        /** Opens a stream and reads only its first event. */
        async firstEvent(operation, params) {
            const leaving = new AbortController();
            const response = await send(request(operation, params), leaving.signal);
            let text = '';
            const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
            while (reader && eventsOf(text).length === 0) {
                const { value, done } = await reader.read();
                if (done)
                    break;
                text += value;
            }
            leaving.abort();
            return eventsOf(text)[0];
        },
    };
}
/** The complete server-sent events of a text. A comment keeps a proxy awake and is no event. */
function eventsOf(text) {
    return text
        .split(/\r?\n\r?\n/)
        .slice(0, -1)
        .map((block) => block
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n'))
        .filter((data) => data !== '')
        .map((data) => JSON.parse(data));
}
const snake = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/**
 * An event as the suites name its members: those of its one payload at the top, and the payload under its name with
 * underscores, such as `status_update`.
 */
export function eventView(event) {
    const result = isMembers(event) ? event['result'] : undefined;
    const [[name, payload] = []] = isMembers(result) ? Object.entries(result) : [];
    return { ...(isMembers(payload) && payload), ...(name !== undefined && { [snake(name)]: payload }) };
}
//# sourceMappingURL=wire.js.map