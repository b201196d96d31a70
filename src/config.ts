import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { isLoopback, type AllowedAddress } from './lib/addresses.ts';
import { MIB } from './lib/http/http-body.ts';
import { masterKeyRule, readMasterKey } from './lib/master-key-text.ts';
import { thrownMessage } from './lib/errors.ts';
import { readOidcSettings } from './lib/oidc-settings.ts';
import { readOtlp } from './telemetry/otlp-settings.ts';
import { VARIABLES, type DefaultedVariable, type VariableName } from './variables.ts';

const jwtIssuer = z.strictObject({
  issuer: z.string().min(1),
  jwksUrl: z.url({ protocol: /^https?$/ }),
  audience: z.string().min(1),
  environment: z.enum(['development', 'production']),
  userClaim: z.string().min(1).default('sub'),
  createUsers: z.boolean().default(false),
});

/** An issuer whose JWTs are accepted in addition to our own. */
export type JwtIssuer = z.infer<typeof jwtIssuer>;

export interface RateLimit {
  points: number;
  windowSeconds: number;
}

export type Config = ReturnType<typeof readConfig>;

/** An error with every fault of the environment, one per line: `PORT: must be …`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: string[];
  /** As in Config. */
  readonly unknownVariables: string[];

  constructor(faults: string[], unknownVariables: string[] = []) {
    super(faults.join('\n'));
    this.faults = faults;
    this.unknownVariables = unknownVariables;
  }
}

type Environment = Record<string, string | undefined>;
type Read = <T>(name: VariableName, parse: (text: string) => T, fallback: T) => T;
type ReadOr = <T>(name: DefaultedVariable, parse: (text: string) => T) => T;

/**
 * Reads and checks the configuration. It is the only reader of `process.env`.
 * @throws ConfigError listing every wrong variable and the rule that it breaks.
 */
