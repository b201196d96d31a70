import { Center, Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ErrorNotice } from './parts/error-notice.tsx';
import { replaceSession, SESSION_KEY } from './queries.ts';
import { rest, whenSignedOut } from './rest-client.ts';
import { SessionContext, type Session } from './signed-in.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

/** Shows the sign-in until there is a session, then the console. */
export function SessionGate() {
  const session = useQuery({
    queryKey: SESSION_KEY,
    queryFn: async ({ signal }) =>
      (await rest<{ session: Session | null }>('/console/session', { signal })).session,
    staleTime: Infinity,
  });
  useEffect(() => whenSignedOut(() => replaceSession(null)), []);

  if (session.isPending)
    return (
      <Center mih="100vh" component="main" aria-busy>
        <Loader aria-label="Loading" />
      </Center>
    );
  if (session.isError)
    return (
      <Center mih="100vh" p="md" component="main">
        <ErrorNotice error={session.error} again={() => void session.refetch()} />
      </Center>
    );
  if (session.data === null) return <SignIn onDone={replaceSession} />;
  return (
    <SessionContext value={session.data}>
      <Shell />
    </SessionContext>
  );
}
