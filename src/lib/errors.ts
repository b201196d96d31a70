import type { z } from 'zod';
import { typeName } from './near-members.ts';

/**
 * The one error class and the one table of codes. `status` is the HTTP status, `rpc` the JSON-RPC code of the same
 * refusal on an MCP endpoint. Every deliberate refusal is one of these. Anything else becomes `internal`, whose detail
 * stays in the log.
 */
export const ERROR_CODES = {
  invalid_request: { status: 400, rpc: -32600 },
  api_version_missing: { status: 400, rpc: -32600 },
  api_version_unsupported: { status: 400, rpc: -32600 },
  user_id_missing: { status: 400, rpc: -32600 },
  request_meta_invalid: { status: 400, rpc: -32602 },
  request_state_invalid: { status: 400, rpc: -32602 },
  header_mismatch: { status: 400, rpc: -32020 },
  client_capability_missing: { status: 400, rpc: -32021 },
  protocol_version_unsupported: { status: 400, rpc: -32022 },
  redirect_not_allowed: { status: 400, rpc: -32602 },
  oauth_state_invalid: { status: 400, rpc: -32602 },
  unauthorized: { status: 401, rpc: -32001 },
  token_expired: { status: 401, rpc: -32001 },
  restricted: { status: 403, rpc: -32003 },
  forbidden: { status: 403, rpc: -32003 },
  not_found: { status: 404, rpc: -32004 },
  method_not_found: { status: 404, rpc: -32601 },
  server_not_found: { status: 404, rpc: -32004 },
  user_not_found: { status: 404, rpc: -32600 },
  connector_not_found: { status: 404, rpc: -32602 },
  connector_version_not_found: { status: 404, rpc: -32602 },
  action_not_found: { status: 404, rpc: -32602 },
  credential_not_found: { status: 404, rpc: -32602 },
  subscription_not_found: { status: 404, rpc: -32602 },
  delivery_not_found: { status: 404, rpc: -32602 },
  oauth_app_not_found: { status: 404, rpc: -32602 },
  connect_session_taken: { status: 403, rpc: -32003 },
  connect_session_not_found: { status: 404, rpc: -32602 },
  connect_session_expired: { status: 410, rpc: -32602 },
  key_not_found: { status: 404, rpc: -32602 },
  file_not_found: { status: 404, rpc: -32602 },
  record_not_found: { status: 404, rpc: -32602 },
  field_mapping_not_found: { status: 404, rpc: -32602 },
  workflow_not_found: { status: 404, rpc: -32602 },
  workflow_version_not_found: { status: 404, rpc: -32602 },
  starter_not_found: { status: 404, rpc: -32602 },
  installation_not_found: { status: 404, rpc: -32602 },
  run_not_found: { status: 404, rpc: -32602 },
  program_not_found: { status: 404, rpc: -32602 },
  execution_not_found: { status: 404, rpc: -32602 },
  undo_not_found: { status: 404, rpc: -32602 },
  session_not_found: { status: 404, rpc: -32001 },
  method_not_allowed: { status: 405, rpc: -32600 },
  not_acceptable: { status: 406, rpc: -32600 },
  limit_reached: { status: 409, rpc: -32600 },
  connector_exists: { status: 409, rpc: -32600 },
  breaking_changes: { status: 409, rpc: -32600 },
  server_exists: { status: 409, rpc: -32600 },
  key_exists: { status: 409, rpc: -32600 },
  key_rotating: { status: 409, rpc: -32600 },
  environment_key: { status: 409, rpc: -32600 },
  user_exists: { status: 409, rpc: -32600 },
  subscription_exists: { status: 409, rpc: -32602 },
  subscription_disabled: { status: 409, rpc: -32602 },
  workflow_exists: { status: 409, rpc: -32600 },
  installation_exists: { status: 409, rpc: -32600 },
  run_ended: { status: 409, rpc: -32600 },
  program_not_waiting: { status: 409, rpc: -32602 },
  run_not_failed: { status: 409, rpc: -32600 },
  workflow_loop: { status: 409, rpc: -32602 },
  installation_disabled: { status: 409, rpc: -32602 },
  credential_required: { status: 409, rpc: -32602 },
  credential_ambiguous: { status: 409, rpc: -32602 },
  credential_conflict: { status: 409, rpc: -32602 },
  oauth_app_missing: { status: 409, rpc: -32602 },
  credential_invalid: { status: 409, rpc: -32602 },
  idempotency_conflict: { status: 409, rpc: -32602 },
  idempotency_in_progress: { status: 409, rpc: -32602 },
  already_undone: { status: 409, rpc: -32602 },
  possible_duplicate: { status: 409, rpc: -32602 },
  confirmation_too_large: { status: 409, rpc: -32602 },
  confirmation_required: { status: 409, rpc: -32602 },
  definition_changed: { status: 409, rpc: -32602 },
  confirmation_declined: { status: 403, rpc: -32003 },
  url_elicitation_required: { status: 409, rpc: -32042 },
  input_required: { status: 409, rpc: -32602 },
  payload_too_large: { status: 413, rpc: -32600 },
  unsupported_media_type: { status: 415, rpc: -32600 },
  program_failed: { status: 422, rpc: -32603 },
  expression_failed: { status: 422, rpc: -32603 },
  upstream_rejected: { status: 422, rpc: -32603 },
  rate_limited: { status: 429, rpc: -32009 },
  upstream_rate_limited: { status: 429, rpc: -32603 },
  budget_exceeded: { status: 429, rpc: -32009 },
  internal: { status: 500, rpc: -32603 },
  upstream_failed: { status: 502, rpc: -32603 },
  upstream_too_large: { status: 502, rpc: -32603 },
  unavailable: { status: 503, rpc: -32603 },
  circuit_open: { status: 503, rpc: -32603 },
  upstream_timeout: { status: 504, rpc: -32603 },
} satisfies Record<string, { status: number; rpc: number }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorOptions {
  /** Machine-readable facts for the caller: `rule`, `faults`, `status` … Never a secret. */
  details?: Record<string, unknown>;
  /** Response headers that belong to the refusal: `Allow`, `WWW-Authenticate`. */
  headers?: Record<string, string>;
  /** When the same request may succeed, in whole seconds; the header Retry-After. */
  retryAfterSeconds?: number | undefined;
  /**
   * A sentence with the next step of a REST caller or an operator. REST adds it to the message. A model gets a step
   * that it can take instead.
   */
  fix?: string | undefined;
  cause?: unknown;
}

