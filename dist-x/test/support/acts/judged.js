/** Tests that say nothing about this agent, each with the reason. */
export const SKIPPED = {
    'CORE-CTX-001': 'Holds for agents that refuse a contextId of the client. This agent accepts it, as section 3.4.1 allows.',
};
const UNSUPPORTED_PUSH = {
    section: '3.3.4',
    sentence: 'If AgentCard.capabilities.pushNotifications is false or not present, operations related to push notification configuration (Create, Get, List, Delete) MUST return PushNotificationNotSupportedError.',
    wrong: '"expect_error":{"code":"UnsupportedOperationError"}',
    right: '"expect_error":{"code":"PushNotificationNotSupportedError"}',
};
export const FAULTS = {
    'CORE-CAP-001': UNSUPPORTED_PUSH,
    'PUSH-CFG-004': UNSUPPORTED_PUSH,
    'CORE-SEND-004': {
        section: '3.3.2',
        sentence: 'A Media Type provided in the request’s message parts or implied for an artifact is not supported by the agent or the specific skill being invoked.',
        // The test writes the media type into the part's metadata. A part names its media type in the member `mediaType`.
        wrong: '"metadata":{"contentType":"application/x-unsupported-type-12345"}',
        right: '"mediaType":"application/x-unsupported-type-12345"',
    },
    'CORE-ERR-007': {
        section: '9.5',
        sentence: 'Error Details: Mapped to error.data (array of objects, each containing a @type key).',
        wrong: '"data":{"type":"object"}',
        right: '"data":{"type":"array"}',
    },
    'SEC-AUTH-002': {
        section: '3.3.2',
        sentence: 'Servers SHOULD NOT distinguish between "does not exist" and "not authorized" to prevent information leakage.',
        // The section names HTTP 403 and HTTP 404 as examples. The gateway answers 404 in both cases.
        wrong: '"one_of":[200,403]',
        right: '"one_of":[200,404]',
    },
    'VER-NEG-002': {
        section: '3.6.2',
        sentence: 'Agents MUST interpret empty value as 0.3 version.',
        // Version 0.3 has no method of this name.
        wrong: '"expect":{"status":200,"body":{"result":{"task":{"id":{"type":"string"}}}}}',
        right: '"expect":{"status":200,"body":{"error":{"code":-32009}}}',
    },
};
//# sourceMappingURL=judged.js.map