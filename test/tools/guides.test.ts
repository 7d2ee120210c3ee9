import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/**
 * The guides are prose, so nothing compiles them. Every name they put in backticks is held here against closed lists,
 * written by hand from the specification and apart from the tool declarations.
 */

const GUIDES = [
  'overview',
  'investigation',
  'contacts',
  'reporting',
  'configuration',
  'agent_tasks',
  'event_recovery',
] as const;

/** The 45 tools and the REST operation of each, relative to /api/v1. */
const TOOLS: Readonly<Record<string, string>> = {
  operation_get: 'GET /operations/{operation_id}',
  websites_list: 'GET /websites',
  capabilities_list: 'GET /capabilities',
  health: 'GET /health',
  gateway_context: 'GET /context',
  guide_read: 'GET /guides/{guide}',
  conversations_list: 'GET /conversations',
  conversation: 'GET /conversations/{conversation_id}',
  conversation_contacts: 'GET /conversations/{conversation_id}/contacts',
  conversation_message: 'GET /conversations/{conversation_id}/messages/{message_id}',
  conversation_messages: 'GET /conversations/{conversation_id}/messages',
  conversation_disposition_set: 'POST /conversations/{conversation_id}/disposition',
  visitor: 'GET /dashboard/visitors/{visitor_id}',
  visitor_conversations: 'GET /dashboard/visitors/{visitor_id}/conversations',
  visitor_notes: 'GET /visitors/{visitor_id}/notes',
  visitor_note_add: 'POST /visitors/{visitor_id}/notes',
  contacts_list: 'GET /contacts',
  contact_get: 'GET /contacts/{contact_id}',
  contact_visitors: 'GET /contacts/{contact_id}/visitors',
  contact_notes: 'GET /contacts/{contact_id}/notes',
  file_content: 'GET /files/{file_id}/content',
  file_get: 'GET /files/{file_id}',
  conversation_message_attachments: 'GET /conversations/{conversation_id}/messages/{message_id}/attachments',
  operators: 'GET /operators',
  dispositions: 'GET /dispositions',
  saved_responses: 'GET /saved_responses',
  saved_links: 'GET /saved_links',
  offers: 'GET /offers',
  channels: 'GET /channels',
  teams: 'GET /teams',
  ai_conversation_summary: 'GET /analytics/ai-conversations/summary',
  ai_features_list: 'GET /ai/features',
  ai_feature_get: 'GET /ai/features/{feature_id}',
  ai_feature_execute: 'POST /ai/features/{feature_id}/execute',
  config_catalog: 'GET /settings/catalog',
  config_schema: 'GET /settings/schema',
  config_get: 'GET /settings/item',
  config_search: 'GET /settings/search',
  config_plan: 'POST /settings/plans',
  subscriptions_list: 'GET /subscriptions',
  subscription_create: 'POST /subscriptions',
  subscription_get: 'GET /subscriptions/{subscription_id}',
  subscription_replace: 'PATCH /subscriptions/{subscription_id}',
  subscription_delete: 'DELETE /subscriptions/{subscription_id}',
  events_pull: 'GET /events',
};

const WITHOUT_TOOL = [
  'GET /openapi.json',
  'POST /realtime/sessions',
  'POST /realtime/sessions/{session_id}/tickets',
  'DELETE /realtime/sessions/{session_id}',
  'GET /realtime/sessions/{session_id}/socket',
];
const ROUTES = [...Object.values(TOOLS), ...WITHOUT_TOOL];

/** The closed table of error codes, by status. */
const CODES: Readonly<Record<string, readonly string[]>> = {
  400: words(`invalid_request invalid_parameter duplicate_parameter unsupported_parameter invalid_cursor invalid_json
    body_too_large idempotency_key_required invalid_idempotency_key if_match_required`),
  401: words('unauthenticated token_expired token_revoked authority_changed wrong_resource'),
  404: words('not_found not_permitted'),
  405: ['method_not_allowed'],
  406: ['not_acceptable'],
  409: words(`idempotency_conflict operation_in_progress operation_conflict outcome_unknown version_conflict
    revision_changed concurrent_mutation inventory_limit replay_expired`),
  415: ['unsupported_media_type'],
  422: words('capability_unavailable adapter_not_available human_consent_unsupported'),
  429: words('quota_exceeded task_limit'),
  500: ['internal'],
  503: words(`service_unavailable enrollment_unavailable authority_unavailable native_unavailable event_family_paused
    subscription_corrupt journal_unavailable`),
};

const SCOPES = words(`website_read health_read conversation_read contact_read contact_read_pii visitor_notes_read
  config_read config_plan ai_features_read ai_execute reports_read file_read message_content_read visitor_notes_write
  conversation_update directory_read live_read event_read internal_notes_read`);