/** A refusal that the caller may read. `message` is a sentence that names the field, the rule and the fix. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  /** Headers of the answer, with Retry-After. */
  readonly headers: Record<string, string>;
  readonly retryAfterSeconds: number | undefined;
  readonly fix: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = {
      ...options.headers,
      ...(options.retryAfterSeconds === undefined
        ? {}
        : { 'Retry-After': String(options.retryAfterSeconds) }),
    };
    this.fix = options.fix;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get rpcCode(): number {
    return ERROR_CODES[this.code].rpc;
  }
}

/** Returns the same refusal with more details. */
export function withDetails(error: GatehouseError, more: Record<string, unknown>): GatehouseError {
  const { code, message, details, headers, retryAfterSeconds, fix, cause } = error;
  return new GatehouseError(code, message, {
    details: { ...details, ...more },
    headers,
    retryAfterSeconds,
    fix,
    cause,
  });
}

/** Returns the app's own text in `details.message`, where the error quotes it. */
export function appWords({ details }: GatehouseError): string | undefined {
  const appText = details?.['message'];
  return typeof appText === 'string' && appText !== '' ? appText : undefined;
}

/** Returns the message without the app's own text. Inside our sentence, it could pass for our words. */
export function ownWords(error: GatehouseError): string {
  const appText = appWords(error);
  if (appText === undefined) return error.message;
  return [`: ${appText}`, ` (${appText})`, appText]
    .reduce((text, quoted) => text.replace(quoted, () => ''), error.message)
    .trim();
}

/** One fault of an input: where it is (a dotted path, or the name of the field) and which rule it breaks. */
export interface Fault {
  field: string;
  rule: string;
}

/** A longer list would make the answer to a short input long. */
export const MAX_FAULTS = 50;

/** Longest field name in a fault, characters. */
const MAX_FIELD = 200;

export const UNKNOWN_MEMBER = 'is not a known member';

/** Returns the faults of a value that was parsed with forFaults(), by dotted path below `below`. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], below = ''): Fault[] {
  return issues.flatMap((issue): Fault[] => {
    const at = [below, ...issue.path].filter((part) => part !== '').join('.');
    if (issue.code === 'unrecognized_keys') {
      const rules = issue.message.startsWith(UNKNOWN_MEMBER) ? issue.message.split('\n') : [];
      return issue.keys.map((key, index) => ({
        field: (at ? `${at}.${key}` : key).slice(0, MAX_FIELD),
        rule: rules[index] ?? UNKNOWN_MEMBER,
      }));
    }
    const isOfType = issue.code === 'invalid_type' || issue.code === 'invalid_union';
    const isUnion = issue.code === 'invalid_union' && issue.input !== undefined;
    const wanted = isUnion ? unionRule(issue) : undefined;
    if (wanted !== undefined) return [{ field: (at || '(whole)').slice(0, MAX_FIELD), rule: wanted }];
    const meant = isUnion ? meantForm(issue) : undefined;
    if (meant) return faultsOf(meant, at);
    const [ofKey] = issue.code === 'invalid_key' ? issue.issues : [];
    if (ofKey) return [{ field: at.slice(0, MAX_FIELD), rule: ofKey.message }];
    const isMissing = isOfType && issue.input === undefined && at !== '';
    return [{ field: at || '(whole)', rule: isMissing ? 'is required' : issue.message }];
  });
}

/**
 * Returns the issues of the one form of a union that has the type of the value; undefined where the union has a message
 * of its own, or several forms have that type.
 */
