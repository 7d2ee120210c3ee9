import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { lexer, type Token, walkTokens } from 'marked';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeCursor } from '../../src/events/cursors.ts';
import { loadPrompts, loadResources, loadTools } from '../../src/gateway/load.ts';
import { OPERATIONS, WRITES } from '../support/authority/operations.ts';
import { CONTRACT, CONTRACT_REALTIME } from '../support/contract.ts';
import type { Issued } from '../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';

/**
 * The guides are prose, so no compiler checks them. Every name in backticks must be in a closed list of this file. The
 * lists are written by hand from the specification. The examples in the guides are calls that must fit the declared
 * tools. The test sends the examples of served tools with the demo's data.
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

const routeOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path.slice('/api/v1'.length)}`;

/** The contract's tools, each with its REST operation relative to /api/v1. */
const TOOLS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CONTRACT).map(([name, operation]) => [name, routeOf(operation)]),
);

const WITHOUT_TOOL = ['GET /openapi.json', ...Object.values(CONTRACT_REALTIME).map(routeOf)];
const ROUTES = [...Object.values(TOOLS), ...WITHOUT_TOOL];

/** The complete table of error codes, by HTTP status. */
const CODES: Readonly<Record<string, readonly string[]>> = {
  400: words(`invalid_request invalid_parameter duplicate_parameter unsupported_parameter invalid_cursor invalid_json
    body_too_large idempotency_key_required invalid_idempotency_key if_match_required`),
  401: words('unauthenticated token_expired token_revoked authority_changed wrong_resource'),
  404: words('not_found not_permitted'),
  405: ['method_not_allowed'],
  406: ['not_acceptable'],
  409: words(`approval_rejected approval_lapsed idempotency_conflict operation_in_progress operation_conflict outcome_unknown version_conflict
    revision_changed concurrent_mutation inventory_limit replay_expired`),
  415: ['unsupported_media_type'],
  422: words('capability_unavailable adapter_not_available human_consent_unsupported'),
  429: words('approval_limit quota_exceeded task_limit stream_limit'),
  500: ['internal'],
  503: words(`service_unavailable enrollment_unavailable authority_unavailable native_unavailable event_family_paused
    subscription_corrupt journal_unavailable`),
};

const SCOPES = words(`website_read health_read conversation_read contact_read contact_read_pii visitor_notes_read
  config_read config_plan ai_features_read ai_execute reports_read file_read message_content_read visitor_notes_write
  conversation_update directory_read live_read event_read internal_notes_read`);
const FLAGS = words('message_content pii internal_notes');
const SKILLS = words(`support_insights conversation_evidence configuration_inspection contact_inspection
  offline_language_detection customer_lookup conversation_search conversation_handover`);
const TASK_FAILURES = words('message_id_conflict artifact_too_large interrupted result_withheld');
/** The arguments of each prompt. Arguments after `optional` can be left out. */
const PROMPT_ARGUMENTS: Readonly<Record<string, string>> = {
  performance_summary: 'website_id range optional start end timezone',
  configuration_preview: 'feature_id optional name enabled',
};
const PROMPTS = Object.keys(PROMPT_ARGUMENTS);

/** The members of answers and the parameters of paths, as the rows of the operations name them. */
const MEMBERS = [...OPERATIONS, ...WRITES].flatMap(({ path, members }) => [
  ...Object.values(members).flatMap(Object.keys),
  ...[...path.matchAll(/[?&](\w+)=/g)].map(([, name = '']) => name),
]);
const PARAMETERS = ROUTES.flatMap((route) => [...route.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name));