export function readConfig(env: Environment = process.env) {
  const faults: string[] = [];
  const parsed = <T>(name: VariableName, parse: (text: string) => T, otherwise: () => T): T => {
    const text = env[name];
    if (text === undefined || text === '') return otherwise();
    try {
      return parse(text);
    } catch (error) {
      faults.push(`${name}: ${thrownMessage(error)}`);
      return otherwise();
    }
  };
  /** Reads a variable without a default of its own form. */
  const read: Read = (name, parse, fallback) => parsed(name, parse, () => fallback);
  /** Reads a variable that has its default in variables.ts. */
  const readOr: ReadOr = (name, parse) => parsed(name, parse, () => parse(VARIABLES[name].default));

  const production = env['NODE_ENV'] === 'production';
  const host = readOr('HOST', (text) => text);
  const home = resolve(readOr('GATEHOUSE_HOME', expandHome));
  const config = {
    host,
    port: readOr('PORT', (text) => integer(text, 0, 65_535)),
    /** The port of /health and /ready alone. */
    probePort: read('GATEHOUSE_PROBE_PORT', (text) => integer(text, 0, 65_535), undefined),
    /**
     * Base of the URLs that Gatehouse hands out, without trailing slash. Undefined means `http://<host>:<port in use>`.
     */
    publicUrl: read('GATEHOUSE_PUBLIC_URL', httpUrl, undefined),
    home,
    database: read('DATABASE_URL', databaseUrl, { kind: 'sqlite', path: join(home, 'gatehouse.db') }),
    masterKeys: read(
      'GATEHOUSE_MASTER_KEY',
      (text) => (isVault(text) ? undefined : masterKeys(text)),
      undefined,
    ),
    /** The key of Vault or OpenBao that wraps the master keys; undefined where they come from elsewhere. */
    keyVault: readVault(env, { read, readOr }, faults),
    masterKeyFile: read('GATEHOUSE_MASTER_KEY_FILE', masterKeyFile, undefined),
    presetKeys: {
      development: env['GATEHOUSE_DEVELOPMENT_KEY'] || undefined,
      production: env['GATEHOUSE_PRODUCTION_KEY'] || undefined,
    },
    allowedNetworks: read('GATEHOUSE_ALLOWED_NETWORKS', (text) => commaList(text).map(network), []),
    allowPrivateNetwork: readOr('GATEHOUSE_ALLOW_PRIVATE_NETWORK', flag),
    egressProxy: read('GATEHOUSE_EGRESS_PROXY', httpUrl, undefined),
    caFile: read('GATEHOUSE_CA_FILE', expandHome, undefined),
    trustedProxies: read('GATEHOUSE_TRUST_PROXY', (text) => commaList(text).map(cidrText), []),
    sandbox: read('GATEHOUSE_SANDBOX', flag, !production && isLoopback(host)),
    /** The folder of custom connectors, read at the start and when a file changes. */
    connectorsFolder: read(
      'GATEHOUSE_CONNECTORS',
      (text) => resolve(expandHome(text)),
      join(home, 'connectors'),
    ),
    /** Enables the connectors with the fixtures of MCP's conformance suites, and their third party. */
    testConnectors: readOr('GATEHOUSE_TEST_CONNECTORS', flag),
    /** The bearer token of /metrics; undefined when only the same machine may read it. */
    metricsToken: read('GATEHOUSE_METRICS_TOKEN', bearerToken, undefined),
    /** Serves the console for operators at /console. */
    console: readOr('GATEHOUSE_CONSOLE', flag),
    /** The OpenID Connect provider by which people sign in to the console; undefined without one. */
    oidc: read('GATEHOUSE_OIDC', readOidcSettings, undefined),
    /** Requests per window on an MCP endpoint; undefined when off. */
    mcpRateLimit: readOr('GATEHOUSE_RATE_LIMIT_MCP', rateLimit),
    /** REST calls by JWTs of one user per window; undefined when off. */
    userRateLimit: readOr('GATEHOUSE_RATE_LIMIT_USERS', rateLimit),
    /** The files that one user may have at a time, and the bytes that these may take together. */
    filesOfUser: {
      maxCount: readOr('GATEHOUSE_USER_FILES', (text) => integer(text, 1, 1_000_000)),
      maxBytes: readOr('GATEHOUSE_USER_FILES_MIB', (text) => integer(text, 1, 1_000_000)) * MIB,
    },
    jwtIssuers: read('GATEHOUSE_JWT_ISSUERS', jwtIssuers, []),
    /** Address of the client metadata document that the operator hosts; undefined for the document of Gatehouse. */
    clientMetadataUrl: read('GATEHOUSE_CLIENT_METADATA_URL', documentUrl, undefined),
    /** Delays between attempts of a delivery, in ms. */
    retrySchedule: readOr('GATEHOUSE_RETRY_SCHEDULE', retrySchedule),
    /** The shortest interval between two polls of a source, in seconds. */
    pollIntervalSeconds: readOr('GATEHOUSE_POLL_INTERVAL', (text) => integer(text, 1, 86_400)),
    /** Traces and metrics for a collector of OpenTelemetry; undefined without its address. */
    otlp: readOtlp(read, readOr),
    logLevel: readOr('LOG_LEVEL', logLevel),
    /** The form of log lines; undefined for `pretty` on a terminal and `json` elsewhere. */
    logFormat: read('LOG_FORMAT', logFormat, undefined),
    production,
    /** Variables named GATEHOUSE_* that no setting reads: misspelt, or of another release. */
    unknownVariables: Object.keys(env)
      .filter((name) => name.startsWith('GATEHOUSE_') && !Object.hasOwn(VARIABLES, name))
      .toSorted(),
  };

  if (config.allowPrivateNetwork && production) {
    faults.push('GATEHOUSE_ALLOW_PRIVATE_NETWORK: is for development; unset it, or NODE_ENV=production');
  }
  if (config.sandbox && (production || !isLoopback(host))) {
    faults.push('GATEHOUSE_SANDBOX: needs a loopback HOST and NODE_ENV other than production');
  }
  if (config.testConnectors && (production || !isLoopback(host))) {
    faults.push('GATEHOUSE_TEST_CONNECTORS: needs a loopback HOST and NODE_ENV other than production');
  }
  if ((config.masterKeys ?? config.keyVault) && config.masterKeyFile) {
    faults.push('GATEHOUSE_MASTER_KEY: set this or GATEHOUSE_MASTER_KEY_FILE, not both');
  }
  if (faults.length > 0) throw new ConfigError(faults, config.unknownVariables);
  return config;
}

