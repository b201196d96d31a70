import type { ConnectionResult } from './sdk-types.ts';

/* The connect routes of the service, as this page uses them: same origin, JSON. */

/** One way to authenticate at an app. */
export interface Way {
  type: string;
  title: string;
  docsUrl: string | null;
  scopes?: string[];
  inputSchema: { properties?: Record<string, FieldSchema>; required?: string[] };
  /** Signing in is once the operator has stored an OAuth app. */
  ready: boolean;
}

/** What the service says of a field (JSON Schema 2020-12). */
export interface FieldSchema {
  title?: string;
  description?: string;
  maxLength?: number;
  pattern?: string;
  enum?: string[];
  default?: string;
  examples?: string[];
  writeOnly?: boolean;
  /** `hostname`, `uri` or `email`. */
  format?: string;
  /** There where a value has lines. */
  contentMediaType?: string;
}

export interface AppView {
  connectorId: string;
  name: string;
  description: string;
  categories: string[];
  iconUrl: string;
  color: string;
  authentication: Way[];
}

export interface Branding {
  name: string;
  logoUrl?: string;
  color?: string;
}

export interface Session {
  sessionId: string;
  status: 'open' | 'authorizing' | 'succeeded' | 'failed';
  via: 'modal' | 'link';
  expiresAt: string;
  branding: Branding;
  user: { username: string };
  connectors: AppView[];
  reconnect?: { credentialId: string; name: string };
  /** Whether the browser goes back to the application's own page afterwards. */
  returns: boolean;
  result?: ConnectionResult;
  /** For the window; only the modal that made the session has it. */
  link?: string;
}

/** An account that the user has connected. */
export interface ConnectedAccount {
  credentialId: string;
  connectorId: string;
  name: string;
  state: 'active' | 'needs_reconnect' | 'revoked';
  /** The account as the app tells it. */
  account?: { id: string; name?: string };
  default: boolean;
  createdAt: string;
}

/** What installing a workflow asks for. */
export interface InstallForm {
  workflowId: string;
  name: string;
  version: number;
  configurableFields: { properties?: Record<string, ConfigSchema>; required?: string[] };
  connectors: {
    connectorId: string;
    name: string;
    iconUrl: string;
    needsAccount: boolean;
    credentials: { credentialId: string; name: string }[];
  }[];
  installation: { config: Record<string, unknown>; credentials: Record<string, string> } | null;
  branding: Branding;
  user: { username: string };
}

/** A configurable field (JSON Schema 2020-12), of any type. */
export interface ConfigSchema extends Omit<FieldSchema, 'default' | 'enum'> {
  type?: string | string[];
  default?: unknown;
  enum?: unknown[];
}

/** What a person chose and typed: the values of its form by field. */
export interface Choice {
  connectorId: string;
  type: string;
  data: Record<string, string>;
}

/** What came of sending a form, or of leaving. */
export interface Outcome {
  result: ConnectionResult;
  /** Where the browser goes next, when the link has a way back. */
  redirectTo?: string;
}

export interface Problem {
  code: string;
  message: string;
  faults: { field: string; rule: string }[];
  /** The app's own sentence, where it refused something. */
  said?: string | undefined;
}

export type Answer<T> = { ok: true; value: T } | { ok: false; problem: Problem };

/** Sends one request. A refusal and a network that fails are answers too: nothing is thrown. */
export type Call = <T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: object,
  last?: boolean,
) => Promise<Answer<T>>;

/** Where the service is: this file is below `{public_url}/connect/assets/…/`. */
export const BASE = new URL('../../..', import.meta.url).href.replace(/\/$/, '');

/** Calls in the name of the user's JWT, or without one in that of this browser's cookie. */
export function caller(token?: string): Call {
  return async (method, path, body, last = false) => {
    const headers = new Headers();
    if (token !== undefined) headers.set('Authorization', `Bearer ${token}`);
    if (method !== 'GET') headers.set('Content-Type', 'application/json');
    if (path.startsWith('/workflows/')) headers.set('x-api-version', '2025-09');
    try {
      const response = await fetch(BASE + path, {
        method,
        headers,
        ...(method !== 'GET' ? { body: JSON.stringify(body ?? {}) } : {}),
        // The last word of a page that goes away is still sent.
        keepalive: last,
      });
      const answer = await response.json();
      if (response.ok) return { ok: true, value: answer };
      return {
        ok: false,
        problem: {
          code: answer.code,
          message: answer.error,
          faults: answer.details?.faults ?? [],
          said: answer.details?.message,
        },
      };
    } catch {
      return { ok: false, problem: { code: 'unreachable', message: '', faults: [] } };
    }
  };
}
