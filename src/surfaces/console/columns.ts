/**
 * The columns of each list as a CSV file, in their order. A list without rows has them, too: the members of its documents
 * are only known from rows. A test compares both.
 */
const of = (names: string): readonly string[] => names.split(' ');

export const COLUMNS = {
  apps: of('app_id name client_host active_credentials active_consents switched_off next_end created_at'),
  approvals: of(
    'operation_id operation target website_id app_id app_name client_host credential_id email surface client_name state lapsed_because requested_at expires_at decided_at decided_by',
  ),
  audit: of(
    'audit_id time website_id app_id credential_id person_id client address surface operation targets count outcome status units duration_ms request_id operation_id',
  ),
  consents: of(
    'consent_id app_id app_name client_host credential_id person_id email resource scopes data_access website_ids state because created_at expires_at revoked_at',
  ),
  credentials: of(
    'credential_id app_id client_host environment state website_ids scopes data_access channel_ids team_ids subsite_ids allow_ip write approve approvers usable_tokens expires_at revoked_at created_at',
  ),
  deliveries: of(
    'delivery_id event_id event_type test status attempts attempted_at next_attempt_at response_status error created_at ended_at',
  ),
  operations: of('operation kind switched_off'),
  people: of('person_id email role state password identity disabled_at created_at approver'),
  rejects: of('row pointer code'),
  sources: of(
    'source_id kind account website_id mode state lag_seconds behind rejects last_success_at last_error compared_at writes_back created_at',
  ),
  usage: of('app_id app_name operation calls failures units'),
  webhooks: of(
    'endpoint_id url description website_id credential_id event_types enabled disabled_because permitted failing_since pending created_at',
  ),
} as const;
