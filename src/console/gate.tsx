import { Anchor, Center, Loader, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Session } from './console-paths.ts';
import { ADDRESSED, rightAddress, startOf } from './environment.ts';
import { ErrorNotice } from './parts/error-notice.tsx';
import { replaceSession, SESSION_KEY } from './queries.ts';
import { rest, RestError, whenSignedOut } from './rest-client.ts';
import { SessionContext } from './signed-in.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

/** Shows the sign-in until there is a session, then the console. */
export function SessionGate() {
  const [isOther, setOther] = useState(false);
  const answer = useQuery({
    queryKey: SESSION_KEY,
    queryFn: ({ signal }) => rest('GET', '/console/session', { signal }),
    staleTime: Infinity,
  });
  useEffect(() => whenSignedOut(() => replaceSession(null)), []);

  const done = (session: Session) => {
    // The page of another environment would refuse the key.
    if (ADDRESSED !== undefined && ADDRESSED !== session.environment) location.assign(startOf(undefined));
    else replaceSession(session);
    setOther(false);
  };

  if (answer.isPending) return <Waiting />;
  if (isOther) return <SignIn provider={null} onDone={done} />;
  if (answer.isError)
    return (
      <Center mih="100vh" p="md" component="main">
        <Stack maw={520}>
          <ErrorNotice error={answer.error} again={() => void answer.refetch()} />
          {isForbidden(answer.error) && (
            <>
              <Anchor component="button" onClick={() => setOther(true)}>
                Sign in with another key
              </Anchor>
              <Anchor href={startOf(undefined)}>Open the environment of your key</Anchor>
            </>
          )}
        </Stack>
      </Center>
    );
  const { session, signIn } = answer.data;
  if (session === null) return <SignIn provider={signIn.provider} onDone={done} />;
  return <SessionContext value={session}>{session.role === null ? <Shell /> : <Addressed />}</SessionContext>;
}

/** Shows the console to a person, whose pages have the environment in their address. */
function Addressed() {
  const [address] = useState(rightAddress);
  useEffect(() => {
    if (address !== undefined) location.replace(address);
  }, [address]);
  return address === undefined ? <Shell /> : <Waiting />;
}

function Waiting() {
  return (
    <Center mih="100vh" component="main" aria-busy>
      <Loader aria-label="Loading" />
    </Center>
  );
}

function isForbidden(error: Error): boolean {
  return error instanceof RestError && error.status === 403;
}
