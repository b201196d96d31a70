'use client';

import {
  useCallback,
  useEffect,
  useRef,
  useState,
  type ComponentPropsWithoutRef,
  type ReactNode,
} from 'react';
import { authenticate, install, manage, setToken } from '../web/sdk.ts';
import type {
  AuthenticateOptions,
  ConnectionResult,
  InstallationResult,
  InstallOptions,
  ManageOptions,
  ManageResult,
  NotConnected,
  TokenOptions,
} from '../web/sdk-types.ts';

export interface GatehouseOptions extends TokenOptions {
  /** Returns the user's JWT, which your server gets. It is called each time a window opens. */
  getToken: () => string | Promise<string>;
}

/** The windows of Gatehouse, for the user of a token. */
export interface GatehouseWindows {
  /** Whether a window is open, or its token is awaited. */
  busy: boolean;
  authenticate(options?: AuthenticateOptions): Promise<ConnectionResult>;
  install(options: InstallOptions): Promise<InstallationResult>;
  manage(options?: ManageOptions): Promise<ManageResult>;
}

/** Returns the windows of Gatehouse. A failure of `getToken` is a result with the error `token_failed`. */
export function useGatehouse(options: GatehouseOptions): GatehouseWindows {
  const [open, setOpen] = useState(0);
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });

  const run = useCallback(async <T,>(start: () => Promise<T>): Promise<T | NotConnected> => {
    setOpen((count) => count + 1);
    try {
      const failure = await setLatestToken(latest.current);
      return failure ?? (await start());
    } finally {
      setOpen((count) => count - 1);
    }
  }, []);

  return {
    busy: open > 0,
    authenticate: useCallback((options) => run(() => authenticate(options)), [run]),
    install: useCallback((options) => run(() => install(options)), [run]),
    manage: useCallback((options) => run(() => manage(options)), [run]),
  };
}

/** Sets the user's token. Returns the result of a window that cannot open, because there is none. */
async function setLatestToken({ getToken, ...named }: GatehouseOptions): Promise<NotConnected | undefined> {
  try {
    setToken(await getToken(), named);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { success: false, error: 'token_failed', message };
  }
}

export interface ConnectButtonProps
  extends GatehouseOptions, Omit<ComponentPropsWithoutRef<'button'>, 'onClick' | 'type'> {
  /** Id of one app, such as `sandbox`. */
  app?: string;
  /** The user chooses among the apps of this category. Not together with `app`. */
  category?: string;
  /** Called once for each opened window. */
  onResult?: (result: ConnectionResult) => void;
  /** Label of the button. */
  children?: ReactNode;
}

/** A button that opens the modal in which the user connects an account. It takes the attributes of a button. */
export function ConnectButton({
  getToken,
  environment,
  url,
  app,
  category,
  onResult,
  children = 'Connect an account',
  ...attributes
}: ConnectButtonProps) {
  const named = { ...(environment && { environment }), ...(url !== undefined && { url }) };
  const { busy, authenticate: open } = useGatehouse({ getToken, ...named });
  const connect = async () => {
    // A disabled button could not get the focus back when the modal closes.
    if (busy) return;
    const choice = { ...(app !== undefined && { app }), ...(category !== undefined && { category }) };
    onResult?.(await open(choice));
  };
  return (
    <button {...attributes} type="button" aria-busy={busy} onClick={() => void connect()}>
      {children}
    </button>
  );
}