const FLAGS = words('message_content pii internal_notes');
const SKILLS = words(`support_insights conversation_evidence configuration_inspection contact_inspection
  offline_language_detection`);
const TASK_FAILURES = words('message_id_conflict artifact_too_large interrupted');
const PROMPTS = words('performance_summary configuration_preview');

/** Every other snake_case word that the guides may use: fields, parameters and constants of the public contract. */
const VOCABULARY = words(`
  website_ids website_id data_access authority_expires_at time_zone request_id retry_after channel_ids team_ids
  subsite_ids idempotency_key if_match next_cursor unrestricted_required prefix_tenant_site_native
  channel_id team_id subsite_id operator_id contact_id contact_ids visitor_id conversation_id feature_id
  subscription_id session_id event_id event_type note_id platform_id
  created_at updated_at first_response_at last_message_at closed_at last_seen_at occurred_at recorded_at
  created_from created_to updated_since updated_asc message_count include_internal voice_transcript attachment_only
  text_truncated attachment_count media_type chunk_size chunk_count next_chunk persisted_conversations
  query_field query_match stored_primary_contacts first_name last_name mobile_e164 phone_e164 conversation_count
  contact_linked ai_evidenced_conversations bucket_time_zone generated_at cache_seconds restriction_dimensions
  ai_conversations ai_touched_visitors ai_assisted_conversations ai_customer_facing_conversations human_escalations
  first_response_seconds first_response_count speed_response_seconds speed_response_count average_response_seconds
  duration_seconds sample_count average_seconds visitor_message_count bot_message_count operator_message_count
  classified_count resolved_count first_contact_count first_contact_resolved sentiment_average confidence_average
  confidence_count volume_hourly no_data content_derived_measures language_labels operator_labels
  item_path plannable_fields expected_version application_execution context_types scope_denied
  approval_required apply_available preview_only default_language expires_at
  ask_ai language_detection spam_checker spelling_grammar_check chat_summary product_recommendation email_autopilot
  voice_autopilot citation_summary
  has_more retained_from accepted_cursor stored_events_only ticket_expires_at socket_url heartbeat_seconds
  max_subscriptions`);

