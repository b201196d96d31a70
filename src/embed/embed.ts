/* The entry of the package for pages: the SDK as a module, and the steps without screens. */

export { authenticate, install, manage, resume, setToken } from '../web/sdk.ts';
export type {
  AuthenticateOptions,
  Connected,
  ConnectionResult,
  InstallationResult,
  Installed,
  InstallOptions,
  Managed,
  ManageOptions,
  ManageResult,
  NotConnected,
  TokenOptions,
} from '../web/sdk-types.ts';
export type { AppView, AuthenticationType, Branding, OfferedAccount, Problem } from '../web/api.ts';
export { createConnection, type Connection, type ConnectionOptions } from './headless.ts';
export type {
  AccountsState,
  AppsState,
  ConnectionState,
  Field,
  FormState,
  WindowState,
} from './connection-state.ts';
