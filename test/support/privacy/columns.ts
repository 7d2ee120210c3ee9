import type postgres from 'postgres';

/** Why a column that can hold text never holds what belongs to a customer. */
const STAFF = 'operators and owners of the organization, not its customers';
const CATALOGUE = 'settings and catalogues of the organization';
const CREDENTIALS = 'ids, rights, addresses and digests of apps and their sessions';
const CLOSED = 'a word from a closed list';
const RECEIPTS = 'types of receipts and positions, without content';
const IMPORT = 'names of files, organizations and steps, and the place where an import continues';
const SOURCE = 'settings and state of a helpdesk; numbers of its rows';
const SYSTEM = 'names of tables and indexes';
const ERASURE = 'the erasure itself: ids of the gateway, digests, counts';
const LEDGER = 'digests, ids and names of operations';
const AUDIT =
  'who called what, when and with what result: ids of the gateway, names of apps, addresses, digests (audit, E6)';
const TASK = 'ids, digests and names of a task';

/**
 * All columns that can hold text, with `planted` or the reason why they hold nothing of a person. A new column must be
 * added here, and planted in erasure-canary.test.ts if it can hold something of a person.
 */
export const COLUMNS: Readonly<Record<string, string>> = {
  ...of('gateway.app', CREDENTIALS, 'id name switched_off'),
  ...of('gateway.approval', 'planted', 'command'),
  ...of(
    'gateway.approval',
    LEDGER,
    'operation_id credential_id scopes consent_id operation surface client_name client_version state lapsed_because decided_by',
  ),
  ...of(
    'gateway.audit',
    AUDIT,
    'organization_id website_id app_id installation_id credential_id person_id client_name client_version address surface operation targets outcome duration_ms request_id trace_id input_digest operation_id kid previous digest mark',
  ),
  ...of('gateway.audit_app_day', AUDIT, 'organization_id day app_id operation'),
  ...of('gateway.audit_app_hour', AUDIT, 'organization_id app_id'),
  ...of(
    'gateway.audit_block',
    AUDIT,
    'organization_id app_id installation_id credential_id person_id client_name client_version address surface records kid previous digest',
  ),
  ...of('gateway.audit_chain', AUDIT, 'day kid digest'),
  ...of('gateway.audit_hour', AUDIT, 'organization_id app_id surface operation outcome'),
  ...of('gateway.audit_target', AUDIT, 'target credential_id person_id'),
  ...of(
    'gateway.consent',
    CREDENTIALS,
    'id credential_id person_id request audience scopes code_digest code_challenge redirect_uri revoked_because data_access channel_ids team_ids subsite_ids',
  ),
  ...of(
    'gateway.credential',
    CREDENTIALS,
    'id installation_id environment secret_digest old_secret_digest scopes data_access channel_ids team_ids subsite_ids allow_ip approve approval_by approvers write without_approval callbacks origins hosted_client hosted_host hosted_person',
  ),
  ...of('gateway.erasure', ERASURE, 'id organization_id kind subject subject_digest reason counts'),
  ...of('gateway.erasure_work', ERASURE, 'erasure_id'),
  ...of('gateway.suppression', ERASURE, 'digest'),
  ...of('gateway.suppression_key', ERASURE, 'sealed'),
  ...of('gateway.family_hold', CLOSED, 'family'),
  ...of('gateway.import_chunk_N', 'planted', 'bytes'),
  ...of('gateway.import_owed', RECEIPTS, 'event_type'),
  ...of('gateway.import_plan_N', CLOSED, 'type'),
  ...of('gateway.import_reject_N', 'planted', 'pointer'),
  ...of('gateway.import_reject_N', SOURCE, 'origin code'),
  ...of('gateway.import_run', IMPORT, 'sources organization subject names position source'),
  ...of('gateway.import_stage_N', 'planted', 'external_id owner refs links data'),
  ...of('gateway.import_stage_N', SOURCE, 'type origin digests'),
  ...of('gateway.import_step', IMPORT, 'step'),
  ...of('gateway.import_tally', IMPORT, 'type step'),
  ...of('gateway.import_wait', IMPORT, 'subject'),
  ...of('gateway.installation', CREDENTIALS, 'id app_id'),
  ...of('gateway.journal', RECEIPTS, 'event_type'),
  ...of('gateway.journal_head', RECEIPTS, 'last_at'),
  ...of('gateway.ledger_key', LEDGER, 'key'),
  ...of('gateway.mcp_subscription', CREDENTIALS, 'id credential_id consent_id url name arguments secret_tag'),
  ...of('gateway.move', SYSTEM, 'phase base_url peer'),
  ...of('gateway.native_author', CREDENTIALS, 'credential_id'),
  ...of('gateway.operation', 'planted', 'outcome'),
  ...of('gateway.operation', LEDGER, 'operation_id credential_id operation status fingerprint audit'),
  ...of('gateway.person', STAFF, 'id email role password subject'),
  ...of('gateway.quota', CREDENTIALS, 'app_id'),
  ...of('gateway.realtime_ack', RECEIPTS, 'session_id subscription_id cursor'),
  ...of('gateway.realtime_session', CREDENTIALS, 'id credential_id token_digest origin ticket_digest'),
  ...of('gateway.refresh_token', CREDENTIALS, 'digest consent_id salt successor successor_access'),
  ...of('gateway.session', STAFF, 'digest person_id'),
  ...of('gateway.sign_in_failure', STAFF, 'source account'),
  ...of('gateway.sign_in_link', CREDENTIALS, 'digest person_id'),
  ...of('gateway.sign_in_place', STAFF, 'place'),
  ...of(
    'gateway.source',
    SOURCE,
    'id kind account mode time_zone storage address api_url api_token holder position progress last_error unmapped findings compare_error',
  ),
  ...of('gateway.source_installation', SOURCE, 'account installation'),
  ...of('gateway.source_reject', SOURCE, 'source origin pointer code'),
  ...of('gateway.subscription', CREDENTIALS, 'id installation_id event_types start'),
  ...of('gateway.task', 'planted', 'artifact history context_id'),
  ...of(
    'gateway.task',
    TASK,
    'id installation_id credential_id message fingerprint grants skill website_id state failure owner lost_as turns',
  ),
  ...of('gateway.token', CREDENTIALS, 'digest credential_id kind audience scopes consent_id'),
  ...of('gateway.unnoted_block', SYSTEM, 'kind relation'),
  ...of('gateway.unspelled', SYSTEM, 'kind relation said'),
  ...of('gateway.wanted_index', SYSTEM, 'name relation definition'),
  ...of('gateway.webhook_delivery', RECEIPTS, 'id endpoint_id event_id event_type status error'),
  ...of(
    'gateway.webhook_endpoint',
    CREDENTIALS,
    'id credential_id url event_types description disabled_because secret old_secret subscription_id',
  ),
  ...of('gateway.write_back', 'planted', 'target'),
  ...of('gateway.write_back', LEDGER, 'operation_id source'),
  ...of('platform.ai_feature', CATALOGUE, 'external_id name type'),
  ...of('platform.ai_result', 'planted', 'external_id topics resolution outcome'),
  ...of('platform.channel', CATALOGUE, 'external_id name platform'),
  ...of(
    'platform.contact',
    'planted',
    'external_id name first_name last_name email mobile mobile_e164 phone phone_e164 company language country time_zone',
  ),
  ...of('platform.conversation', 'planted', 'external_id language subject disposition rating_label'),
  ...of('platform.conversation', CLOSED, 'status platform'),
  ...of('platform.disposition', CATALOGUE, 'external_id value label group_name'),
  ...of('platform.file', 'planted', 'external_id name media_type version sha256'),
  ...of('platform.file', CLOSED, 'disposition'),
  ...of('platform.file_chunk', 'planted', 'bytes'),
  ...of('platform.message', 'planted', 'external_id text language'),
  ...of('platform.message', CLOSED, 'author_type visibility kind delivery_status'),
  ...of('platform.native_id', SYSTEM, 'kind'),
  ...of('platform.note', 'planted', 'external_id title text'),
  ...of('platform.offer', CATALOGUE, 'external_id name type status url'),
  ...of('platform.operator', STAFF, 'external_id name email role'),
  ...of('platform.organization', CATALOGUE, 'public_id external_id name host moved_to'),
  ...of('platform.said_block', CLOSED, 'kind'),
  ...of('platform.saved_link', CATALOGUE, 'external_id label url kind scope'),
  ...of('platform.saved_response', CATALOGUE, 'external_id language label content category_name shortcut scope'),
  ...of('platform.spelling', 'planted', 'word key'),
  ...of('platform.spelling', CLOSED, 'kind'),
  ...of('platform.subsite', CATALOGUE, 'external_id name'),
  ...of('platform.team', CATALOGUE, 'external_id name'),
  ...of('platform.visitor', 'planted', 'external_id nickname'),
  ...of('platform.website', CATALOGUE, 'external_id name time_zone'),
};