/** Example values in fenced blocks must be ones that the gateway would parse. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  website_id: /^web_[0-9]{1,20}_[1-9][0-9]{0,18}$/,
  conversation_id: /^cnv_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/,
  contact_id: /^ctc_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/,
  visitor_id: /^vis_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/,
  file_id: /^fil_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/,
  feature_id: /^aif_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/,
  subscription_id: /^sub_[a-f0-9]{32}$/,
  idempotency_key: /^[!-~]{1,128}$/,
};

const WRITES_NEEDING_KEY = words('visitor_note_add conversation_disposition_set ai_feature_execute config_plan');
const A2A_METHODS = ['SendMessage', 'GetTask', 'ListTasks', 'CancelTask'];

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

function read(guide: string): string {
  return readFileSync(new URL(`../../resources/guides/${guide}.md`, import.meta.url), 'utf8');
}

/** The text without fenced blocks. */
function prose(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

function spans(text: string): string[] {
  return [...prose(text).matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

/** Known routes that a path stands for, with its parameters spelt `{name}` or filled in. */
function routesOf(path: string): string[] {
  return ROUTES.filter((route) => {
    const template = route.slice(route.indexOf(' ') + 1);
    if (path.includes('{')) return template === path;
    return new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/{}]+')}$`).test(path);
  });
}

interface Example {
  name?: string;
  method?: string;
  arguments?: Record<string, unknown>;
  params?: { message?: { parts?: { data?: { skill?: string; arguments?: Record<string, unknown> } }[] } };
}

function examples(text: string): Example[] {
  return [...text.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map((match) => JSON.parse(match[1] ?? '') as Example);
}

const texts = new Map(GUIDES.map((guide) => [guide, read(guide)] as const));
const codes = Object.values(CODES).flat();
const known = new Set([
  ...Object.keys(TOOLS),
  ...GUIDES,
  ...codes,
  ...SCOPES,
  ...FLAGS,
  ...SKILLS,
  ...TASK_FAILURES,
  ...PROMPTS,
  ...VOCABULARY,
]);

it('the lists of this test have the sizes of the specification', () => {
  expect(Object.keys(TOOLS)).toHaveLength(45);
  expect(new Set(ROUTES).size).toBe(50);
  expect(SCOPES).toHaveLength(19);
  expect(new Set(codes).size).toBe(42);
});

it('the folder holds the seven guides and nothing else', () => {
  const files = readdirSync(new URL('../../resources/guides/', import.meta.url));
  expect(files.sort()).toEqual(GUIDES.map((guide) => `${guide}.md`).sort());
});

describe.each([...texts])('guide %s', (_guide, text) => {
  it('is CommonMark under a level-1 heading, short enough, without HTML or tables', () => {
    expect(text).toMatch(/^# \S/);
    expect(text.match(/^# /gm)).toHaveLength(1);
    expect(text.length).toBeLessThanOrEqual(65_536);
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThanOrEqual(60);
    expect(lines.length).toBeLessThanOrEqual(300);
    expect(text.match(/<[a-z/!?][^>]*>/gi) ?? []).toEqual([]);
    expect(lines.filter((line) => line.trimStart().startsWith('|'))).toEqual([]);
    expect((text.match(/^```/gm) ?? []).length % 2).toBe(0);
    expect(prose(text).match(/`/g)?.length ?? 0).toSatisfy((ticks: number) => ticks % 2 === 0);
  });

  it('uses no name that the contract does not know', () => {
    const names = spans(text).filter((span) => /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(span));
    expect(names.length).toBeGreaterThan(20);
    const ids = Object.values(FORMATS).slice(0, -1);
    expect(names.filter((name) => !known.has(name) && !ids.some((id) => id.test(name)))).toEqual([]);
  });

  it('names only paths of the contract, each with its own method and tool', () => {
    const paths = [...text.matchAll(/(?:(GET|POST|PATCH|PUT|DELETE) )?[^\s`"]*\/api\/v1(\/[^\s`"'?]*)/g)];
    expect(paths.length).toBeGreaterThan(0);
    const wrong = paths.filter(([, method, path]) => {
      const routes = routesOf(path ?? '');
      return routes.length === 0 || (method !== undefined && !routes.some((route) => route.startsWith(`${method} `)));
    });
    expect(wrong.map((match) => match[0])).toEqual([]);
    for (const pair of prose(text).matchAll(/`(\w+) \/api\/v1(\/[^`]+)`,\s+tool\s+`([^`]+)`/g)) {
      expect(`${pair[1]} ${pair[2]}`, `tool ${pair[3]}`).toBe(TOOLS[pair[3] ?? '']);
    }
    for (const named of prose(text).matchAll(/\btool\s+`([^`]+)`/g)) expect(Object.keys(TOOLS)).toContain(named[1]);
  });

  it('gives each error code under its own status', () => {
    const groups = [...prose(text).matchAll(/\b([45]\d\d)\s+((?:`[^`]+`(?:,\s+(?=`)|\s+(?:or|and)\s+(?=`))?)+)/g)];
    expect(groups.length).toBeGreaterThan(0);
    for (const [, status = '', list = ''] of groups) {
      for (const [, code = ''] of list.matchAll(/`([^`]+)`/g)) expect(CODES[status], code).toContain(code);
    }
  });

  it('gives examples that are JSON, call what exists and pass parseable ids', () => {
    const calls = examples(text);
    for (const call of calls) {
      const part = call.params?.message?.parts?.[0]?.data;
      if (call.method !== undefined) expect(A2A_METHODS).toContain(call.method);
      else expect(Object.keys(TOOLS)).toContain(call.name);
      if (part) expect(SKILLS).toContain(part.skill);
      const values = { ...call.arguments, ...part?.arguments };
      for (const [name, format] of Object.entries(FORMATS)) {
        if (name in values) expect(values[name], name).toMatch(format);
      }
      if (WRITES_NEEDING_KEY.includes(call.name ?? '')) expect(values).toHaveProperty('idempotency_key');
    }
    expect(calls.length).toBeGreaterThan(0);
  });

  it('treats text as data and says what is excluded', () => {
    expect(text).toMatch(/\bdata\b[^.]*\binstructions?\b|\binstructions?\b[^.]*\bdata\b|[Tt]ext is data/);
    expect(text).toMatch(/^## Excluded by design$/m);
  });
});

describe('together', () => {
  const all = [...texts.values()].flatMap(spans);

  it('name every tool, scope, skill and prompt', () => {
    expect([...Object.keys(TOOLS), ...SCOPES, ...SKILLS, ...PROMPTS].filter((name) => !all.includes(name))).toEqual([]);
  });

  it('the overview explains every error code', () => {
    const overview = spans(texts.get('overview') ?? '');
    expect(codes.filter((code) => !overview.includes(code))).toEqual([]);
  });

  it('the vocabulary holds no word that no guide uses', () => {
    expect(VOCABULARY.filter((word) => !all.includes(word))).toEqual([]);
  });

  it('never advise a new key after an unknown outcome', () => {
    for (const text of texts.values()) {
      for (const item of text.matchAll(/^- 409 `outcome_unknown`[\s\S]*?(?=^- |^$)/gm)) {
        expect(item[0]).toMatch(/[Nn]ever\s+(?:use\s+a|send\s+the\s+note\s+under\s+a)\s+new\s+key/);
      }
    }
  });
});
