import createFetchClient, { type FetchResponse, type MaybeOptionalInit, type ParseAs } from 'openapi-fetch';
import type { HttpMethod, MediaType, PathsWithMethod } from 'openapi-typescript-helpers';
import type { components, paths } from '../../data/api-types.ts';
import { errorOf } from './api-error.ts';
import type { ListPathOf, OperationAt, Optional, RecordIn, ValueOf } from './operation-types.ts';
import { pages, records, type Page, type Position } from './list-reading.ts';

export { ApiError, type ErrorCode } from './api-error.ts';
export { pages, records, type Page, type Position } from './list-reading.ts';
export {
  verifyWebhook,
  WebhookError,
  type VerifyOptions,
  type WebhookDelivery,
  type WebhookFault,
  type WebhookRequest,
} from './webhook-verification.ts';
export type { paths };

/** A model of the API: `Schema<'Server'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

const API_VERSION = '2025-09';

export interface ClientOptions {
  /** Address of Gatehouse: `https://gatehouse.example.com`. */
  baseUrl: string;
  /** API key, or a user's JWT. A function is asked before each request, so that it can renew a JWT. */
  token: string | (() => string | Promise<string>);
  /** Sends the requests. Default: the fetch of this environment. */
  fetch?: (request: Request) => Promise<Response>;
}

/** The value of a successful answer, as it is read. */
type Value<P extends keyof paths, M extends HttpMethod, As extends ParseAs = 'json'> = As extends 'json'
  ? ValueOf<OperationAt<paths, P, M>>
  : Parsed<OperationAt<paths, P, M>, As>;
type Parsed<Operation, As extends ParseAs> =
  Operation extends Record<string | number, unknown>
    ? NonNullable<FetchResponse<Operation, { parseAs: As }, MediaType>['data']>
    : never;

/** The parameters, the body and the options of fetch. They may be left out where none is required. */
type Init<P extends keyof paths, M extends HttpMethod, As> = Optional<
  Omit<NonNullable<MaybeOptionalInit<paths[P], M>>, 'parseAs'> & {
    /** How the body of the answer is read. Default: as JSON. */
    parseAs?: As;
  }
>;

/**
 * Sends a request to an address of the API, with its parameters and its body. @returns the value of the answer.
 * @throws ApiError for every other answer; the error of fetch when there is none.
 */
type Send<M extends HttpMethod> = <P extends PathsWithMethod<paths, M>, As extends ParseAs = 'json'>(
  path: P,
  ...init: Init<P, M, As>
) => Promise<Value<P, M, As>>;

/** The addresses of lists: `{data, pagination}`. */
export type ListPath = ListPathOf<paths>;

/** A record of the list at an address. */
export type RecordOf<P extends ListPath> = RecordIn<Value<P, 'get'>>;

/** Reads a list to its end, or until the loop is left. */
type List<Of extends 'page' | 'record'> = <P extends ListPath>(
  path: P,
  ...init: Init<P, 'get', 'json'>
) => AsyncGenerator<Of extends 'page' ? Page<RecordOf<P>> : RecordOf<P>, void>;

export interface Client {
  get: Send<'get'>;
  post: Send<'post'>;
  put: Send<'put'>;
  patch: Send<'patch'>;
  delete: Send<'delete'>;
  /** Reads the records of a list over all its pages: `for await (const user of client.list('/users'))`. */
  list: List<'record'>;
  /** Reads a list page by page. */
  listPages: List<'page'>;
}

/**
 * Creates a client of the REST API. It repeats no request; `ApiError.retryAfterSeconds` says when a request may be sent
 * again.
 */
export function createClient({ baseUrl, token, fetch }: ClientOptions): Client {
  const transport = createFetchClient<paths>({
    baseUrl: baseUrl.replace(/\/+$/, ''),
    headers: { 'x-api-version': API_VERSION },
    ...(fetch ? { fetch } : {}),
  });
  transport.use({
    async onRequest({ request }) {
      request.headers.set('authorization', `Bearer ${typeof token === 'string' ? token : await token()}`);
    },
    async onResponse({ response }) {
      if (!response.ok) throw await errorOf(response);
    },
  });
  // The types of a request come from its address, so the code of all methods and addresses has none of its own.
  const send = (method: HttpMethod) => async (path: string, init?: object) =>
    (await Reflect.apply(transport.request, transport, [method, path, init])).data;
  const reader = (path: string, init: { params?: { query?: object } } = {}) => {
    const { params } = init;
    return (position: Position) =>
      send('get')(path, { ...init, params: { ...params, query: { ...params?.query, ...position } } });
  };
  return {
    get: send('get'),
    post: send('post'),
    put: send('put'),
    patch: send('patch'),
    delete: send('delete'),
    list: (path: string, init?: object) => records(reader(path, init)),
    listPages: (path: string, init?: object) => pages(reader(path, init)),
  };
}
