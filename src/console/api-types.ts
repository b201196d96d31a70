/* The parts of the API's answers that the console shows. `/openapi.json` describes them whole. */

export interface ExecutionRecord {
  executionId: string;
  at: string;
  requestId: string;
  caller: string;
  serverId: string | null;
  userId: string | null;
  connectorId: string;
  actionId: string;
  credentialId: string | null;
  outcome: 'succeeded' | 'failed' | 'denied';
  rule: string | null;
  errorCode: string | null;
  upstreamStatus: number | null;
  durationMs: number;
  programId: string | null;
  /** The requests to the app, where there were several. Lists leave them out. */
  attempts?: { actionId: string; status?: number; errorCode?: string; waitMs: number; durationMs: number }[];
  /** The stored content of one call, for a key with payloads:read. Lists leave it out. */
  input?: unknown;
  output?: unknown;
}

interface CallCounts {
  succeeded: number;
  failed: number;
  denied: number;
  p50Ms: number | null;
  p95Ms: number | null;
}

export interface ExecutionSummary {
  total: CallCounts;
  hours: (CallCounts & { at: string })[];
}

export interface Overview {
  servers: { enabled: number; disabled: number };
  users: { enabled: number; disabled: number };
  credentials: { active: number; needsReconnect: number; revoked: number };
  subscriptions: { active: number; disabled: number };
  deliveries: { dead: number };
  runs: { failed: number };
  connectors: { changed: number };
}

export type ToolMode = 'auto' | 'direct' | 'discovery';

interface IdRule {
  mode?: 'allowlist' | 'blocklist' | undefined;
  allowedIds?: string[];
  blockedIds?: string[];
}

export interface Restrictions {
  connectors?: IdRule;
  actions?: {
    mode?: 'allowlist' | 'blocklist' | undefined;
    allowedActions?: string[];
    blockedActions?: string[];
  };
  users?: IdRule;
  effects?: { allowed?: Effect[] };
  confirm?: Effect[];
}

/** Stops calls that fail in a row. */
export interface Circuit {
  failures: number;
  openSeconds: number;
}

/** A limit of calls in a window that slides. */
export interface Budget {
  per: 'server' | 'user' | 'connector' | 'action';
  /** Absent: calls with any effect count. */
  effect?: Effect | undefined;
  limit: number;
  window: '1h' | '1d';
}

