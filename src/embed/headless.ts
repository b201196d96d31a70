import { targetOf } from '../web/sdk.ts';
import type { ConnectionResult, TokenOptions } from '../web/sdk-types.ts';
import { createCall } from '../web/service-call.ts';
import { createStateStore, type ConnectionState } from './connection-state.ts';
import { createSteps } from './connection-steps.ts';

/* The steps of the modal without its screens. The application draws them. */

export interface ConnectionOptions extends TokenOptions {
  /** The user's JWT. */
  token: string;
  /** Id of one app, such as `sandbox`. */
  app?: string;
  /** The user chooses among the apps of this category. Not together with `app`. */
  category?: string;
  /** The account to reconnect. Not together with `app` and `category`. */
  credentialId?: string;
}

/** A connection under way. A call that does not fit the step does nothing. */
export interface Connection {
  getState(): ConnectionState;
  /**
   * Calls a listener after each change.
   * @returns a function that ends this.
   */
  subscribe(listener: () => void): () => void;
  chooseApp(connectorId: string): void;
  /** Chooses one of the authentication types of the app. */
  chooseType(type: string): void;
  /** Sends the values of the fields. A sign-in opens a window, so call this in the handler of the user's click. */
  submit(values: Record<string, string>): void;
  /** Opens the window of a sign-in again, in the handler of the user's click. */
  openWindow(): void;
  chooseAccount(accountId: string): void;
  /** Returns from the window to the form, and from the form to the apps. */
  back(): void;
  /** Ends the connection as `closed`. */
  cancel(): void;
  /** The result. It never rejects. */
  readonly result: Promise<ConnectionResult>;
}

/**
 * Begins to connect an account, as the user of the token. The page's origin must be among the `origins` of the
 * environment.
 * @throws Error when `token` is not a JWT, or when `app`, `category` and `credentialId` are not alone.
 */
export function createConnection({ token, ...options }: ConnectionOptions): Connection {
  const { app, category, credentialId } = options;
  if ([app, category, credentialId].filter((one) => one !== undefined).length > 1)
    throw new Error('createConnection: give only one of app, category and credentialId.');
  const { environment, url } = targetOf(token, options);
  const store = createStateStore();
  const steps = createSteps({ call: createCall(url, () => token), url }, store);
  void steps.begin({ environment, app, category, credentialId });
  return {
    getState: store.get,
    subscribe: store.subscribe,
    result: store.result,
    chooseApp(connectorId) {
      const state = store.get();
      const found = state.step === 'apps' && state.apps.find((one) => one.connectorId === connectorId);
      if (found) steps.showForm(found);
    },
    chooseType(name) {
      const state = store.get();
      if (state.step !== 'form' || state.busy) return;
      const type = state.types.find((one) => one.type === name);
      if (type) steps.showForm(state.app, type);
    },
    submit(values) {
      const state = store.get();
      if (state.step === 'form' && !state.busy) steps.submit(state, values);
    },
    openWindow() {
      if (store.get().step === 'window') steps.openWindow();
    },
    chooseAccount(accountId) {
      const state = store.get();
      if (state.step === 'accounts' && !state.busy) void steps.choose(state, accountId);
    },
    back() {
      const state = store.get();
      if (state.step === 'window') steps.leaveWindow();
      else if (state.step === 'form' && !state.busy) steps.showApps();
    },
    cancel() {
      if (store.get().step !== 'done') void steps.cancel();
    },
  };
}
