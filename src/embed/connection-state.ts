import type {
  AppView,
  AuthenticationType,
  Branding,
  FieldSchema,
  OfferedAccount,
  Problem,
} from '../web/api.ts';
import { faultOf, inputType, tidy, type FieldSchemas } from '../web/field-rules.ts';
import type { ConnectionResult } from '../web/sdk-types.ts';

/** The user's next step. A state never changes; the next one is another object. */
export type ConnectionState =
  | { step: 'loading' }
  | AppsState
  | FormState
  | WindowState
  | AccountsState
  | { step: 'done'; result: ConnectionResult };

/** The user chooses an app. */
export interface AppsState {
  step: 'apps';
  brand: Branding;
  apps: AppView[];
}

/** The user fills in the fields of an authentication type. */
export interface FormState {
  step: 'form';
  brand: Branding;
  app: AppView;
  /** The authentication types of the app, those that are set up first. */
  types: AuthenticationType[];
  /** The chosen type. */
  type: AuthenticationType;
  fields: Field[];
  /** Sentences by the name of the field. */
  faults: Record<string, string>;
  /** The refusal of the values; null without one. */
  problem: Problem | null;
  /** Whether the values are being checked. */
  busy: boolean;
}

/** The user signs in at the app, in a separate window. */
export interface WindowState {
  step: 'window';
  app: AppView;
  /** Address of the window. Where the browser blocks it, show a link with `target="_blank"` and `rel="opener"`. */
  url: string;
  blocked: boolean;
}

/** The user chooses one of the accounts that the consent reaches. */
export interface AccountsState {
  step: 'accounts';
  app: AppView;
  accounts: OfferedAccount[];
  problem: Problem | null;
  /** Whether the choice is being stored. */
  busy: boolean;
}

/** A field of a form. */
export interface Field {
  name: string;
  title: string;
  description: string | undefined;
  required: boolean;
  /** Whether the value is a secret, which is typed hidden. */
  secret: boolean;
  /** Type of the input. */
  type: 'text' | 'email' | 'url';
  /** Whether a value has lines. */
  multiline: boolean;
  /** The allowed values; undefined where any text is allowed. */
  options: string[] | undefined;
  default: string | undefined;
  example: string | undefined;
}

export function fieldsOf({ properties = {}, required = [] }: FieldSchemas): Field[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    title: schema.title ?? name,
    description: schema.description,
    required: required.includes(name),
    secret: schema.writeOnly === true,
    type: inputType(schema.format),
    multiline: schema.contentMediaType !== undefined,
    options: schema.enum,
    default: schema.default,
    example: schema.examples?.[0],
  }));
}

/** Returns the typed values without blanks, and the sentences about those that break a rule. */
export function checkValues(
  { properties = {}, required = [] }: FieldSchemas,
  values: Record<string, string>,
) {
  const tidied = Object.entries(properties).map(([name, schema]): [string, string, FieldSchema] => [
    name,
    tidy(values[name] ?? '', schema),
    schema,
  ]);
  const faults = tidied.flatMap(([name, value, schema]) => {
    const fault = faultOf(value, { ...schema, title: schema.title ?? name }, required.includes(name));
    return fault === undefined ? [] : [[name, fault]];
  });
  const data = tidied.filter(([, value]) => value !== '').map(([name, value]) => [name, value]);
  const texts = (entries: string[][]): Record<string, string> => Object.fromEntries(entries);
  return { data: texts(data), faults: texts(faults) };
}

/** The state of a connection, with its listeners. It does not change after its result. */
export interface StateStore {
  get(): ConnectionState;
  set(next: ConnectionState): void;
  subscribe(listener: () => void): () => void;
  result: Promise<ConnectionResult>;
}

export function createStateStore(): StateStore {
  const listeners = new Set<() => void>();
  let state: ConnectionState = { step: 'loading' };
  let settle: (result: ConnectionResult) => void;
  const result = new Promise<ConnectionResult>((resolve) => (settle = resolve));
  return {
    get: () => state,
    set(next) {
      if (state.step === 'done') return;
      state = next;
      if (next.step === 'done') settle(next.result);
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    result,
  };
}
