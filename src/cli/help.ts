import type { Command, HelpConfiguration, Option } from 'commander';

/** Marks the options that a command requires, and lists the values of an option with a fixed set of values. */
export const helpStyle: HelpConfiguration = {
  optionDescription({ description, argChoices, required, defaultValue, defaultValueDescription, mandatory }: Option) {
    const byDefault = defaultValueDescription ?? (required && defaultValue !== undefined ? String(defaultValue) : '');
    return [
      description,
      ...(argChoices ? [`(one of: ${argChoices.join(', ')})`] : []),
      ...(byDefault === '' ? [] : [`(default: ${byDefault})`]),
      ...(mandatory ? ['(required)'] : []),
    ].join(' ');
  },
};

const OPERATION = `op_${'0a1b2c3d'.repeat(8)}`;

/** Examples for the help, by command. A test parses every example, and requires one for every command. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['serve', 'serve --no-demo --workers 4'],
  migrate: ['migrate', 'migrate --like postgres://gateway@a.example/gateway'],
  'cells check': ['cells check postgres://gateway@b.example/gateway --json'],
  demo: ['demo', 'demo --now 2026-11-15T12:00:00Z'],
  import: [
    'import my-data.ndjson',
    'import --dry-run --rejects rejects.ndjson my-data.ndjson',
    'import --schema conversation',
  ],
  'organization list': ['organization list'],
  'organization move': [
    'organization move larkspur --to postgres://postgres@cell2.internal/gateway --dry-run',
    'organization move larkspur --to postgres://postgres@cell2.internal/gateway --base-url https://cell2.example.com --keep 14',
    'organization move larkspur --to postgres://postgres@cell2.internal/gateway --abandon',
  ],
  'website list': ['website list --organization larkspur'],
  'app create': ['app create --organization larkspur --name "My app" --quota-per-minute 1200'],
  'app list': ['app list --organization larkspur --json'],
  'app update': ['app update "My app" --burst 300', 'app update "My app" --switch-off visitor_note_add,search'],
  'credential issue': [
    'credential issue --installation "My app" --environment test --website web_1_1 --scopes read',
    'credential issue --installation "My app" --environment live --website web_1_1 --scope website_read ' +
      '--scope conversation_read --scope message_content_read --scope contact_read_pii --data-access pii --data-access message_content --expires 30d',
  ],
  'credential list': ['credential list --app "My app"'],
  'credential show': ['credential show crd_0123456789abcdef0123456789abcdef'],
  'credential update': [
    'credential update crd_0123456789abcdef0123456789abcdef --scopes all --data-access pii',
    'credential update crd_0123456789abcdef0123456789abcdef --clear channel',
    'credential update crd_0123456789abcdef0123456789abcdef --allow-ip 203.0.113.7,2001:db8::/32',
    'credential update crd_0123456789abcdef0123456789abcdef --approve visitor_note_add,conversation_disposition_set',
  ],
  'credential rotate': ['credential rotate crd_0123456789abcdef0123456789abcdef --overlap 1h'],
  'credential revoke': ['credential revoke crd_0123456789abcdef0123456789abcdef'],
  'author map': ['author map --credential crd_0123456789abcdef0123456789abcdef --website web_1_1 --operator opr_1_1_3'],
  'author unmap': ['author unmap --credential crd_0123456789abcdef0123456789abcdef --website web_1_1'],
  'audit verify': ['audit verify', 'audit verify --from 2026-11-01 --to 2026-11-15 --json'],
  'author list': ['author list --website web_1_1'],
  'person add': ['person add --organization larkspur --email ada@example.com --role owner'],
  'person list': ['person list --organization larkspur'],
  'person disable': ['person disable ada@example.com'],
  'person enable': ['person enable ada@example.com'],
  'person unlock': ['person unlock ada@example.com'],
  'person role': ['person role ada@example.com --role admin'],
  'person sign-in-link': ['person sign-in-link ada@example.com'],
  'person password': ['person password ada@example.com --end-consents'],
  'consent list': ['consent list --person ada@example.com'],
  'consent revoke': ['consent revoke cns_0123456789abcdef0123456789abcdef'],
  'approvals list': ['approvals list', 'approvals list --organization larkspur --state rejected --json'],
  'approvals show': [`approvals show ${OPERATION}`],
  'approvals approve': [`approvals approve ${OPERATION}`],
  'approvals reject': [`approvals reject ${OPERATION}`],
  'family pause': ['family pause --website web_1_1 --family conversation'],
  'family resume': ['family resume --website web_1_1 --family conversation'],
  'family gap': ['family gap --website web_1_1 --family conversation'],
  'webhook create': [
    'webhook create --credential crd_0123456789abcdef0123456789abcdef --website web_1_1 ' +
      '--url https://hooks.example.com/gateway --event-type "conversation.*"',
  ],
  'webhook list': ['webhook list'],
  'webhook update': ['webhook update whk_0123456789abcdef0123456789abcdef --disable'],
  'webhook rotate': ['webhook rotate whk_0123456789abcdef0123456789abcdef --overlap 2h'],
  'webhook test': ['webhook test whk_0123456789abcdef0123456789abcdef'],
  'webhook replay': ['webhook replay whk_0123456789abcdef0123456789abcdef --since 2026-11-20T00:00:00Z'],
  'webhook deliveries': ['webhook deliveries whk_0123456789abcdef0123456789abcdef --status failed'],
  'webhook delete': ['webhook delete whk_0123456789abcdef0123456789abcdef'],
  'source add': [
    'source add chatwoot --url postgres://gateway_reader:secret@127.0.0.1:5433/chatwoot --account 1',
    'source add chatwoot --url postgres://gateway_reader:secret@db.example/chatwoot?sslmode=verify-full --account 1 --mode live --time-zone Europe/Berlin',
  ],
  'source list': ['source list'],
  'source show': ['source show src_0123456789abcdef0123456789abcdef'],
  'source check': ['source check src_0123456789abcdef0123456789abcdef'],
  'source pause': ['source pause src_0123456789abcdef0123456789abcdef'],
  'source resume': ['source resume src_0123456789abcdef0123456789abcdef'],
  'source remove': ['source remove src_0123456789abcdef0123456789abcdef --with-data'],
  'source grants': ['source grants chatwoot --mode live --role gateway_reader'],
  'organization update': [
    'organization update acme --keep-messages-days 365',
    'organization update acme --keep-messages-days off',
  ],
  'erase contact': ['erase contact ctc_1_1_42 --reason "request 2026-17" --dry-run'],
  'erase visitor': ['erase visitor vis_1_1_42 --reason "request 2026-18" --yes'],
  'erase list': ['erase list --json'],
  restored: ['restored', 'restored --yes', 'restored --yes --erasures erasures.json'],
  'audit list': [
    'audit list --organization larkspur --operation contact_get --from 2026-11-01T00:00:00Z',
    'audit list --target ctc_1_1_89 --json',
  ],
  'audit export': ['audit export --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z --format ocsf'],
  'audit readers': ['audit readers ctc_1_1_89', 'audit readers ctc_1_1_89 --days 7 --json'],
  doctor: ['doctor --json'],
};

export function addExamples(command: Command, path = ''): void {
  const lines = EXAMPLES[path];
  if (lines) {
    const title = lines.length === 1 ? 'Example' : 'Examples';
    command.addHelpText('after', `\n${title}:\n${lines.map((line) => `  gateway ${line}`).join('\n')}`);
  }
  for (const one of command.commands) addExamples(one, `${path} ${one.name()}`.trim());
}
