/** For each setting, the text that tells the operator which values are allowed. */
export const EXPECTED: Readonly<Record<string, string>> = {
  PORT: 'a port number, 0 to 65535',
  HOST: 'an address or host name to listen on',
  GATEWAY_BASE_URL:
    'an https address without a path, such as https://gateway.example; http is allowed for localhost only',
  DATABASE_URL:
    'an address such as postgres://user:password@host:5432/database, with one host or several (h1:5432,h2:5432), and with no target_session_attrs but read-write or primary; percent-encode the password',
  DATABASE_DIRECT_URL:
    'the postgres:// address of the server behind the pooler in DATABASE_URL, and DATABASE_URL must be set too; percent-encode the password',
  DATABASE_REPLICA_URL:
    'the postgres:// address of a streaming replica of DATABASE_URL, and DATABASE_URL must be set too; percent-encode the password',
  GATEWAY_DATA_DIR: 'a folder that this user may write, or a path where this user may create one',
  GATEWAY_TLS_CERT: 'a PEM file, together with GATEWAY_TLS_KEY',
  GATEWAY_TLS_KEY: 'a PEM file, together with GATEWAY_TLS_CERT',
  GATEWAY_DB_CONNECTIONS: 'a number of connections, 1 to 200',
  GATEWAY_CELL: 'the number of a cell, 1 to 9999',
  GATEWAY_OIDC_ISSUER:
    'the https address of an OpenID Connect provider (http on loopback only), together with GATEWAY_OIDC_CLIENT_ID and GATEWAY_OIDC_CLIENT_SECRET',
  GATEWAY_OIDC_CLIENT_ID: 'the client id that the provider in GATEWAY_OIDC_ISSUER has issued for the gateway',
  GATEWAY_OIDC_CLIENT_SECRET: 'the client secret that the provider in GATEWAY_OIDC_ISSUER has issued for the gateway',
  GATEWAY_KEYS: 'kid:KEY, where KEY is 32 bytes in base64; several pairs are separated by commas',
  GATEWAY_TRUSTED_PROXIES: 'addresses or ranges of proxies, separated by commas',
  GATEWAY_METRICS_ALLOW: 'addresses or ranges other than this machine that may read /metrics, separated by commas',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'the http or https address of an OpenTelemetry collector, such as http://127.0.0.1:4318',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT:
    'the http or https address that receives traces, such as http://127.0.0.1:4318/v1/traces',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json, the only protocol that the gateway supports',
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json, the only protocol that the gateway supports',
  OTEL_TRACES_EXPORTER: 'otlp or none',
  OTEL_TRACES_SAMPLER:
    'always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: 'the share of calls that are traced, a number from 0 to 1 such as 0.05',
  OTEL_RESOURCE_ATTRIBUTES: 'pairs such as deployment.environment.name=test, percent-encoded and separated by commas',
  OTEL_SDK_DISABLED: 'true or false',
  OTEL_SERVICE_NAME: 'a name of at most 200 characters',
  GATEWAY_WEBHOOK_ALLOW: 'origins such as http://127.0.0.1:9000, separated by commas',
  GATEWAY_WEBHOOK_SCHEDULE: 'seconds before each attempt: one to five numbers up to 999999, separated by commas',
  GATEWAY_CLIENT_HOSTS:
    'host names without ports such as claude.ai, separated by commas; or * for every host; or empty for no host',
  GATEWAY_CLIENT_ALLOW: 'origins such as http://127.0.0.1:9000, separated by commas',
  GATEWAY_SOURCE_HOSTS: 'hosts such as chat.example or db.example:5433, separated by commas',
  GATEWAY_MCP_EVENTS: 'current, sketch or off',
  GATEWAY_MCP_WEBHOOK_ID: 'event or message',
  GATEWAY_AUDIT_DAYS: 'a whole number of days from 1 to 3650',
  GATEWAY_AUDIT_ADDRESSES: 'network or full',
  GATEWAY_HOSTED_CONSENT_MAX: '8h, 7d, 30d or 90d',
  LOG_FORMAT: 'json or pretty',
  LOG_LEVEL: 'one of trace, debug, info, warn, error, fatal, silent',
};
