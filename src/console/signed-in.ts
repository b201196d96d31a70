import { createContext, useContext } from 'react';

/** The signed-in key, as `/console/session` describes it. */
export interface Session {
  environment: 'development' | 'production';
  keyId: string;
  keyName: string;
  scopes: string[];
  expiresAt: string | null;
  publicUrl: string;
}

export const SessionContext = createContext<Session | null>(null);

/** Returns the session of the page. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('This page is shown only after the sign-in.');
  return session;
}

/** Returns whether the signed-in key has a scope. */
export function useScope(scope: string): boolean {
  return useSession().scopes.includes(scope);
}
