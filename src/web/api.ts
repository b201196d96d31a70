import type { ConnectionResult } from './sdk-types.ts';

/* The connect routes of the service, as this page uses them: same origin, JSON. */

/** One authentication type of an app. */
export interface AuthenticationType {
  type: string;
  title: string;
  docsUrl: string | null;
  scopes?: string[];
  inputSchema: { properties?: Record<string, FieldSchema>; required?: string[] };
  /** Whether it is set up; a sign-in is when the operator has stored an OAuth app. */
  ready: boolean;
}

/** The service's description of a field (JSON Schema 2020-12). */
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
  /** Present where a value has lines. */
  contentMediaType?: string;
}

export interface AppView {
  connectorId: string;
  name: string;
  description: string;
  categories: string[];
  iconUrl: string;
  color: string;
  authentication: AuthenticationType[];
}

export interface Branding {
  name: string;
  logoUrl?: string;
  color?: string;
}

export interface Session {
  sessionId: string;
  status: 'open' | 'authorizing' | 'choosing' | 'succeeded' | 'failed';
  via: 'modal' | 'link';
  expiresAt: string;
  branding: Branding;
  user: { username: string };
  connectors: AppView[];
  reconnect?: { credentialId: string; name: string };
  /** The accounts that a consent reaches, while the user has to choose one. */
  choosing?: AccountOffer;
  /** Whether the browser returns to the application's own page afterwards. */
  returns: boolean;
  result?: ConnectionResult;
  /** For the window; only the modal that made the session has it. */
  link?: string;
}

/** The accounts that a consent reaches. */
export interface AccountOffer {
  connectorId: string;
  accounts: OfferedAccount[];
}

export interface OfferedAccount {
  accountId: string;
  label: string;
  detail?: string;
  /** Whether the user has connected it already. */
  connected: boolean;
}

/** An account that the user has connected. */
export interface ConnectedAccount {
  credentialId: string;
  connectorId: string;
  name: string;
  state: 'active' | 'needs_reconnect' | 'revoked';
  /** The account as the app names it. */
  account?: { id: string; name?: string };
  default: boolean;
  createdAt: string;
}

/** The form of a workflow installation. */
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

/** A person's choice and typed values, by field of the form. */
export interface Choice {
  connectorId: string;
  type: string;
  data: Record<string, string>;
}

/** The result of sending or leaving a form. */
export interface Outcome {
  result: ConnectionResult;
  /** Where the browser goes next, when the link has a return address. */
  redirectTo?: string;
}

export interface Problem {
  code: string;
  message: string;
  faults: { field: string; rule: string }[];
  /** The app's message, where it refused the values. */
  appText?: string | undefined;
}

/** Returns whether the session is over. In the modal the user may start again; behind a link a new link is needed. */
export function isOver({ code }: Problem): boolean {
  return code === 'connect_session_expired' || code === 'connect_session_not_found';
}

export type Answer<T> = { ok: true; value: T } | { ok: false; problem: Problem };

/** Sends one request. A refusal and a network failure are answers too; it never throws. */
export type Call = <T>(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  sent?: { body?: object; last?: boolean },
) => Promise<Answer<T>>;
