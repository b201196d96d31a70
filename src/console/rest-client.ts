import { ADDRESSED } from './environment.ts';
import { BASE } from './page-facts.ts';

/** A refusal by Gatehouse, with its sentence. */
export class RestError extends Error {
  override readonly name = 'RestError';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body['error'] === 'string' ? body['error'] : `Gatehouse answered ${status}.`);
    this.status = status;
    this.code = typeof body['code'] === 'string' ? body['code'] : 'unknown';
    this.requestId = typeof body['requestId'] === 'string' ? body['requestId'] : undefined;
    this.details = isObject(body['details']) ? body['details'] : {};
  }
}

export interface RestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  /** The end user of the call. */
  userId?: string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Requests without an action of the person for this time do not keep the session alive. */
const ACTIVE_MS = 60_000;
let lastActionAt = Date.now();
for (const event of ['pointerdown', 'keydown'])
  addEventListener(event, () => (lastActionAt = Date.now()), { passive: true, capture: true });

let onSignedOut = (): void => {};

/** Sets the function that runs when the session has ended. */
export function whenSignedOut(run: () => void): void {
  onSignedOut = run;
}

/** Sends a request with the session's cookie. */
export function send(path: string, options: RestOptions = {}): Promise<Response> {
  const { method = 'GET', body, userId, headers = {}, signal } = options;
  return fetch(`${BASE}${path}`, {
    method,
    credentials: 'same-origin',
    headers: {
      'x-gatehouse-console': Date.now() - lastActionAt < ACTIVE_MS ? 'person' : 'background',
      'x-api-version': '2025-09',
      ...(ADDRESSED === undefined ? {} : { 'x-gatehouse-environment': ADDRESSED }),
      ...(userId === undefined ? {} : { 'x-svc-userid': userId }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
}

/** An answer of the API, whether it refused or not. */
export interface Answer {
  status: number;
  body: unknown;
  requestId: string | null;
  /** Time from the request to the whole answer, as this browser saw it. */
  durationMs: number;
}

/** Calls the API, and returns refusals like other answers. @throws Error when Gatehouse cannot be reached. */
export async function exchange(path: string, options: RestOptions = {}): Promise<Answer> {
  const start = performance.now();
  const response = await reach(path, options);
  const type = response.headers.get('content-type') ?? '';
  const body: unknown = type.includes('json') ? await response.json() : await response.text();
  if (response.status === 401 && path !== '/console/session') onSignedOut();
  const requestId = response.headers.get('x-request-id');
  return { status: response.status, body, requestId, durationMs: performance.now() - start };
}

/** Calls the API. @throws RestError with the sentence of the answer; Error when Gatehouse cannot be reached. */
export async function rest<T>(path: string, options: RestOptions = {}): Promise<T> {
  const { status, body } = await exchange(path, options);
  if (status >= 200 && status < 300) return body as T;
  throw new RestError(status, isObject(body) ? body : {});
}

async function reach(path: string, options: RestOptions): Promise<Response> {
  try {
    return await send(path, options);
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Error('Gatehouse cannot be reached. Check that it runs and that this machine is online.', {
      cause,
    });
  }
}

/** Returns a query string of the values that are set. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const set = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const text = new URLSearchParams(
    set.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
