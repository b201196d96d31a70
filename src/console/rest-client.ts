import { defaultPathSerializer } from 'openapi-fetch';
import type { paths } from '../../data/api-types.ts';
import type {
  AnyRequest,
  Known,
  Method,
  OperationOf,
  Optional,
  PathWith,
  SentTo,
  ValueOf,
} from '../client/operation-types.ts';
import type { ConsolePaths } from './console-paths.ts';
import { ADDRESSED } from './environment.ts';
import { BASE } from './page-facts.ts';

/** The addresses of the REST API and those of the console itself. */
export type Paths = paths & ConsolePaths;
export type ReadPath = PathWith<Paths, 'GET'>;

/** The value of a successful answer. */
export type ValueAt<M extends Method, P extends PathWith<Paths, M>> = ValueOf<OperationOf<Paths, M, P>>;

/** A request to an address: its parameters, its body and its end user, as the OpenAPI document says. */
export type RequestTo<M extends Method, P extends PathWith<Paths, M>> = Known<
  Fillable<SentTo<OperationOf<Paths, M, P>>> & UserOf<OperationOf<Paths, M, P>> & { signal?: AbortSignal }
>;
type Fillable<T> = { [K in keyof T]: K extends 'query' ? WithEmpty<T[K]> : T[K] };
type WithEmpty<T> = { [Name in keyof T]: T[Name] | '' };
type UserOf<Operation> = Operation extends { parameters: { header: { 'x-svc-userid': string } } }
  ? { userId: string }
  : { userId?: string | undefined };

/** A request without the types of its address. Values of the query that are empty are left out. */
export interface ConsoleRequest extends AnyRequest {
  /** The end user of the call. */
  userId?: string | undefined;
  signal?: AbortSignal;
}

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
export function send(method: Method, address: string, request: ConsoleRequest = {}): Promise<Response> {
  const { body, userId, signal } = request;
  return fetch(`${BASE}${address}`, {
    method,
    credentials: 'same-origin',
    headers: {
      'x-gatehouse-console': Date.now() - lastActionAt < ACTIVE_MS ? 'person' : 'background',
      'x-api-version': '2025-09',
      ...(ADDRESSED === undefined ? {} : { 'x-gatehouse-environment': ADDRESSED }),
      ...(userId === undefined ? {} : { 'x-svc-userid': userId }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
}

/** An answer of the API, whether it refused or not. */
export type Answer<Value = unknown> = ({ ok: true; body: Value } | { ok: false; body: unknown }) & {
  status: number;
  requestId: string | null;
  /** Time from the request to the whole answer, as this browser saw it. */
  durationMs: number;
};

/** Calls the API, and returns refusals like other answers. @throws Error when Gatehouse cannot be reached. */
export function exchange<M extends Method, P extends PathWith<Paths, M>>(
  method: M,
  path: P,
  ...[request]: Optional<RequestTo<M, P>>
): Promise<Answer<ValueAt<M, P>>> {
  return exchangeAny<ValueAt<M, P>>(method, path, request);
}

/** Calls the API. @throws RestError with the sentence of the answer; Error when Gatehouse cannot be reached. */
export function rest<M extends Method, P extends PathWith<Paths, M>>(
  method: M,
  path: P,
  ...[request]: Optional<RequestTo<M, P>>
): Promise<ValueAt<M, P>> {
  return readAny<ValueAt<M, P>>(method, path, request);
}

/** Calls the API as rest() does, where the caller has checked the types of the address. */
export async function readAny<Value>(method: Method, path: string, request?: ConsoleRequest): Promise<Value> {
  const answer = await exchangeAny<Value>(method, path, request);
  if (answer.ok) return answer.body;
  throw new RestError(answer.status, isObject(answer.body) ? answer.body : {});
}

async function exchangeAny<Value>(
  method: Method,
  path: string,
  request: ConsoleRequest = {},
): Promise<Answer<Value>> {
  const start = performance.now();
  const response = await reach(method, addressOf(path, request), request);
  const type = response.headers.get('content-type') ?? '';
  const body: unknown = type.includes('json') ? await response.json() : await response.text();
  if (response.status === 401 && path !== '/console/session') onSignedOut();
  const requestId = response.headers.get('x-request-id');
  const facts = { status: response.status, requestId, durationMs: performance.now() - start };
  // The only place that trusts the OpenAPI document about the JSON of an answer.
  return response.ok ? { ...facts, ok: true, body: body as Value } : { ...facts, ok: false, body };
}

async function reach(method: Method, address: string, request: ConsoleRequest): Promise<Response> {
  try {
    return await send(method, address, request);
  } catch (cause) {
    if (request.signal?.aborted) throw cause;
    throw new Error('Gatehouse cannot be reached. Check that it runs and that this machine is online.', {
      cause,
    });
  }
}

/** Returns the address of a request, with its parameters. */
export function addressOf(template: string, { path = {}, query: values = {} }: AnyRequest): string {
  return defaultPathSerializer(template, path) + query(values);
}

/** Returns a query string of the values that are set. */
export function query(values: Record<string, unknown>): string {
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
