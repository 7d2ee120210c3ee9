import { AgentCard } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { PushNotificationNotSupportedError, VersionNotSupportedError } from '@a2a-js/sdk/errors';
import { ServerCallContext } from '@a2a-js/sdk/server';
import { METHOD_NOT_FOUND, RpcError } from '../../jsonrpc/envelope.js';
import { checkedParams } from './params.js';
/** Each method of 0.3 with its name in 1.0. The SDK's own maps also know the names of Object's members. */
const V10_NAMES = new Map([
    ['message/send', 'SendMessage'],
    ['message/stream', 'SendStreamingMessage'],
    ['tasks/get', 'GetTask'],
    ['tasks/cancel', 'CancelTask'],
    ['tasks/resubscribe', 'SubscribeToTask'],
    ['tasks/pushNotificationConfig/set', 'CreateTaskPushNotificationConfig'],
    ['tasks/pushNotificationConfig/get', 'GetTaskPushNotificationConfig'],
    ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
    ['tasks/pushNotificationConfig/delete', 'DeleteTaskPushNotificationConfig'],
    ['agent/getAuthenticatedExtendedCard', 'GetExtendedAgentCard'],
]);
const ONLY_V10 = new Set([...V10_NAMES.values(), 'ListTasks']);
const STREAMING = ['message/stream', 'tasks/resubscribe'];
/** The SDK's translation asks the card whether it streams. It reads nothing else of the card. */
const STREAMS = AgentCard.fromJSON({ capabilities: { streaming: true } });
/**
 * Version 0.3: the SDK's frozen translation from and to the messages of 1.0, around the same handler. So a task has one
 * logic, and both versions see the same tasks.
 */
export const V03 = {
    nameOf(method) {
        if (ONLY_V10.has(method))
            throw new VersionNotSupportedError('This method belongs to version 1.0. Send the header A2A-Version: 1.0.');
        const name = V10_NAMES.get(method);
        if (name === undefined)
            throw new RpcError(METHOD_NOT_FOUND, 'Invalid method.');
        // The translation of their params fails for many a wrong one.
        if (name.includes('PushNotification'))
            throw new PushNotificationNotSupportedError();
        return name;
    },
    checkedParams,
    handle: (request, handler) => new LegacyJsonRpcTransportHandler({ ...handler, getAgentCard: async () => STREAMS }).handle(request, new ServerCallContext()),
    errorsInStream: (method) => STREAMING.includes(method),
};
//# sourceMappingURL=v03.js.map