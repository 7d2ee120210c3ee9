import { randomUUID } from 'node:crypto';
const CARD = '/.well-known/agent-card.json';
const JSON_ANSWER = { accept: '*/*' };
const EVENTS = { accept: 'text/event-stream', 'cache-control': 'no-store' };
const message03 = (text, more = {}, part = {}) => ({
    kind: 'message',
    messageId: randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text, ...part }],
    ...more,
});
const on = ({ id, contextId }) => ({ taskId: id, contextId });
/** Of a client of version 0.3 in Python without a preference: all members that are not None. */
const CONFIGURATION = { acceptedOutputModes: [], blocking: true };
/** Parts of the user carry this mark in newer versions of the ADK. */
const USER_INPUT = { metadata: { is_user_input: true } };
/** The members of Protocol Buffers stand in the JSON once they were touched, even if they are empty. */
const message10 = (text, more = {}) => ({
    message: {
        messageId: randomUUID().replaceAll('-', ''),
        role: 'ROLE_USER',
        parts: [{ text, metadata: {} }],
        metadata: {},
        ...more,
    },
    configuration: {},
});
const ADK = { repository: 'google/adk-python', path: 'src/google/adk/a2a/agent/_remote_a2a_agent.py' };
const LITELLM = { repository: 'BerriAI/litellm', path: 'litellm/a2a_protocol/main.py' };
const MICROSOFT = {
    repository: 'microsoft/agent-framework',
    path: 'python/packages/a2a/agent_framework_a2a/_agent.py',
};
const CREWAI = {
    repository: 'crewAIInc/crewAI',
    path: 'lib/crewai/src/crewai/a2a/utils/delegation.py',
    commit: 'f4731f5025f861c78e3af0487cc80bf5e7c64782',
};
export const ORCHESTRATORS = [
    {
        name: 'Google ADK, RemoteA2aAgent on a2a-sdk 0.3',
        source: { ...ADK, commit: '03e92fb60672702daa76da7acac3f70eb51bcbb7' },
        version: '0.3',
        cards: [CARD],
        headers: JSON_ANSWER,
        streams: false,
        first: (text) => ({ configuration: CONFIGURATION, message: message03(text, {}, USER_INPUT) }),
        continues: (text, task) => ({ configuration: CONFIGURATION, message: message03(text, on(task)) }),
        // A data part becomes a text of JSON in a tag of its own.
        reads: ['text', 'data'],
    },
    {
        name: 'Google ADK, RemoteA2aAgent on a2a-sdk 1.x',
        source: { ...ADK, commit: '03e92fb60672702daa76da7acac3f70eb51bcbb7' },
        version: '1.0',
        cards: [CARD],
        headers: EVENTS,
        streams: true,
        first: (text) => message10(text, { parts: [{ text, ...USER_INPUT }] }),
        continues: (text, task) => message10(text, on(task)),
        reads: ['text', 'data'],
    },
    {
        name: 'LiteLLM, send_message',
        source: { ...LITELLM, commit: '00e861b90be3c7bd233fcaf0caa72da1a55b1d09' },
        version: '0.3',
        cards: [CARD, '/.well-known/agent.json'],
        headers: { ...JSON_ANSWER, 'x-litellm-trace-id': randomUUID() },
        streams: false,
        // The context is the trace of the proxy.
        first: (text) => ({ message: message03(text, { contextId: randomUUID() }) }),
        continues: (text, task) => ({ message: message03(text, on(task)) }),
        reads: ['text', 'data'],
    },
    {
        name: 'LiteLLM, send_message_streaming',
        source: { ...LITELLM, commit: '00e861b90be3c7bd233fcaf0caa72da1a55b1d09' },
        version: '0.3',
        cards: [CARD, '/.well-known/agent.json'],
        headers: EVENTS,
        streams: true,
        first: (text) => ({ message: message03(text) }),
        continues: (text, task) => ({ message: message03(text, on(task)) }),
        reads: ['text', 'data'],
    },
    {
        name: 'Microsoft Agent Framework, A2AAgent on a2a-sdk 0.3',
        source: { ...MICROSOFT, commit: '76b9399aac89d358246d4e7cb4bc6d9344290336' },
        version: '0.3',
        cards: [CARD],
        headers: EVENTS,
        streams: true,
        first: (text) => ({ configuration: CONFIGURATION, message: message03(text, { metadata: {} }, { metadata: {} }) }),
        continues: (text, task) => ({ configuration: CONFIGURATION, message: message03(text, on(task)) }),
        reads: ['text', 'data'],
    },
    {
        name: 'Microsoft Agent Framework, A2AAgent on a2a-sdk 1.x, run',
        source: { ...MICROSOFT, commit: '5eb3eb745e16324ac7bffb1dbe006d8f13c8d993' },
        version: '1.0',
        cards: [CARD],
        headers: JSON_ANSWER,
        streams: false,
        first: (text) => message10(text),
        continues: (text, task) => message10(text, on(task)),
        reads: ['text', 'data'],
    },
    {
        name: 'Microsoft Agent Framework, A2AAgent on a2a-sdk 1.x, stream',
        source: { ...MICROSOFT, commit: '5eb3eb745e16324ac7bffb1dbe006d8f13c8d993' },
        version: '1.0',
        cards: [CARD],
        headers: EVENTS,
        streams: true,
        first: (text) => message10(text),
        continues: (text, task) => message10(text, on(task)),
        reads: ['text', 'data'],
    },
    {
        // Its default is application/json, but only text parts reach its model: docs/a2a-conformance.md.
        name: 'CrewAI with accepted_output_modes text/plain',
        source: CREWAI,
        version: '0.3',
        cards: [CARD],
        headers: EVENTS,
        streams: true,
        first: (text) => ({
            configuration: { acceptedOutputModes: ['text/plain'], blocking: true },
            message: message03(text, { metadata: { skill_id: 'contact_inspection' } }),
        }),
        continues: (text, task) => ({
            configuration: { acceptedOutputModes: ['text/plain'], blocking: true },
            message: message03(text, on(task)),
        }),
        reads: ['text'],
    },
];
//# sourceMappingURL=a2a-orchestrators.js.map