/** Variables of commands that work with a remote Gatehouse. */
const PROFILE_VARIABLES = { url: 'GATEHOUSE_URL', key: 'GATEHOUSE_KEY' } as const satisfies Record<
  string,
  VariableName
>;

/** Reads the address and the API key of the remote Gatehouse that commands work with. */
export function readProfile(env: Environment = process.env): { url?: string; key?: string } {
  const url = env[PROFILE_VARIABLES.url];
  const key = env[PROFILE_VARIABLES.key];
  return { ...(url ? { url } : {}), ...(key ? { key } : {}) };
}

function integer(text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new Error(`must be a whole number from ${least} to ${most}, got "${text}"`);
  }
  return value;
}

function flag(text: string): boolean {
  if (/^(1|true|on|yes)$/i.test(text)) return true;
  if (/^(0|false|off|no)$/i.test(text)) return false;
  throw new Error(`must be 1 or 0 (true, false, on and off are read too), got "${text}"`);
}

function commaList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function bearerToken(text: string): string {
  if (/^[\w.~+/=-]{16,}$/.test(text)) return text;
  throw new Error('must have at least 16 characters: letters, digits and -._~+/= (RFC 6750 section 2.1)');
}

function masterKeys(text: string): string[] {
  const keys = commaList(text);
  for (const [index, key] of keys.entries())
    if (!readMasterKey(key)) throw new Error(masterKeyRule(index + 1));
  if (keys.length === 0) throw new Error('names no key');
  return keys;
}

/** How to reach Vault or OpenBao, and the key of its transit engine. */
export interface VaultSettings {
  address: string;
  namespace: string | undefined;
  /** Mount of the transit engine, and the name of the key: `transit`, `gatehouse`. */
  mount: string;
  key: string;
  login: { token: string } | { tokenFile: string } | { roleId: string; secretId: string; mount: string };
  /** File with the certificate authority of Vault, in PEM. */
  caFile: string | undefined;
}

function isVault(text: string): boolean {
  return text.startsWith('vault:');
}

/** Reads the variables that the programs `vault` and `bao` read too, and those of AppRole. */
function readVault(
  env: Environment,
  { read, readOr }: { read: Read; readOr: ReadOr },
  faults: string[],
): VaultSettings | undefined {
  const place = read(
    'GATEHOUSE_MASTER_KEY',
    (text) => (isVault(text) ? vaultKey(text) : undefined),
    undefined,
  );
  const asText = (text: string): string => text;
  if (!isVault(env['GATEHOUSE_MASTER_KEY'] ?? '')) return undefined;
  const address = read('VAULT_ADDR', httpUrl, '');
  const roleId = read('VAULT_ROLE_ID', asText, undefined);
  const secretId = read('VAULT_SECRET_ID', asText, undefined);
  const token = read('VAULT_TOKEN', asText, undefined);
  const tokenFile = read('VAULT_TOKEN_FILE', expandHome, undefined);
  const mount = readOr('VAULT_APPROLE_MOUNT', asText);
  if (!env['VAULT_ADDR'])
    faults.push('VAULT_ADDR: is required with GATEHOUSE_MASTER_KEY=vault:…, such as https://vault:8200');
  const login =
    roleId !== undefined && secretId !== undefined
      ? { roleId, secretId, mount }
      : token !== undefined
        ? { token }
        : tokenFile !== undefined
          ? { tokenFile }
          : undefined;
  if (!login)
    faults.push('VAULT_TOKEN: set this, VAULT_TOKEN_FILE, or both of VAULT_ROLE_ID and VAULT_SECRET_ID');
  return place && login
    ? {
        ...place,
        address,
        login,
        namespace: read('VAULT_NAMESPACE', asText, undefined),
        caFile: read('VAULT_CACERT', expandHome, undefined),
      }
    : undefined;
}

