/**
 * Types of the Gatehouse browser SDK, served as `/sdk.d.ts`.
 *
 * As a script: `<script src="{public_url}/sdk.js"></script>` makes the global `Gatehouse`.
 * As a module: `import { setToken, authenticate, install, resume } from '{public_url}/sdk.mjs'`.
 */

/** What came of connecting an account. The ids are for your server, which reads the credential by them. */
export type ConnectionResult = Connected | NotConnected;

export interface Connected {
  success: true;
  connectionId: string;
  /** Equal to `connectionId`. */
  credentialId: string;
  /** Which app it is; missing after a redirect, see `resume`. */
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

/** What came of installing a workflow. */
export type InstallationResult = Installed | NotConnected;

export interface Installed {
  success: true;
  installationId: string;
  workflowId: string;
  version: number;
}

export interface InstallOptions {
  /** The workflow, as your server knows it: `wf_…`. */
  workflowId: string;
  /** Called exactly once, with what the promise resolves to. */
  callback?: (result: InstallationResult) => void;
}

export interface AuthenticateOptions {
  /** The id of one app, such as `sandbox`: the modal goes straight to it. */
  app?: string;
  /** The user chooses among the apps of this category. Not together with `app`; with neither, among all. */
  category?: string;
  /** Called exactly once, with what the promise resolves to. */
  callback?: (result: ConnectionResult) => void;
}

export interface TokenOptions {
  /** Only for tokens of an issuer of your own, which do not name it: `development` or `production`. */
  environment?: 'development' | 'production';
}

export interface Gatehouse {
  /**
   * Passes on the user's JWT, which your server gets from `GET /2023-12/user/{userId}/token`. Call it again with a
   * fresh one whenever you have it; it holds for an hour.
   * @throws Error when it is not a JWT, or an API key.
   */
  setToken(token: string, options?: TokenOptions): void;
  /**
   * Opens the modal in which the user connects an account. One is open at a time: a second call ends the first as
   * `closed`. The promise never rejects.
   * @throws Error when no token is set, or `app` and `category` are both given.
   */
  authenticate(options?: AuthenticateOptions): Promise<ConnectionResult>;
  /**
   * Opens the modal in which the user fills in what a workflow asks for, connects the apps that it needs, and installs
   * it; where it is installed already, changes it. As `authenticate` otherwise.
   * @throws Error when no token is set, or `workflowId` is missing.
   */
  install(options: InstallOptions): Promise<InstallationResult>;
  /**
   * Where the browser blocks the window of an app, the whole page goes there and comes back to its own address. Call
   * this once when the page loads: after such a return it gives the result and cleans the address; else undefined. Where
   * the page left in the middle of an `install`, its modal opens again once a token is set, with all that the user had
   * typed and the account that came of it; the promise is of what comes of that. The page's address must be among the
   * environment's `redirectUris`.
   */
  resume(
    callback?: (result: ConnectionResult | InstallationResult) => void,
  ): ConnectionResult | Promise<InstallationResult> | undefined;
}

export declare const setToken: Gatehouse['setToken'];
export declare const authenticate: Gatehouse['authenticate'];
export declare const install: Gatehouse['install'];
export declare const resume: Gatehouse['resume'];

declare global {
  /** Made by `/sdk.js`. */
  const Gatehouse: Gatehouse;
}
