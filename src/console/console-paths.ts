import type { Scope } from './api-types.ts';
import type { Environment } from './environment.ts';

/** The console's own addresses. They serve its page alone, so the OpenAPI document leaves them out. */
export interface ConsolePaths {
  '/console/session': {
    get: Operation<{ value: SessionAnswer }>;
    post: Operation<{ value: Session; body: { apiKey: string } }>;
    delete: Operation<{ value: { continueAt: string | null } }>;
  };
  '/console/oidc/sign-in': { post: Operation<{ value: { authorizationUrl: string } }> };
  '/console/people': { get: Operation<{ value: { people: PersonRecord[] } }> };
  '/console/people/{personId}/sessions': {
    delete: Operation<{ value: unknown; path: { personId: string } }>;
  };
}

/** An operation in the form of the generated types. */
type Operation<Of extends { value: unknown; path?: object; body?: object }> = {
  parameters: { query?: never } & (Of extends { path: infer Path } ? { path: Path } : { path?: never });
  responses: { 200: { content: { 'application/json': Of['value'] } } };
} & (Of extends { body: infer Body }
  ? { requestBody: { content: { 'application/json': Body } } }
  : { requestBody?: never });

/** The signed-in key or person, as `/console/session` describes it. */
export interface Session {
  environment: Environment;
  /** A person may change the environment. A key has one. */
  environments: Environment[];
  /** Id of the key; null for a person. */
  keyId: string | null;
  name: string;
  /** The role of the person; null for a key. */
  role: 'viewer' | 'operator' | 'owner' | null;
  scopes: Scope[];
  expiresAt: string | null;
  publicUrl: string;
}

/** The answer of `/console/session`. */
export interface SessionAnswer {
  session: Session | null;
  /** The host of the OpenID Connect provider; null where there is none. */
  signIn: { provider: string | null };
}

/** A person who signed in by OpenID Connect. */
export interface PersonRecord {
  personId: string;
  name: string;
  role: string;
  signedInAt: string;
  sessions: number;
}
