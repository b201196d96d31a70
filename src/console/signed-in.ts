import { createContext, useContext } from 'react';
import type { Scope } from './api-types.ts';
import type { Session } from './console-paths.ts';

export const SessionContext = createContext<Session | null>(null);

/** Returns the session of the page. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('This page is shown only after the sign-in.');
  return session;
}

/** Returns whether the signed-in key or person has a scope. */
export function useScope(scope: Scope): boolean {
  return useSession().scopes.includes(scope);
}
