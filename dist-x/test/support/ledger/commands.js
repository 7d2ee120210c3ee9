/** The four reviewed writes, as callers send them. No imports here: the long fault run does not use vitest. */
export const WRITES = [
    'visitor_note_add',
    'conversation_disposition_set',
    'ai_feature_execute',
    'config_plan',
];
/** The writes that only a credential has whose policy names them. */
export const BY_POLICY = ['conversation_reply', 'conversation_status_set', 'conversation_assign'];
const PATHS = {
    visitor_note_add: '/api/v1/visitors/{visitor_id}/notes',
    conversation_disposition_set: '/api/v1/conversations/{conversation_id}/disposition',
    ai_feature_execute: '/api/v1/ai/features/{feature_id}/execute',
    config_plan: '/api/v1/settings/plans',
    conversation_reply: '/api/v1/conversations/{conversation_id}/replies',
    conversation_status_set: '/api/v1/conversations/{conversation_id}/status',
    conversation_assign: '/api/v1/conversations/{conversation_id}/assignment',
};
export const RECEIPTS = {
    visitor_note_add: ['visitor.changed'],
    conversation_disposition_set: ['conversation.changed'],
    ai_feature_execute: [],
    config_plan: [],
};
export function restOf({ tool, input }) {
    const { website_id, ...rest } = input;
    const body = { ...rest };
    const path = PATHS[tool].replace(/\{(\w+)\}/g, (_, name) => {
        const value = String(body[name]);
        delete body[name];
        return value;
    });
    return { path: website_id === undefined ? path : `${path}?website_id=${String(website_id)}`, body };
}
export const mcpOf = ({ tool, input }, key) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool, arguments: { ...input, ...(key !== undefined && { idempotency_key: key }) } },
});
export const MCP_HEADERS = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
};
export const SITE = 'web_1_1';
export const VISITOR = 'vis_1_1_4';
export const CONVERSATION = 'cnv_1_1_2';
/** On a website with a CRM, only the CRM sets dispositions. */
export const CRM_CONVERSATION = 'cnv_1_2_2';
/** The AI feature for language detection. Its active version is 3. */
export const DETECTION = 'aif_1_1_5';
export const DISPOSITIONS = ['resolved', 'refund-issued', 'follow-up', 'duplicate', 'spam'];
export const note = (text, visitor = VISITOR) => ({
    tool: 'visitor_note_add',
    input: { visitor_id: visitor, text },
});
export const disposition = (value, conversation = CONVERSATION) => ({
    tool: 'conversation_disposition_set',
    input: { conversation_id: conversation, disposition: value },
});
export const detection = (text, version = 3, feature = DETECTION) => ({
    tool: 'ai_feature_execute',
    input: { feature_id: feature, expected_version: version, context: { type: 'text', text, default_language: 'en' } },
});
export const plan = (name, version = 3, feature = DETECTION) => ({
    tool: 'config_plan',
    input: {
        website_id: feature.replace(/^aif_(\d+_\d+)_.*/, 'web_$1'),
        path: `/ai/features/${feature}`,
        expected_version: version,
        changes: { name, enabled: false },
    },
});
export const reply = (text, conversation = CONVERSATION) => ({
    tool: 'conversation_reply',
    input: { conversation_id: conversation, text, visibility: 'public' },
});
/** Sets one of the four statuses in turn. */
export const status = (n, conversation = CONVERSATION) => ({
    tool: 'conversation_status_set',
    input: { conversation_id: conversation, status: ['pending', 'snoozed', 'closed', 'open'][n % 4] },
});
/** Gives the conversation to one of the first three operators of its website in turn. */
export const assignment = (n, conversation = CONVERSATION) => ({
    tool: 'conversation_assign',
    input: {
        conversation_id: conversation,
        operator_id: conversation.replace(/^cnv_(\d+_\d+)_.*/, `opr_$1_${(n % 3) + 1}`),
    },
});
export const sample = (tool, n) => {
    if (tool === 'visitor_note_add')
        return note(`Wants a call back, case ${n}`);
    if (tool === 'conversation_disposition_set') {
        return disposition(DISPOSITIONS[Number(n) % DISPOSITIONS.length] ?? 'spam');
    }
    return tool === 'ai_feature_execute' ? detection(`A sentence, number ${n}`) : plan(`Detection ${n}`);
};
//# sourceMappingURL=commands.js.map