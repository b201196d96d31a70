import { Alert, Anchor, Button, Center, Divider, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconLogin2 } from '@tabler/icons-react';
import { useEffect, useState, type FormEvent } from 'react';
import type { Session } from './console-paths.ts';
import { keepReturn } from './environment.ts';
import { Emblem } from './parts/emblem.tsx';
import { BASE } from './page-facts.ts';
import { rest } from './rest-client.ts';
import { signInFault } from './sign-in-faults.ts';

/** The sign-in, with an API key or at the provider. The browser then has a cookie that scripts cannot read. */
export function SignIn({
  provider,
  onDone,
}: {
  /** The host of the OpenID Connect provider; null where there is none. */
  provider: string | null;
  onDone: (session: Session) => void;
}) {
  const [failure, setFailure] = useState(() => signInFault(location.search));
  useEffect(() => {
    document.title = 'Sign in · Gatehouse';
  }, []);

  return (
    <Center component="main" mih="100vh" p="md">
      <Stack className="card" p="xl" w="100%" maw={420} gap="md">
        <Emblem size={40} />
        <div>
          <Title order={1}>Gatehouse console</Title>
          <Text c="dimmed" mt={4}>
            {provider === null
              ? 'Sign in with an API key. The key decides the environment and what you may do.'
              : 'Sign in with your account. Your role decides what you may do.'}
          </Text>
        </div>
        {failure && (
          <Alert role="alert" color="red" variant="light" icon={<IconAlertTriangle aria-hidden />}>
            {failure}
          </Alert>
        )}
        {provider !== null && (
          <>
            <AtProvider provider={provider} onFailure={setFailure} />
            <Divider label="or with an API key" labelPosition="center" />
          </>
        )}
        <WithKey isSecond={provider !== null} onDone={onDone} onFailure={setFailure} />
        <Text size="sm" c="dimmed">
          The first start prints the keys once, or writes them to <span className="mono">first-keys</span> in
          its home folder. Lost it? <span className="mono">gatehouse keys rotate development</span> makes a
          new one. The API is described in the{' '}
          <Anchor href={`${BASE}/docs`} underline="always">
            reference
          </Anchor>
          .
        </Text>
      </Stack>
    </Center>
  );
}

interface WayProps {
  onFailure: (words: string) => void;
}

function AtProvider({ provider, onFailure }: WayProps & { provider: string }) {
  const [isBusy, setBusy] = useState(false);
  const begin = async () => {
    setBusy(true);
    onFailure('');
    try {
      const answer = await rest('POST', '/console/oidc/sign-in');
      keepReturn();
      location.assign(answer.authorizationUrl);
    } catch (error) {
      onFailure(wordsOf(error));
      setBusy(false);
    }
  };
  return (
    <Button
      fullWidth
      size="md"
      loading={isBusy}
      leftSection={<IconLogin2 size={18} aria-hidden />}
      onClick={() => void begin()}
    >
      Sign in with {provider}
    </Button>
  );
}

function WithKey({
  isSecond,
  onDone,
  onFailure,
}: WayProps & { isSecond: boolean; onDone: (session: Session) => void }) {
  const [apiKey, setApiKey] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (apiKey.trim() === '') return onFailure('Enter an API key.');
    setBusy(true);
    onFailure('');
    try {
      onDone(await rest('POST', '/console/session', { body: { apiKey: apiKey.trim() } }));
    } catch (error) {
      onFailure(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} noValidate>
      <Stack gap="md">
        <PasswordInput
          label="API key"
          description="Begins with gh_dev_ or gh_prod_."
          value={apiKey}
          onChange={(event) => setApiKey(event.currentTarget.value)}
          autoComplete="current-password"
          autoFocus={!isSecond}
          spellCheck={false}
          styles={{ innerInput: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
        <Button type="submit" variant={isSecond ? 'default' : 'filled'} loading={isBusy} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