export interface ServerRecord {
  serverId: string;
  name: string;
  description: string;
  customInstructions: string;
  /** The address for API keys and JWTs. */
  url: string;
  /** Ends in *** unless the token was asked for. */
  accessUrl: string;
  restrictions: Restrictions;
  hasRestrictions: boolean;
  ownerUserId: string | null;
  createdByUser: boolean;
  toolMode: ToolMode;
  codeMode: 'auto' | 'on' | 'off';
  enabled: boolean;
  pinTools: boolean;
  budgets: Budget[];
  duplicateGuard: 'on' | 'off';
  circuit: Circuit | null;
  tokenExpiresAt: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface ServerTools {
  mode: 'direct' | 'discovery';
  actions: number;
  tokens?: number;
  instructionTokens?: number;
  data: {
    name: string;
    title?: string;
    description?: string;
    inputSchema?: Record<string, unknown>;
    tokens?: number;
  }[];
  pagination: { hasMore: boolean };
}

export interface Simulation {
  outcome: 'runs' | 'asks' | 'denied' | 'fails';
  rule?: string;
  code?: string;
  reason: string;
  effect?: Effect;
  credentialId?: string;
  checks: { check: string; passed: boolean; detail: string }[];
}

export interface UserRecord {
  userId: string;
  username: string;
  metadata: Record<string, unknown>;
  enabled: boolean;
  createdAt: string;
}

export interface CredentialRecord {
  credentialId: string;
  userId: string;
  connectorId: string;
  name: string;
  state: 'active' | 'needs_reconnect' | 'revoked';
  reason?: string;
  appMessage?: string;
  type: string;
  account?: { id: string; name?: string };
  default: boolean;
  scopes?: string[];
  createdAt: string;
  updatedAt: string;
  lastUsedAt: string | null;
  expiresAt?: string;
  refreshFailures?: number;
}

/** A person who signed in by OpenID Connect. */
export interface PersonRecord {
  personId: string;
  name: string;
  role: string;
  signedInAt: string;
  sessions: number;
}

export interface KeyRecord {
  keyId: string;
  kind: 'environment' | 'named';
  name: string;
  scopes: string[];
  lastFour: string;
  status: 'active' | 'expired';
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  previousExpiresAt: string | null;
}

export interface AuditEntry {
  auditId: string;
  at: string;
  requestId: string;
  caller: string;
  keyName: string | null;
  personName: string | null;
  operation: string;
  target: string | null;
  status: number;
}

export type Effect = 'read' | 'write' | 'destructive';

export interface ConnectorRecord {
  connectorId: string;
  name: string;
  description: string;
  categories: string[];
  iconUrl: string;
  website: string;
  authentication: string[];
  actionCount: number;
  scopes: string[];
}

export interface ConnectorDetails extends ConnectorRecord {
  models: string[];
  events: { scope: string; title: string; description?: string; events: string[]; native: boolean }[];
}

/** A connector of the store. */
export interface StoredConnector {
  connectorId: string;
  version: number;
  name: string;
  kind: 'definition' | 'mcp' | 'openapi';
  origins: string[];
  hiddenBy: 'shipped' | 'folder' | null;
  updatedAt: string;
}

export interface SignInWay {
  type: string;
  title: string;
  inputSchema: JsonSchema;
  docsUrl: string | null;
}

export interface ActionRecord {
  connectorId: string;
  actionId: string;
  name: string;
  description: string;
  effect: Effect;
  list: boolean;
  raw?: boolean;
  inputSchema: JsonSchema;
  effectWhen?: { parameter: string; in?: unknown[]; effect: Effect }[];
}

/** The keywords of JSON Schema that the console reads. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: JsonSchema;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
}

export interface SettingsRecord {
  userServers: 'on' | 'off';
  origins: string[];
  redirectUris: string[];
  payloads: 'off' | 'messages' | 'errors' | 'all';
  payloadDays: number;
  searchLearning: 'on' | 'off';
  eventsAddress: string | null;
  eventsSubscriptionId?: string;
}

export interface VersionRecord {
  version: number;
  draft: boolean;
  definition: {
    trigger?: { type: string; cron?: string; scope?: string };
    steps?: { stepId: string; connectorId?: string; actionId?: string }[];
  };
  connectors: string[];
  createdAt: string;
}

export interface WorkflowRecord extends VersionRecord {
  workflowId: string;
  name: string;
  updatedAt: string;
}

export interface InstallationRecord {
  installationId: string;
  userId: string;
  version: number;
  enabled: boolean;
  trigger: { type: string; listening?: boolean; nextAt?: string | null };
  createdAt: string;
}

export interface VersionDifference {
  upgradable: boolean;
  addedFields: string[];
  removedFields: string[];
  changedFields: string[];
  changes: {
    path: string;
    kind: 'added' | 'removed' | 'changed' | 'moved';
    before?: unknown;
    after?: unknown;
  }[];
}

export interface RunRecord {
  runId: string;
  workflowId: string;
  installationId: string | null;
  userId: string;
  version: number;
  status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled';
  trigger: string;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  nextAt?: string;
  error?: unknown;
}

export interface StepRecord {
  stepId: string;
  status: 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped' | 'cancelled';
  attempts: number;
  startedAt: string;
  endedAt: string | null;
  input?: unknown;
  output?: unknown;
  error?: unknown;
  itemCounts?: Record<string, number>;
  items?: (StepRecord & { item: number })[];
}

export interface RunDetails extends RunRecord {
  triggerValue: unknown;
  steps: StepRecord[];
}

export interface SubscriptionRecord {
  subscriptionId: string;
  connectionId?: string;
  connectorId?: string;
  userId?: string;
  address: string;
  scope: string;
  events: string[];
  status: 'active' | 'disabled';
  reason?: string;
  source?: 'native' | 'polling';
  sourceReason?: string;
  headers: string[];
  ratePerSecond: number | null;
  ordered: boolean;
  backfill: 'none' | 'wanted' | 'running' | 'done';
  failingSince: string | null;
  /** Deliveries that were given up; 100 stands for 100 or more. */
  deadDeliveries: number;
  createdAt: string;
}

export interface DeliveryRecord {
  deliveryId: string;
  event: string;
  recordId: string;
  sequence: number;
  status: 'waiting' | 'succeeded' | 'dead' | 'cancelled';
  attemptCount: number;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: string | null;
  createdAt: string;
  attempts: AttemptRecord[];
}

export interface AttemptRecord {
  number: number;
  at: string;
  durationMs: number;
  status: number | null;
  error: string | null;
  excerpt: string | null;
}
