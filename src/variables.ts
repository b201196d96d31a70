/** A setting of the environment. */
export interface Variable {
  group: string;
  /** Its effect and form, as Markdown. The default follows after `Default:` where it depends on other settings. */
  meaning: string;
  /** The value that counts when the variable is not set, in the form of the variable. */
  default?: string;
}

/**
 * Every environment variable that Gatehouse reads. docs/configuration.md is printed from this list, and config.ts reads no
 * other variable.
 */
export const VARIABLES = {
  HOST: {
    group: 'Address',
    meaning: 'Address to listen on. `0.0.0.0` is every address of the machine.',
    default: '127.0.0.1',
  },
  PORT: { group: 'Address', meaning: 'Port to listen on. `0` takes any free port.', default: '3000' },
  GATEHOUSE_PROBE_PORT: {
    group: 'Address',
    meaning:
      'Port that answers `/health` and `/ready` alone, from a thread of its own, so that many requests do not delay them. Default: none; `PORT` answers both.',
  },
  GATEHOUSE_PUBLIC_URL: {
    group: 'Address',
    meaning:
      'Address that clients and browsers use; part of every `url`, `accessUrl` and link. Default: `http://` with `HOST` and the port in use.',
  },
  GATEHOUSE_TRUST_PROXY: {
    group: 'Address',
    meaning:
      'CIDRs of reverse proxies whose forwarded client address counts, comma-separated. Default: none.',
  },
  NODE_ENV: {
    group: 'Address',
    meaning: '`production` switches the sandbox off, and refuses settings that are for development.',
  },
  GATEHOUSE_HOME: {
    group: 'Storage',
    meaning: 'Folder of the database, the key file and the custom connectors.',
    default: '~/.gatehouse',
  },
  DATABASE_URL: {
    group: 'Storage',
    meaning:
      '`sqlite:` with a path, or `postgres://…`. Default: the file `gatehouse.db` in `GATEHOUSE_HOME`.',
  },
  GATEHOUSE_CONNECTORS: {
    group: 'Storage',
    meaning:
      'Folder of custom connectors, a folder each. Changes count without a restart. Default: `connectors` in `GATEHOUSE_HOME`.',
  },
  GATEHOUSE_MASTER_KEY: {
    group: 'Keys',
    meaning:
      '32 bytes in base64. Several are separated by commas: the first one seals, and all open. `vault:<mount>/<key>`: Vault or OpenBao wraps the key. Default: the file `master.key` in `GATEHOUSE_HOME`, made at the first start.',
  },
  GATEHOUSE_MASTER_KEY_FILE: {
    group: 'Keys',
    meaning: 'File with the master keys, one a line, in place of `GATEHOUSE_MASTER_KEY`.',
  },
  GATEHOUSE_DEVELOPMENT_KEY: {
    group: 'Keys',
    meaning:
      'API key of `development`, used only while the store holds none. Default: created and shown once.',
  },
  GATEHOUSE_PRODUCTION_KEY: {
    group: 'Keys',
    meaning:
      'API key of `production`, used only while the store holds none. Default: created and shown once.',
  },
  VAULT_ADDR: { group: 'Vault', meaning: 'Address of Vault or OpenBao. Required with `vault:…`.' },
  VAULT_NAMESPACE: { group: 'Vault', meaning: 'Namespace of Vault. Default: none.' },
  VAULT_CACERT: {
    group: 'Vault',
    meaning: 'File with the certificate authority of Vault, in PEM. Default: those of the system.',
  },
  VAULT_TOKEN: { group: 'Vault', meaning: 'Token of Vault.' },
  VAULT_TOKEN_FILE: { group: 'Vault', meaning: 'File with the token, which is read again when it changes.' },
  VAULT_ROLE_ID: { group: 'Vault', meaning: 'Role of AppRole, in place of a token.' },
  VAULT_SECRET_ID: { group: 'Vault', meaning: 'Secret of that role.' },
  VAULT_APPROLE_MOUNT: { group: 'Vault', meaning: 'Mount of AppRole.', default: 'approle' },
  GATEHOUSE_ALLOWED_NETWORKS: {
    group: 'Outgoing calls',
    meaning:
      'Private CIDRs or `host:port` that connectors and deliveries may reach, comma-separated. Default: none.',
  },
  GATEHOUSE_ALLOW_PRIVATE_NETWORK: {
    group: 'Outgoing calls',
    meaning: '`1` allows every private and loopback address. For development; refused in production.',
    default: '0',
  },
  GATEHOUSE_EGRESS_PROXY: {
    group: 'Outgoing calls',
    meaning: 'HTTP proxy of all outgoing calls. Default: none.',
  },
  GATEHOUSE_CA_FILE: {
    group: 'Outgoing calls',
    meaning: 'File with a further certificate authority, in PEM. Default: none.',
  },
  GATEHOUSE_CONSOLE: { group: 'Parts', meaning: '`0` removes the console and its sign-in.', default: '1' },
  GATEHOUSE_SANDBOX: {
    group: 'Parts',
    meaning:
      'The sandbox app. It needs a loopback `HOST`, and `NODE_ENV` other than `production`. Default: on where it may be.',
  },
  GATEHOUSE_TEST_CONNECTORS: {
    group: 'Parts',
    meaning:
      '`1` adds a connector with the fixtures of MCP’s conformance suites. It needs what the sandbox needs.',
    default: '0',
  },
  GATEHOUSE_JWT_ISSUERS: {
    group: 'Sign-in',
    meaning:
      'JSON list of further issuers of JWTs: `[{"issuer", "jwksUrl", "audience", "environment", "userClaim", "createUsers"}]`. Default: none.',
  },
  GATEHOUSE_OIDC: {
    group: 'Sign-in',
    meaning:
      'JSON of the OpenID Connect provider by which people sign in to the [console](console.md#sign-in-with-openid-connect): `{"issuer", "clientId", "clientSecret", "roleClaim", "roles"}`. Default: none.',
  },
  GATEHOUSE_CLIENT_METADATA_URL: {
    group: 'Sign-in',
    meaning:
      '`https://` address of a [client metadata document](remote-mcp-servers.md#a-client-metadata-document-elsewhere) that you host where authorization servers can read it. It is the client id at those of remote MCP servers. Default: the document of Gatehouse, where `GATEHOUSE_PUBLIC_URL` begins with `https:`.',
  },
  GATEHOUSE_RATE_LIMIT_MCP: {
    group: 'Limits',
    meaning: 'Requests of a caller to MCP endpoints per time, as `<requests>/<seconds>s`. `0` is off.',
    default: '100/60s',
  },
  GATEHOUSE_RATE_LIMIT_USERS: {
    group: 'Limits',
    meaning: 'REST calls with the JWTs of one user per time. `0` is off. API keys have no such limit.',
    default: '300/60s',
  },
  GATEHOUSE_USER_FILES: {
    group: 'Limits',
    meaning: 'Number of files that one user may have at a time.',
    default: '1000',
  },
  GATEHOUSE_USER_FILES_MIB: {
    group: 'Limits',
    meaning: 'MiB that the files of one user may take together.',
    default: '1024',
  },
  GATEHOUSE_POLL_INTERVAL: {
    group: 'Events',
    meaning: 'Shortest time between two polls of an app that sends no webhooks, in seconds.',
    default: '60',
  },
  GATEHOUSE_RETRY_SCHEDULE: {
    group: 'Events',
    // The example of Standard Webhooks 1.0.0.
    meaning: 'Waits between the attempts of a delivery, in seconds, comma-separated: 1 to 20 of them.',
    default: '5,300,1800,7200,18000,36000,50400,72000,86400',
  },
  LOG_LEVEL: {
    group: 'Logs and metrics',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
    default: 'info',
  },
  LOG_FORMAT: {
    group: 'Logs and metrics',
    meaning: '`json`, or `pretty` for people. Default: `pretty` on a terminal, else `json`.',
  },
  GATEHOUSE_METRICS_TOKEN: {
    group: 'Logs and metrics',
    meaning:
      'Bearer token of `GET /metrics`, 16 characters or more. Default: none, and only the same machine may read them.',
  },
  UV_THREADPOOL_SIZE: {
    group: 'Logs and metrics',
    meaning: 'Threads of Node.js for DNS, disk and compression. With fewer, silent names delay others.',
    default: '16',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: 'OpenTelemetry',
    meaning: 'Address of a collector; `/v1/traces` and `/v1/metrics` are appended. Default: nothing is sent.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    group: 'OpenTelemetry',
    meaning: 'Whole address for traces. Default: made from the common address.',
  },
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: {
    group: 'OpenTelemetry',
    meaning: 'Whole address for metrics. Default: made from the common address.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    group: 'OpenTelemetry',
    meaning:
      'Headers of each export, such as a key: `name=value,name2=value2`, percent-encoded. Default: none.',
  },
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: { group: 'OpenTelemetry', meaning: 'The same for traces alone.' },
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: { group: 'OpenTelemetry', meaning: 'The same for metrics alone.' },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    group: 'OpenTelemetry',
    meaning: '`http/protobuf` or `http/json`.',
    default: 'http/protobuf',
  },
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: { group: 'OpenTelemetry', meaning: 'The same for traces alone.' },
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: { group: 'OpenTelemetry', meaning: 'The same for metrics alone.' },
  OTEL_EXPORTER_OTLP_TIMEOUT: {
    group: 'OpenTelemetry',
    meaning: 'Longest time of one export, in ms.',
    default: '10000',
  },
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: { group: 'OpenTelemetry', meaning: 'The same for traces alone.' },
  OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: { group: 'OpenTelemetry', meaning: 'The same for metrics alone.' },
  OTEL_EXPORTER_OTLP_COMPRESSION: { group: 'OpenTelemetry', meaning: '`gzip` or `none`.', default: 'none' },
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: { group: 'OpenTelemetry', meaning: 'The same for traces alone.' },
  OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: { group: 'OpenTelemetry', meaning: 'The same for metrics alone.' },
  OTEL_SERVICE_NAME: {
    group: 'OpenTelemetry',
    meaning: 'Name of the service in traces and metrics. Default: `gatehouse`.',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    group: 'OpenTelemetry',
    meaning: 'Further attributes: `name=value,name2=value2`, percent-encoded. Default: none.',
  },
  OTEL_TRACES_SAMPLER: {
    group: 'OpenTelemetry',
    meaning: '`always_on`, `always_off` or `traceidratio`, each also with `parentbased_` before it.',
    default: 'parentbased_always_on',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    group: 'OpenTelemetry',
    meaning: 'Share of traces for `traceidratio`, 0 to 1.',
    default: '1',
  },
  OTEL_TRACES_EXPORTER: { group: 'OpenTelemetry', meaning: '`none` sends no traces.', default: 'otlp' },
  OTEL_METRICS_EXPORTER: {
    group: 'OpenTelemetry',
    meaning: '`none` sends no metrics; `prometheus` leaves them to `GET /metrics`.',
    default: 'otlp',
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    group: 'OpenTelemetry',
    meaning: 'Longest wait of a span before it is sent, in ms.',
    default: '5000',
  },
  OTEL_METRIC_EXPORT_INTERVAL: {
    group: 'OpenTelemetry',
    meaning: 'Time between two exports of metrics, in ms.',
    default: '60000',
  },
  OTEL_SDK_DISABLED: { group: 'OpenTelemetry', meaning: '`true` sends nothing.', default: 'false' },
  GATEHOUSE_URL: {
    group: 'Command line',
    meaning:
      'Address of the Gatehouse that the commands of daily work call. Default: the store of this machine.',
  },
  GATEHOUSE_KEY: { group: 'Command line', meaning: 'API key of that Gatehouse.' },
} satisfies Record<string, Variable>;

export type VariableName = keyof typeof VARIABLES;

/** A variable that has a default in its own form. */
export type DefaultedVariable = {
  [Name in VariableName]: (typeof VARIABLES)[Name] extends { default: string } ? Name : never;
}[VariableName];