/** All other snake_case words that the guides may use: fields, parameters and constants of the public contract. */
const VOCABULARY = words(`request_id retry_after website_ids channel_ids team_ids subsite_ids updated_asc
  idempotency_key if_match unrestricted_required prefix_tenant_site_native event_id event_type occurred_at recorded_at
  created_from created_to updated_since voice_transcript attachment_only query_field query_match external_id
  stored_primary_contacts bucket_time_zone restriction_dimensions first_response_seconds first_response_count
  speed_response_seconds speed_response_count average_response_seconds duration_seconds sample_count average_seconds
  visitor_message_count bot_message_count operator_message_count classified_count resolved_count first_contact_count
  first_contact_resolved sentiment_average confidence_average confidence_count no_data content_derived_measures
  language_labels operator_labels item_path plannable_fields expected_version scope_denied preview_only
  default_language expires_at ask_ai language_detection spam_checker spelling_grammar_check chat_summary
  product_recommendation email_autopilot voice_autopilot citation_summary stored_events_only socket_url`);

/** The formats of example values in fenced blocks. The gateway must be able to parse each value. */
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

const RESOURCES = words(`gateway://context gateway://guides/{guide} gateway://capabilities/{website_id}
  gateway://reports/ai-conversations/{website_id}/{range} gateway://config/{website_id}/catalog
  gateway://config/{website_id}/schema gateway://config/{website_id}/ai/features
  gateway://config/ai/features/{feature_id}`);
/** The link targets that a guide may use: pages and documents that the gateway serves itself. */
const PAGES = words('/docs /docs/reference /docs/errors /llms.txt /llms-full.txt /api/v1/openapi.json');
const A2A_METHODS = ['SendMessage', 'GetTask', 'ListTasks', 'CancelTask'];

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

function read(guide: string): string {
  return readFileSync(new URL(`../../resources/guides/${guide}.md`, import.meta.url), 'utf8');
}

/** Removes the fenced blocks of a text, also those inside a list. */
function prose(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '');
}

function tokens(text: string): Token[] {
  const all: Token[] = [];
  walkTokens(lexer(text), (token) => void all.push(token));
  return all;
}

