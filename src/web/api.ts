import type { components, paths } from '../../data/api-types.ts';
import type {
  Known,
  Method,
  OperationOf,
  Optional,
  PathWith,
  SentTo,
  ValueOf,
} from '../client/operation-types.ts';

/* The connect routes of the service, as this page uses them: same origin, JSON. */

export type Schemas = components['schemas'];

/** The fields of a form. The OpenAPI document says only that they are an object. */
type Fields = { properties?: Record<string, FieldSchema>; required?: string[] };
type DocumentedSession = Schemas['ConnectSession'] & Partial<Pick<Schemas['ModalSession'], 'link'>>;
type DocumentedApp = DocumentedSession['connectors'][number];

/** One authentication type of an app. */
export type AuthenticationType = Omit<
  DocumentedApp['authentication'][number],
  'inputSchema' | 'sampleInput'
> & { inputSchema: Fields };

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

export type AppView = Omit<DocumentedApp, 'authentication'> & { authentication: AuthenticationType[] };

export type Environment = Schemas['ApiKey']['environment'];

export type Branding = DocumentedSession['branding'];

/** A connect session. Only the modal that made it has `link`, for the window. */
export type Session = Omit<DocumentedSession, 'connectors'> & { connectors: AppView[] };

/** The accounts that a consent reaches. */
export type AccountOffer = NonNullable<DocumentedSession['choosing']>;

export type OfferedAccount = AccountOffer['accounts'][number];

/** An account that the user has connected. */
export type ConnectedAccount = Schemas['Credential'];

type DocumentedForm = ValueAt<'GET', '/workflows/{workflowId}/install'>;

/** The form of a workflow installation. */
export type InstallForm = Omit<DocumentedForm, 'configurableFields'> & {
  configurableFields: { properties?: Record<string, ConfigSchema>; required?: string[] };
};

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
export type Outcome = ValueAt<'POST', '/connect/sessions/{sessionId}/cancel'>;

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

/** The value of a successful answer. */
export type ValueAt<M extends Method, P extends PathWith<paths, M>> = ValueOf<OperationOf<paths, M, P>>;

/** The parameters and the body of a request. `last`: the page goes away, and the request is still sent. */
type Sent<M extends Method, P extends PathWith<paths, M>> = Known<
  SentTo<OperationOf<paths, M, P>> & { last?: boolean }
>;

/** Sends one request. A refusal and a network failure are answers too; it never throws. */
export type Call = <M extends Method, P extends PathWith<paths, M>>(
  method: M,
  path: P,
  ...sent: Optional<Sent<M, P>>
) => Promise<Answer<ValueAt<M, P>>>;