function of(table: string, what: string, columns: string): Record<string, string> {
  return Object.fromEntries(columns.split(' ').map((column) => [`${table}.${column}`, what]));
}

/** Types whose values are no text: numbers, times, truth values. */
const WITHOUT_TEXT = ['int2', 'int4', 'int8', 'float8', 'bool', 'timestamptz', 'interval', 'uuid', '_int4', '_int8'];

/** The columns of both schemas that can hold text. The tables of the slots of imports count as one, and so do the days of the audit. */
export async function textColumns(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    SELECT DISTINCT regexp_replace(regexp_replace(format('%s.%s', c.table_schema, c.table_name),
               '^(gateway\\.import_[a-z]+)_[0-9]+$', '\\1_N'), '^(gateway\\.audit[a-z_]*)_[0-9]{8}$', '\\1')
           || '.' || c.column_name AS name
      FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema IN ('platform', 'gateway') AND t.table_type = 'BASE TABLE' AND c.udt_name <> ALL (${WITHOUT_TEXT})`;
  return rows.map(({ name }) => name).sort();
}

/** Which of these words stand where: in any row of any table of both schemas, bytes included. */
export async function scan(
  sql: postgres.Sql,
  words: readonly string[],
): Promise<{ found: Map<string, string[]>; rows: number }> {
  const tables = await sql<{ name: string }[]>`
    SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema IN ('platform', 'gateway') AND table_type = 'BASE TABLE' ORDER BY 1`;
  const found = new Map<string, string[]>();
  let rows = 0;
  for (const { name } of tables) {
    for (const { row } of await sql.unsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${name} t`)) {
      rows++;
      const text = `${row}\n${bytesIn(row)}`.toLowerCase();
      for (const word of words) if (text.includes(word)) found.set(word, [...(found.get(word) ?? []), name]);
    }
  }
  return { found, rows };
}

/** The text of the bytes in a row, which PostgreSQL writes in hexadecimal. */
const bytesIn = (row: string): string =>
  [...row.matchAll(/\\x((?:[0-9a-f]{2})+)/g)]
    .map(([, hex]) => Buffer.from(hex ?? '', 'hex').toString('latin1'))
    .join('\n');