function jobs(text: string): string[] {
  return text.split(/^(?=## )/m).filter((section) => section.startsWith('## Job: '));
}

function spans(text: string): string[] {
  return [...prose(text).matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
}

/** The known routes that a path matches. The path has parameters like `{name}`, or real values. */
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
  // If an example does not have a member, the value is undefined. Every expectation below names the member that it reads.
  return tokens(text).flatMap((token) =>
    token.type === 'code' && token['lang'] === 'json' ? [JSON.parse(String(token['text'])) as Example] : [],
  );
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

const registry = await loadTools();
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
  ...MEMBERS,
  ...PARAMETERS,
  ...VOCABULARY,
]);

it('the lists of this test have the sizes of the specification', () => {
  expect(new Set(ROUTES).size).toBe(ROUTES.length);
  expect(SCOPES).toHaveLength(19);
  expect(new Set(codes).size).toBe(43 + 3); // the three approval codes are an extension
});

it('the folder holds the seven guides and nothing else', () => {
  const files = readdirSync(new URL('../../resources/guides/', import.meta.url));
  expect(files.sort()).toEqual(GUIDES.map((guide) => `${guide}.md`).sort());
});

/** Words of prose for the operations that cost more than one unit. */
const PRICED: Readonly<Record<string, string>> = {
  ai_conversation_summary: 'a report',
  conversation_brief: 'a brief',
  conversations_count: 'a count',
  fetch: '`fetch`',
  search: '`search`',
};

it('the overview and the operations guide name every operation that costs more than one unit', () => {
  const dear = registry.operations.filter(({ cost, costWith }) => cost > 1 || costWith !== undefined);
  expect(dear.map(({ name }) => name)).toEqual(Object.keys(PRICED));
  const limits = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    .split('\n')
    .find((line) => line.startsWith('| quota of an app'));
  const quota = read('overview').split('## Restrictions and quota')[1]?.split('\n## ')[0];
  for (const noun of Object.values(PRICED)) {
    expect(limits).toContain(noun);
    expect(quota).toContain(noun);
  }
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
    expect((text.match(/^ *```/gm) ?? []).length % 2).toBe(0);
    expect(tokens(text).filter((token) => token.type === 'html')).toEqual([]);
    // llms-full.txt has its own limit, because it holds all guides and the whole reference.
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(12_288);
    expect(prose(text).match(/`/g)?.length ?? 0).toSatisfy((ticks: number) => ticks % 2 === 0);
  });

  it('uses no name that the contract does not know', () => {
    const names = spans(text).filter((span) => /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(span));
    expect(names.length).toBeGreaterThan(20);
    const ids = Object.values(FORMATS).slice(0, -1);
    expect(names.filter((name) => !known.has(name) && !ids.some((id) => id.test(name)))).toEqual([]);
  });

  it('names only paths of the contract, each with its own method and tool', () => {
    const paths = [...text.matchAll(/(?:(GET|POST|PATCH|PUT|DELETE) )?[^\s`"]*\/api\/v1(\/[^\s`"'?)]*)/g)];
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
      if (CONTRACT[call.name ?? '']?.key === 'required') expect(values).toHaveProperty('idempotency_key');
      // All ids of one call must belong to one website. Otherwise, the answer would be not_found.
      const sites = strings(values).flatMap((value) => /\b[a-z]{3}_(\d+_\d+)(?:_\d+)?$/.exec(value)?.[1] ?? []);
      expect(new Set(sites).size, JSON.stringify(call)).toBeLessThanOrEqual(1);
    }
    expect(calls.length).toBeGreaterThan(0);
  });

  it('gives examples whose arguments the tool takes', () => {
    for (const { name = '', arguments: given = {} } of examples(text).filter((call) => call.method === undefined)) {
      const tool = registry.get(name) ?? expect.fail(`${name} is not served`);
      const { idempotency_key: key, if_match: revision, ...values } = given;
      if (tool.idempotency !== 'optional')
        expect(key !== undefined, `${name} and its key`).toBe(tool.idempotency === 'required');
      expect(revision !== undefined, `${name} and its revision`).toBe(tool.ifMatch);
      expect(tool.input.safeParse(values).error?.issues ?? [], `${name} ${JSON.stringify(values)}`).toEqual([]);
    }
  });

  it('explains every failure of its own of a tool that it shows', () => {
    const names = spans(text);
    for (const { name = '' } of examples(text)) {
      for (const code of registry.get(name)?.errors ?? []) expect(names, `${name} can fail so`).toContain(code);
    }
    expect(names).toContain('quota_exceeded');
  });

  it('tells jobs in numbered steps, each with an end', () => {
    expect(jobs(text).length).toBeGreaterThan(0);
    for (const job of jobs(text)) {
      const title = job.slice(0, job.indexOf('\n'));
      const steps = lexer(job).flatMap((token) => (token.type === 'list' && token['ordered'] ? [token] : []));
      expect(steps, title).toHaveLength(1);
      expect(steps[0]?.['items'].length, title).toBeGreaterThan(1);
      expect(prose(job), title).toMatch(/\b[Ss]top\b/);
    }
  });

  it('links only to what the gateway serves, and names only MCP resources that there are', () => {
    const targets = tokens(text).flatMap((token) => (token.type === 'link' ? [String(token['href'])] : []));
    const guides = GUIDES.map((guide) => `/docs/guides/${guide}`);
    expect(targets.filter((target) => !PAGES.includes(target) && !guides.includes(target))).toEqual([]);
    const uris = text.match(/gateway:\/\/[^\s`"]+/g) ?? [];
    expect(uris.filter((uri) => !RESOURCES.includes(uri))).toEqual([]);
  });

  it('treats text as data and says what is excluded', () => {
    expect(text).toMatch(/\bdata\b[^.]*\binstructions?\b|\binstructions?\b[^.]*\bdata\b|[Tt]ext is data/);
    expect(text).toMatch(/^## Excluded by design$/m);
  });
});

describe('together', () => {
  const all = [...texts.values()].flatMap(spans);

  it('name every tool, scope, skill and prompt', () => {
    const missing = [...Object.keys(TOOLS), ...SCOPES, ...SKILLS, ...PROMPTS].filter((name) => !all.includes(name));
    expect(missing, 'name each of these in a guide of resources/guides').toEqual([]);
  });

  it('pair every tool with its REST operation', () => {
    const paired = [...texts.values()].flatMap((text) =>
      [...prose(text).matchAll(/`\w+ \/api\/v1\/[^`]+`,\s+tool\s+`([^`]+)`/g)].map((match) => match[1]),
    );
    expect(
      Object.keys(TOOLS).filter((name) => !paired.includes(name)),
      'a guide says of each: `METHOD /api/v1/…`, tool `NAME`',
    ).toEqual([]);
  });

  it('show a call of every tool that is served, but for three', () => {
    const shown = new Set([...texts.values()].flatMap((text) => examples(text).map(({ name }) => name)));
    const silent = registry.tools.map(({ name }) => name).filter((name) => !shown.has(name));
    // The tools channels and operators have no example, because teams has an example with the same arguments.
    // operation_get takes an id that only the answer to a write contains.
    expect(silent.sort(), 'a guide shows a call of each other tool').toEqual([
      'channels',
      'operation_get',
      'operators',
    ]);
  });

  it('say of no tool that it is not served, because every tool of the contract is', () => {
    expect(Object.keys(TOOLS).filter((name) => registry.get(name) === undefined)).toEqual([]);
    for (const text of texts.values()) expect(text).not.toContain('Not served by this version');
  });

  it('the overview names every MCP resource, and every prompt with its arguments', async () => {
    const overview = texts.get('overview') ?? '';
    expect(RESOURCES.filter((uri) => !spans(overview).includes(uri))).toEqual([]);
    expect((await loadResources()).map(({ uri }) => uri).sort()).toEqual([...RESOURCES].sort());
    for (const prompt of await loadPrompts()) {
      const listed = PROMPT_ARGUMENTS[prompt.name];
      const names = (required: boolean) =>
        prompt.arguments.filter((one) => one.required === required).map(({ name }) => name);
      expect([...names(true), 'optional', ...names(false)].join(' '), prompt.name).toBe(listed);
      const told = new RegExp(`\`${prompt.name}\`\\s+\\(([^)]*)\\)`).exec(overview)?.[1] ?? '';
      expect(told.replaceAll(/[`,]/g, '').replaceAll(/\s+/g, ' '), prompt.name).toBe(listed);
    }
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

describe('followed with the demo’s data', () => {
  let gateway: TestGateway;
  let holder: Issued;
  beforeAll(async () => {
    gateway = await openTestGateway();
    holder = await gateway.issue({ authors: ['opr_1_1_1'] });
  });
  afterAll(() => gateway.close());

  const call = async (name: string, input: Record<string, unknown>) => {
    const tool = registry.get(name);
    if (!tool) throw new Error(`${name} is not served`);
    const { idempotency_key: key, if_match: revision, ...values } = input;
    return gateway.corridor.call({
      tool,
      resource: 'mcp',
      bearer: holder.token,
      input: values,
      idempotencyKey: typeof key === 'string' ? key : undefined,
      ifMatch: revision === undefined ? undefined : String(revision),
    });
  };
  const tell = async (name: string, input: Record<string, unknown>): Promise<string> => {
    const outcome = await call(name, input);
    return 'failure' in outcome ? outcome.failure.code : 'answered';
  };
  // biome-ignore lint/suspicious/noExplicitAny: the corridor has checked the body
  const body = async (name: string, input: Record<string, unknown>): Promise<any> => {
    const outcome = await call(name, input);
    if (!('body' in outcome)) throw new Error(`${name} ${JSON.stringify(input)} failed`);
    return outcome.body;
  };

  /** Plants the subscription of the examples. Replaces the cursor in the values of the examples with a real cursor. */
  async function prepared(name: string, values: Record<string, unknown>): Promise<Record<string, unknown>> {
    const subscription = values['subscription_id'];
    if (typeof subscription !== 'string') return values;
    const revision = typeof values['if_match'] === 'number' ? values['if_match'] : 1;
    const { credential, installation } = holder;
    await gateway.database
      .sql`INSERT INTO gateway.subscription (id, installation_id, tenant, sites, event_types, start, revision)
      VALUES (${subscription}, ${installation}, 1, '{1}', '{conversation.*}', 'beginning', ${revision})
      ON CONFLICT (id) DO UPDATE SET revision = excluded.revision`;
    const state = {
      subscription,
      revision,
      credential,
      environment: 'test' as const,
      positions: new Map([['web_1_1', 0]]),
    };
    return { ...values, ...(name === 'events_pull' && { after: writeCursor(KEYS, state) }) };
  }

  it.each([...texts])('every example of %s that is served answers', async (_guide, text) => {
    for (const { name = '', arguments: values = {} } of examples(text).filter((one) => one.method === undefined)) {
      const given = await prepared(name, values);
      expect(await tell(name, given), `${name} ${JSON.stringify(values)}`).toBe('answered');
    }
  });

  it('investigation: the chunks of a file join to what its metadata says', async () => {
    const file_id = 'fil_1_1_6';
    const { file } = (await body('file_get', { file_id })).data;
    const parts: Buffer[] = [];
    for (let chunk: number | null = 0; chunk !== null; ) {
      const { data } = await body('file_content', { file_id, chunk, version: file.version });
      const bytes = Buffer.from(data.content, 'base64');
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(data.sha256);
      if (data.next_chunk !== null) expect(data.content).toHaveLength(87_384);
      parts.push(bytes);
      chunk = data.next_chunk;
    }
    expect(parts).toHaveLength(file.chunk_count);
    expect(createHash('sha256').update(Buffer.concat(parts)).digest('hex')).toBe(file.sha256);
    expect(await tell('file_content', { file_id, chunk: file.chunk_count })).toBe('not_found');
    expect(await tell('file_content', { file_id, version: '0123456789abcdef' })).toBe('version_conflict');
  });

  it('reporting: the conversations behind a headline are as many as it says', async () => {
    const report = (
      await body('ai_conversation_summary', {
        website_id: 'web_1_1',
        range: 'date',
        start: '2026-11-01',
        end: '2026-11-07',
      })
    ).data;
    const between = examples(texts.get('reporting') ?? '').find(({ name }) => name === 'conversations_list')?.arguments;
    const found = (await body('conversations_list', between ?? {})).data;
    expect(found.next_cursor).toBe(null);
    const evidenced = found.conversations.filter((one: { ai: { involved: boolean } }) => one.ai.involved);
    expect(evidenced).toHaveLength(report.headline.ai_conversations);
    expect(evidenced.filter((one: { ai: { escalated: boolean } }) => one.ai.escalated)).toHaveLength(
      report.headline.human_escalations,
    );
    expect(evidenced.length).toBeGreaterThan(0);
  });

  it('contacts: search is case-sensitive and by prefix of the full name', async () => {
    const find = async (query: string) =>
      (await body('contacts_list', { website_id: 'web_1_1', query, query_field: 'name' })).data.data.length;
    const { name } = (await body('contact_get', { contact_id: 'ctc_1_1_89' })).data.contact;
    expect(await find(name.slice(0, 4))).toBeGreaterThan(0);
    expect(await find(name.slice(0, 4).toLowerCase())).toBe(0);
    expect(await find(name.slice(name.indexOf(' ') + 1))).toBe(0);
  });

  it('configuration: labels are searched as words', async () => {
    const find = async (query: string) =>
      (await body('config_search', { website_id: 'web_1_1', query })).data.matches.length;
    expect(await find('LANGUAGE DET')).toBeGreaterThan(0);
    expect(await find('language_detection')).toBe(0);
  });

  it('the cursors that the guides call wrong are refused', async () => {
    const website_id = 'web_1_1';
    for (const [name, input] of [
      ['conversations_list', { cursor: 'cnv_1_2_5' }],
      ['conversations_list', { cursor: 'cnv_1_1_5', order: 'updated_asc' }],
      ['config_get', { cursor: 'aif_1_1_1', path: '/ai/features/aif_1_1_4' }],
    ] as const) {
      expect(await tell(name, { website_id, ...input }), name).toBe('invalid_cursor');
    }
  });
});
