/**
 * The one error class and the one table of codes (contract.md section 3). `status` is the HTTP status, `rpc` the
 * JSON-RPC code of the same refusal on an MCP endpoint. Everything thrown on purpose is one of these; anything
 * else becomes `internal`, whose detail stays in the log.
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
  action_not_found: { status: 404, rpc: -32602 },
  credential_not_found: { status: 404, rpc: -32602 },
  subscription_not_found: { status: 404, rpc: -32602 },
  delivery_not_found: { status: 404, rpc: -32602 },
  oauth_app_not_found: { status: 404, rpc: -32602 },
  connect_session_taken: { status: 403, rpc: -32003 },
  connect_session_not_found: { status: 404, rpc: -32602 },
  connect_session_expired: { status: 410, rpc: -32602 },
  record_not_found: { status: 404, rpc: -32602 },
  field_mapping_not_found: { status: 404, rpc: -32602 },
  workflow_not_found: { status: 404, rpc: -32602 },
  workflow_version_not_found: { status: 404, rpc: -32602 },
  starter_not_found: { status: 404, rpc: -32602 },
  installation_not_found: { status: 404, rpc: -32602 },
  run_not_found: { status: 404, rpc: -32602 },
  session_not_found: { status: 404, rpc: -32001 },
  method_not_allowed: { status: 405, rpc: -32600 },
  not_acceptable: { status: 406, rpc: -32600 },
  limit_reached: { status: 409, rpc: -32600 },
  server_exists: { status: 409, rpc: -32600 },
  user_exists: { status: 409, rpc: -32600 },
  subscription_exists: { status: 409, rpc: -32602 },
  subscription_disabled: { status: 409, rpc: -32602 },
  workflow_exists: { status: 409, rpc: -32600 },
  installation_exists: { status: 409, rpc: -32600 },
  run_ended: { status: 409, rpc: -32600 },
  run_not_failed: { status: 409, rpc: -32600 },
  installation_disabled: { status: 409, rpc: -32602 },
  credential_required: { status: 409, rpc: -32602 },
  credential_ambiguous: { status: 409, rpc: -32602 },
  credential_conflict: { status: 409, rpc: -32602 },
  oauth_app_missing: { status: 409, rpc: -32602 },
  credential_invalid: { status: 409, rpc: -32602 },
  idempotency_conflict: { status: 409, rpc: -32602 },
  idempotency_in_progress: { status: 409, rpc: -32602 },
  confirmation_too_large: { status: 409, rpc: -32602 },
  confirmation_required: { status: 409, rpc: -32602 },
  definition_changed: { status: 409, rpc: -32602 },
  confirmation_declined: { status: 403, rpc: -32003 },
  url_elicitation_required: { status: 409, rpc: -32042 },
  input_required: { status: 409, rpc: -32602 },
  payload_too_large: { status: 413, rpc: -32600 },
  unsupported_media_type: { status: 415, rpc: -32600 },
  expression_failed: { status: 422, rpc: -32603 },
  upstream_rejected: { status: 422, rpc: -32603 },
  rate_limited: { status: 429, rpc: -32009 },
  upstream_rate_limited: { status: 429, rpc: -32603 },
  internal: { status: 500, rpc: -32603 },
  upstream_failed: { status: 502, rpc: -32603 },
  upstream_too_large: { status: 502, rpc: -32603 },
  unavailable: { status: 503, rpc: -32603 },
  upstream_timeout: { status: 504, rpc: -32603 },
} satisfies Record<string, { status: number; rpc: number }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorOptions {
  /** Machine-readable facts for the caller: `rule`, `faults`, `status` … Never a secret. */
  details?: Record<string, unknown>;
  /** Response headers that belong to the refusal: `Retry-After`, `Allow`, `WWW-Authenticate`. */
  headers?: Record<string, string>;
  /**
   * What a caller of REST or an operator does about it, as a sentence. REST adds it to the message; a model is given a next
   * step that it can take instead.
   */
  fix?: string | undefined;
  cause?: unknown;
}

/** A refusal that the caller may read. `message` is a sentence that names the field, the rule and the fix. */
export class GatehouseError extends Error {
  override readonly name = 'GatehouseError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;
  readonly fix: string | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.fix = options.fix;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get rpcCode(): number {
    return ERROR_CODES[this.code].rpc;
  }
}

/** What the app itself said, where an error quotes it; it stands in `details.message`. */
export function appWords({ details }: GatehouseError): string | undefined {
  const said = details?.['message'];
  return typeof said === 'string' && said !== '' ? said : undefined;
}

/** The message without what the app itself said: words of an app that stand in our sentence could pass for ours. */
export function ownWords(error: GatehouseError): string {
  const said = appWords(error);
  if (said === undefined) return error.message;
  return [`: ${said}`, ` (${said})`, said]
    .reduce((text, quoted) => text.replace(quoted, () => ''), error.message)
    .trim();
}

/** One fault of an input: where it is (a dotted path, or the name of the field) and which rule it breaks. */
export interface Fault {
  field: string;
  rule: string;
}

/** More would make a short input a long answer. */
const MAX_FAULTS = 50;

/** A 400 that lists the faults by field: the first 50, and `moreFaults` says how many are left out. */
export function invalidRequest(faults: Fault[], where = 'The request'): GatehouseError {
  const listed = faults.slice(0, 5).map(({ field, rule }) => `${field}: ${rule}`);
  const more = faults.length > 5 ? ` (and ${faults.length - 5} more)` : '';
  return new GatehouseError('invalid_request', `${where} is invalid. ${listed.join('; ')}${more}.`, {
    details: {
      faults: faults.slice(0, MAX_FAULTS),
      ...(faults.length > MAX_FAULTS ? { moreFaults: faults.length - MAX_FAULTS } : {}),
    },
  });
}

/**
 * The store cannot work now: the database is down, or its disk is full. It is no refusal, so it is no GatehouseError: what
 * tries unknown failures again goes on to do so, and answerError() is where callers learn of it.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

const STORE_RETRY_SECONDS = 5;

/** As publicError(), for the answer to a request: 503 `unavailable` with Retry-After while the store cannot work. */
export function answerError(thrown: unknown): GatehouseError {
  if (!(thrown instanceof StoreUnavailable)) return publicError(thrown);
  return new GatehouseError(
    'unavailable',
    'The database of this service cannot be reached or its disk is full. Try again in a few seconds.',
    { headers: { 'Retry-After': String(STORE_RETRY_SECONDS) }, cause: thrown },
  );
}

/** Whether what a caller is shown hides a cause that the operator needs to see in the log. */
export function hidesCause({ code, cause }: GatehouseError): boolean {
  return code === 'internal' || cause instanceof StoreUnavailable;
}

/** The GatehouseError that a caller is shown for anything thrown: itself, or `internal` with the cause kept. */
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
