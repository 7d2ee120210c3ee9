import { endpoint } from './rpc.ts';

export const { post, rpc } = endpoint({ path: '/a2a', headers: {}, version: ['a2a-version', '1.0'] });

let messages = 0;

export const messageId = (): string => `message-${++messages}`;

export const work = (skill: string, input: object, message: object = {}): { readonly message: object } => ({
  message: {
    messageId: messageId(),
    role: 'ROLE_USER',
    parts: [{ data: { skill, arguments: input }, mediaType: 'application/json' }],
    ...message,
  },
});
