import { AgentCard, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
export function a2aPeer(read) {
    const executor = {
        execute: async ({ taskId, contextId, userMessage }, bus) => {
            const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
            bus.publish(AgentEvent.task({
                id: taskId,
                contextId,
                status: status(TaskState.TASK_STATE_SUBMITTED),
                artifacts: [],
                history: [],
                metadata: undefined,
            }));
            const value = await read(contactIdOf(userMessage));
            const part = { content: { $case: 'data', value }, metadata: undefined, filename: '' };
            bus.publish(AgentEvent.artifactUpdate({
                taskId,
                contextId,
                artifact: {
                    artifactId: 'result',
                    name: 'contact_inspection',
                    description: '',
                    parts: [{ ...part, mediaType: 'application/json' }],
                    metadata: undefined,
                    extensions: [],
                },
                append: false,
                lastChunk: true,
                metadata: undefined,
            }));
            const state = value ? TaskState.TASK_STATE_COMPLETED : TaskState.TASK_STATE_FAILED;
            bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined }));
            bus.finished();
        },
        cancelTask: async () => undefined,
    };
    const card = AgentCard.fromJSON({
        name: 'peer',
        version: '1.0.0',
        capabilities: {},
        supportedInterfaces: [{ url: '/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    });
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
    return jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication });
}
function contactIdOf({ parts }) {
    const content = parts[0]?.content;
    const data = content?.$case === 'data' ? content.value : undefined; // the bench always sends a value of this shape
    return data?.arguments.contact_id ?? '';
}
//# sourceMappingURL=a2a-peer.js.map