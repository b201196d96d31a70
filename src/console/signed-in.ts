import { createContext, useContext } from 'react';
import type { Environment } from './environment.ts';

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
  scopes: string[];
  expiresAt: string | null;
  publicUrl: string;
}

/** The answer of `/console/session`. */
export interface SessionAnswer {
  session: Session | null;
  /** The host of the OpenID Connect provider; null where there is none. */
  signIn: { provider: string | null };
}

export const SessionContext = createContext<Session | null>(null);

/** Returns the session of the page. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('This page is shown only after the sign-in.');
  return session;
}

/** Returns whether the signed-in key or person has a scope. */
export function useScope(scope: string): boolean {
  return useSession().scopes.includes(scope);
}
