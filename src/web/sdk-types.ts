/**
 * Types of the Gatehouse browser SDK, served as `/sdk.d.ts`.
 *
 * As a script: `<script src="{public_url}/sdk.js"></script>` makes the global `Gatehouse`.
 * As a module: `import { setToken, authenticate, install, manage, resume } from '{public_url}/sdk.mjs'`.
 */

/** The result of connecting an account. Your server reads the credential by these ids. */
export type ConnectionResult = Connected | NotConnected;

export interface Connected {
  success: true;
  connectionId: string;
  /** Equal to `connectionId`. */
  credentialId: string;
  /** The app; missing after a redirect, see `resume`. */
  connectorId?: string;
  /** The name of the account; missing after a redirect. */
  name?: string;
}

export interface NotConnected {
  success: false;
  /** A stable code: `closed`, `access_denied`, `not_loaded`, `not_opened`, or a code of the service. */
  error: string;
  /** A sentence for people. */
  message: string;
}

/** The result of installing a workflow. */
export type InstallationResult = Installed | NotConnected;

export interface Installed {
  success: true;
  installationId: string;
  workflowId: string;
  version: number;
}

export interface InstallOptions {
  /** Id of the workflow, as your server knows it: `wf_…`. */
  workflowId: string;
  /** Called exactly once, with the value of the promise. */
  callback?: (result: InstallationResult) => void;
}

export interface AuthenticateOptions {
  /** Id of one app, such as `sandbox`; the modal goes directly to it. */
  app?: string;
  /** The user chooses among the apps of this category. Not together with `app`; without either, among all apps. */
  category?: string;
  /** Called exactly once, with the value of the promise. */
  callback?: (result: ConnectionResult) => void;
}

/** The changes that the user made in the portal. */
export type ManageResult = Managed | NotConnected;

export interface Managed {
  success: true;
  /** Ids of the accounts that were connected or reconnected. */
  connected: string[];
  /** Ids of the accounts that were disconnected. */
  disconnected: string[];
}

export interface ManageOptions {
  /** Called exactly once, when the portal is closed, with the value of the promise. */
  callback?: (result: ManageResult) => void;
}

export interface TokenOptions {
  /** Environment of the token, for tokens of your own issuer, which do not name it: `development` or `production`. */
  environment?: 'development' | 'production';
  /**
   * Address of Gatehouse, for tokens of your own issuer where the SDK is part of your bundle. Default: the address that
   * served the SDK, else the issuer of the token.
   */
  url?: string;
}

export interface Gatehouse {
  /**
   * Sets the user's JWT, which your server gets from `GET /2023-12/user/{userId}/token`. Call it again with a new
   * token whenever you have one, also while a window is open; a token is valid for an hour.
   * @throws Error when it is not a JWT, or an API key.
   */
  setToken(token: string, options?: TokenOptions): void;
  /**
   * Opens the modal in which the user connects an account. Only one modal is open at a time: a second call ends the
   * first as `closed`. The promise never rejects.
   * @throws Error when no token is set, or `app` and `category` are both given.
   */
  authenticate(options?: AuthenticateOptions): Promise<ConnectionResult>;
  /**
   * Opens the modal that installs a workflow: the user fills in its fields and connects the apps that it needs. If the
   * workflow is already installed, the modal changes it. Otherwise as `authenticate`.
   * @throws Error when no token is set, or `workflowId` is missing.
   */
  install(options: InstallOptions): Promise<InstallationResult>;
  /**
   * Opens the portal, in which the user sees, reconnects and disconnects accounts, connects others, and sees the
   * deliveries of their events. Otherwise as `authenticate`.
   * @throws Error when no token is set.
   */
  manage(options?: ManageOptions): Promise<ManageResult>;
  /**
   * Reads the result of a redirect. Where the browser blocks the window of an app, the whole page goes there and
   * returns to its own address. Call this once when the page loads. After such a return it gives the result and cleans
   * the address; otherwise it returns undefined. After a return during an `install`, the modal opens again when a
   * token is set, with the typed values and the new account. The promise then resolves with the result of the
   * installation. The page's address must be among the environment's `redirectUris`.
   */
  resume(
    callback?: (result: ConnectionResult | InstallationResult) => void,
  ): ConnectionResult | Promise<InstallationResult> | undefined;
}
