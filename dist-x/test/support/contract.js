import { OPERATIONS, REALTIME, SUBSCRIPTION_WRITES, WRITES } from './authority/operations.js';
/** The name of the path parameter for ids with this prefix. */
const PARAMETERS = {
    receipt: 'operation_id',
    cnv: 'conversation_id',
    msg: 'message_id',
    vis: 'visitor_id',
    ctc: 'contact_id',
    fil: 'file_id',
    aif: 'feature_id',
    sub: 'subscription_id',
};
function template({ path, template: given }) {
    const named = path.replace(/\?.*/, '').replace(/\{(\w+)(:\d+)?\}/g, (_, kind) => `{${PARAMETERS[kind] ?? kind}}`);
    return `/api/v1${given ?? named}`;
}
const WEB = 'web_1_1';
const CASES = [
    ...OPERATIONS,
    ...WRITES.map(({ body, ...one }) => ({
        ...{ ...one, method: 'POST', key: 'required', body: Object.keys(body(WEB)).sort() },
    })),
    ...SUBSCRIPTION_WRITES.map(({ body, ...one }) => ({
        ...{ ...one, key: 'optional', body: Object.keys(body?.(WEB) ?? {}).sort() },
    })),
];
function whole(cases) {
    const [first] = cases;
    if (first === undefined)
        throw new Error('an operation without a case');
    const { tool, method = 'GET', author = false, key = 'none', revision = false, status = 200 } = first;
    const conditions = cases.flatMap(({ given }) => (given ? [given] : []));
    const kinds = cases
        .flatMap((one) => (one.kind === undefined ? [] : [{ ...one, kind: one.kind }]))
        .filter(({ kind }, i, all) => all.findIndex((one) => one.kind === kind) === i);
    const always = kinds.length > 0 ? { scopes: [], flags: [], unrestricted: false } : first;
    return [
        tool,
        {
            ...{ method, path: template(first), scopes: [...always.scopes].sort(), dataAccess: [...always.flags].sort() },
            ...{ unrestricted: always.unrestricted ?? false, consent: first.noConsent ? 'refused' : 'none' },
            ...{ author, key, revision, status, body: first.body ?? [] },
            when: conditions
                .filter(({ parameter, has }, i) => conditions.findIndex((one) => one.parameter === parameter && one.has === has) === i)
                .map((one) => [one.parameter, one.has ?? one.is, [...one.scopes].sort(), [...one.flags].sort()])
                .concat(kinds.map((one) => {
                const name = `${one.kind}${one.unrestricted ? ' unrestricted' : ''}`;
                return [name, undefined, [...one.scopes].sort(), [...one.flags].sort()];
            }))
                .sort(),
            paged: cases.some(({ cursor }) => cursor !== undefined),
            outsiders: cases.flatMap((one) => one.outsiders ?? []),
            configured: cases.flatMap((one) => one.configured ?? []),
        },
    ];
}
const NAMES = [...new Set(CASES.map(({ tool }) => tool))];
export const CONTRACT = Object.fromEntries(NAMES.map((name) => whole(CASES.filter(({ tool }) => tool === name))));
/** The contract's realtime operations. All four need website_read and event_read, and none of them has an MCP tool. */
export const CONTRACT_REALTIME = Object.fromEntries(Object.entries(REALTIME).map(([name, one]) => [
    name,
    { ...one, path: `/api/v1${one.path}`, body: one.body !== undefined },
]));
/** The A2A skills, by hand, each with the operation whose body becomes the skill's artifact. */
export const CONTRACT_SKILLS = {
    support_insights: {
        runs: 'ai_conversation_summary',
        arguments: 'website_id range start end timezone',
        required: 'website_id range',
        scopes: 'reports_read conversation_read',
        dataAccess: '',
    },
    conversation_evidence: {
        runs: 'conversation_messages',
        arguments: 'conversation_id limit cursor',
        required: 'conversation_id',
        scopes: 'conversation_read message_content_read contact_read_pii',
        dataAccess: 'message_content pii',
    },
    configuration_inspection: {
        runs: 'config_get',
        arguments: 'website_id path limit cursor',
        required: 'website_id path',
        scopes: 'config_read',
        dataAccess: '',
    },
    contact_inspection: {
        runs: 'contact_get',
        arguments: 'contact_id',
        required: 'contact_id',
        scopes: 'contact_read',
        dataAccess: '',
    },
    offline_language_detection: {
        runs: 'ai_feature_execute',
        arguments: 'feature_id expected_version context',
        required: 'feature_id expected_version context',
        scopes: 'ai_features_read ai_execute',
        dataAccess: '',
    },
    customer_lookup: {
        runs: 'customer_find',
        arguments: 'email phone name external_id',
        required: '',
        scopes: 'contact_read contact_read_pii',
        dataAccess: 'pii',
    },
    conversation_search: {
        runs: 'search',
        arguments: 'query website_id limit',
        required: 'query',
        scopes: '',
        dataAccess: '',
        oneOf: [
            'conversation_read message_content_read contact_read_pii',
            'conversation_read visitor_notes_read contact_read_pii',
            'contact_read contact_read_pii',
        ],
    },
    conversation_handover: {
        runs: 'conversation_brief',
        arguments: 'conversation_id',
        required: 'conversation_id',
        scopes: 'conversation_read',
        dataAccess: '',
        more: 'contact_read contact_read_pii directory_read live_read message_content_read visitor_notes_read',
    },
};
//# sourceMappingURL=contract.js.map