function meantForm({ errors, message }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | undefined {
  if (message !== 'Invalid input') return undefined;
  const forms = errors.filter((issues) =>
    issues.every(({ code, path }) => code !== 'invalid_type' || path.length > 0),
  );
  return forms.length === 1 ? forms[0] : undefined;
}

/** Returns the 400 for a value that was parsed with forFaults(). Only the faults that it lists are written. */
export function invalidValue(issues: readonly z.core.$ZodIssue[], where: string): GatehouseError {
  const listed = issues.slice(0, MAX_FAULTS);
  const others = issues.slice(MAX_FAULTS).reduce((sum, issue) => sum + countOf(issue), 0);
  return invalidRequest(faultsOf(listed), where, others);
}

function countOf(issue: z.core.$ZodIssue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 1;
}

/**
 * Returns a 400 that lists the faults by field: the first 50, and `moreFaults` with the number of the others. `others`
 * are faults that the list does not have.
 */
export function invalidRequest(faults: readonly Fault[], where = 'The request', others = 0): GatehouseError {
  const count = faults.length + others;
  // The name of a member may be as long as the body.
  const named = faults
    .slice(0, MAX_FAULTS)
    .map((fault) => ({ ...fault, field: fault.field.slice(0, MAX_FIELD) }));
  const shown = named.slice(0, 5).map(({ field, rule }) => `${field}: ${rule}`);
  const more = count > 5 ? [`(and ${count - 5} more)`] : [];
  const listed = [...shown, ...more].reduce(
    (text, one) => `${text}${/[?(]$/.test(text) || one.startsWith('(') ? '' : ';'} ${one}`,
  );
  const end = listed.endsWith('?') ? '' : '.';
  return new GatehouseError('invalid_request', `${where} is invalid. ${listed}${end}`, {
    details: {
      faults: named,
      ...(count > MAX_FAULTS ? { moreFaults: count - MAX_FAULTS } : {}),
    },
  });
}

/**
 * The store cannot work now: the database is down, or its disk is full. This is no GatehouseError, because it is no
 * refusal. Code that retries unknown failures therefore retries it too, and answerError() reports it to callers.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

const STORE_RETRY_SECONDS = 5;

/**
 * Returns the error for the answer to a request, as publicError(). While the store cannot work, that is 503
 * `unavailable` with Retry-After.
 */
export function answerError(thrown: unknown): GatehouseError {
  if (!(thrown instanceof StoreUnavailable)) return publicError(thrown);
  return new GatehouseError(
    'unavailable',
    'The database of this service cannot be reached or its disk is full. Try again in a few seconds.',
    { retryAfterSeconds: STORE_RETRY_SECONDS, cause: thrown },
  );
}

/** Returns whether the caller's error hides a cause that the operator needs in the log. */
export function hidesCause({ code, cause }: GatehouseError): boolean {
  return code === 'internal' || cause instanceof StoreUnavailable;
}

/** Returns the GatehouseError that a caller gets for any thrown value: itself, or `internal` with it as the cause. */
export function publicError(thrown: unknown): GatehouseError {
  if (thrown instanceof GatehouseError) return thrown;
  return new GatehouseError(
    'internal',
    'Something went wrong on our side. The log has it under this requestId.',
    {
      cause: thrown,
    },
  );
}

/** Returns the message of anything that was thrown. */
export function thrownMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}

/**
 * Returns the rule for a value that no form of a union takes: `must be text or a list`. Undefined
 * where a form cannot be named, or where the value has the type of a form and breaks a rule inside of it.
 */
function unionRule({ errors, message }: z.core.$ZodIssueInvalidUnion): string | undefined {
  if (message !== 'Invalid input') return undefined;
  const forms = new Set<string>();
  for (const issues of errors) {
    const form = formOf(issues);
    if (form === undefined) return undefined;
    forms.add(form);
  }
  return forms.size === 0 ? undefined : `must be ${[...forms].join(' or ')}`;
}

/** Returns the words for the form that these issues refuse. */
function formOf(issues: readonly z.core.$ZodIssue[]): string | undefined {
  const [issue, ...others] = issues;
  if (!issue || issue.path.length > 0 || others.length > 0) return undefined;
  switch (issue.code) {
    case 'invalid_type':
      return typeName(issue.expected);
    case 'invalid_value':
      return issue.values.length > 10 ? undefined : issue.values.map(String).join(' or ');
    case 'invalid_union':
      return unionRule(issue)?.slice('must be '.length);
    default:
      return undefined;
  }
}