function vaultKey(text: string): { mount: string; key: string } {
  const [, mount, key] = /^vault:([\w.-]+(?:\/[\w.-]+)*)\/([\w.-]+)$/.exec(text) ?? [];
  if (!mount || !key)
    throw new Error('names no key of Vault; write vault:<mount>/<key>, such as vault:transit/gatehouse');
  return { mount, key };
}

/** Returns the path of a file that can be read and holds keys. */
function masterKeyFile(text: string): string {
  const path = expandHome(text);
  let keys: string;
  try {
    keys = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read: ${thrownMessage(error)}`, {
      cause: error,
    });
  }
  masterKeys(keys.trim().replaceAll(/\s+/g, ','));
  return path;
}

function expandHome(text: string): string {
  return text.startsWith('~/') ? join(homedir(), text.slice(2)) : text;
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new Error(`must be an http:// or https:// address without query or fragment, got "${text}"`);
  }
  return text.replace(/\/+$/, '');
}

/** Reads a client id that is the address of a document (Client ID Metadata Document, section 3). */
function documentUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable =
    url?.protocol === 'https:' && url.pathname !== '/' && url.hash === '' && url.username === '';
  if (!isUsable || url.href !== text)
    throw new Error(
      `must be an https:// address with a path, such as https://example.com/gatehouse.json, got "${text}"`,
    );
  return text;
}

function databaseUrl(text: string): { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string } {
  if (text.startsWith('sqlite:')) {
    const path = text.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '') throw new Error('names no file; write sqlite:/var/lib/gatehouse/gatehouse.db');
    return { kind: 'sqlite', path: resolve(expandHome(path)) };
  }
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: 'postgres', url: text };
  throw new Error('must begin with sqlite: or postgres://');
}

function network(text: string): AllowedAddress {
  if (text.includes('/')) {
    const [address, bits] = ipaddr.parseCIDR(cidrText(text));
    return { kind: 'cidr', address: address.toString(), bits };
  }
  const match = /^(\[[0-9a-f:]+\]|[^:/\s]+):(\d{1,5})$/i.exec(text);
  if (!match?.[1] || !match[2]) throw new Error(`"${text}" is neither a CIDR (10.1.0.0/16) nor host:port`);
  return { kind: 'host', host: match[1].toLowerCase(), port: integer(match[2], 1, 65_535) };
}

function cidrText(text: string): string {
  if (!ipaddr.isValidCIDR(text)) throw new Error(`"${text}" is not a CIDR such as 10.1.0.0/16`);
  return text;
}

function rateLimit(text: string): RateLimit | undefined {
  if (text === '0') return undefined;
  const match = /^(\d{1,9})\/(\d{1,6})s$/.exec(text);
  if (!match || Number(match[1]) < 1 || Number(match[2]) < 1) {
    throw new Error(`must be <requests>/<seconds>s such as 100/60s, or 0 for off, got "${text}"`);
  }
  return { points: Number(match[1]), windowSeconds: Number(match[2]) };
}

function retrySchedule(text: string): number[] {
  const waits = commaList(text);
  const good = waits.every((wait) => /^\d{1,7}(\.\d{1,3})?$/.test(wait));
  if (good && waits.length > 0 && waits.length <= 20) return waits.map((wait) => Number(wait) * 1000);
  throw new Error(`must be 1 to 20 waits in seconds such as 5,300,1800, got "${text}"`);
}

function jwtIssuers(text: string): JwtIssuer[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('is not JSON; write [{"issuer":…,"jwksUrl":…,"audience":…,"environment":…}]');
  }
  const parsed = z.array(jwtIssuer).safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}

const logLevels = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']);

function logLevel(text: string): z.infer<typeof logLevels> {
  const parsed = logLevels.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new Error(`must be fatal, error, warn, info, debug, trace or silent, got "${text}"`);
}

function logFormat(text: string): 'json' | 'pretty' {
  if (text === 'json' || text === 'pretty') return text;
  throw new Error(`must be json or pretty, got "${text}"`);
}
