import type { RequestBodyOption } from 'openapi-fetch';
import type {
  HttpMethod,
  PathsWithMethod,
  RequiredKeysOf,
  SuccessResponse,
} from 'openapi-typescript-helpers';
import type { Page } from './list-reading.ts';

/* The request and the answer of an address, read out of the types of the OpenAPI document. */

/** The operation of a method at an address. */
export type OperationAt<Paths, P extends keyof Paths, M extends HttpMethod> = M extends keyof Paths[P]
  ? Paths[P][M]
  : never;

/** A method as a request writes it. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The addresses that have a method. */
export type PathWith<Paths extends object, M extends Method> = PathsWithMethod<Paths, Lowercase<M>>;

/** The operation of a method, as a request writes it, at an address. */
export type OperationOf<Paths extends object, M extends Method, P extends PathWith<Paths, M>> = OperationAt<
  Paths,
  P,
  Lowercase<M>
>;

/** The JSON of the successful answer of an operation. */
export type ValueOf<Operation> = Operation extends {
  responses: infer Answers extends Record<number, unknown>;
}
  ? SuccessResponse<Answers>
  : never;

/** A request to some address: its parameters and its body. */
export interface AnyRequest {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
}

/** The parameters of the path and of the query, and the body of an operation. */
export type SentTo<Operation> = Operation extends { parameters: infer Parameters extends AnyRequest }
  ? Pick<Parameters, 'path' | 'query'> & RequestBodyOption<Operation>
  : never;

/** The same type. The compiler then knows for each address that it is a request. */
export type Known<T> = T extends AnyRequest ? T : never;

/** The addresses of lists. */
export type ListPathOf<Paths> = {
  [P in keyof Paths]: ValueOf<OperationAt<Paths, P, 'get'>> extends Page<unknown> ? P : never;
}[keyof Paths];

/** A record of a page of a list. */
export type RecordIn<Value> = Value extends Page<infer T> ? T : never;

/** An argument that may be left out where none of its members is required. */
export type Optional<T> = RequiredKeysOf<T> extends never ? [init?: T] : [init: T];
