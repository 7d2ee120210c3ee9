import { endpoint } from './rpc.js';
export const { post, rpc } = endpoint({ path: '/a2a', headers: {}, version: ['a2a-version', '1.0'] });
let messages = 0;
export const messageId = () => `message-${++messages}`;
export const work = (skill, input, message = {}) => ({
    message: {
        messageId: messageId(),
        role: 'ROLE_USER',
        parts: [{ data: { skill, arguments: input }, mediaType: 'application/json' }],
        ...message,
    },
});
//# sourceMappingURL=a2a.js.map