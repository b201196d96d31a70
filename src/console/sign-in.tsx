import { Alert, Anchor, Button, Center, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useEffect, useState, type FormEvent } from 'react';
import { Emblem } from './parts/emblem.tsx';
import { BASE } from './page-facts.ts';
import { rest } from './rest-client.ts';
import type { Session } from './signed-in.ts';

/** The sign-in. The key goes to Gatehouse once; the browser then has a cookie that scripts cannot read. */
export function SignIn({ onDone }: { onDone: (session: Session) => void }) {
  const [apiKey, setApiKey] = useState('');
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Gatehouse';
  }, []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (apiKey.trim() === '') return setFailure('Enter an API key.');
    setBusy(true);
    setFailure('');
    try {
      onDone(await rest<Session>('/console/session', { method: 'POST', body: { apiKey: apiKey.trim() } }));
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Center component="main" mih="100vh" p="md">
      <Stack className="card" p="xl" w="100%" maw={420} gap="md">
        <Emblem size={40} />
        <div>
          <Title order={1}>Gatehouse console</Title>
          <Text c="dimmed" mt={4}>
            Sign in with an API key. The key decides the environment and what you may do.
          </Text>
        </div>
        <form onSubmit={(event) => void submit(event)} noValidate>
          <Stack gap="md">
            <PasswordInput
              label="API key"
              description="Begins with gh_dev_ or gh_prod_."
              value={apiKey}
              onChange={(event) => setApiKey(event.currentTarget.value)}
              autoComplete="current-password"
              autoFocus
              spellCheck={false}
              styles={{ innerInput: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            />
            {failure && (
              <Alert role="alert" color="red" variant="light" icon={<IconAlertTriangle aria-hidden />}>
                {failure}
              </Alert>
            )}
            <Button type="submit" loading={isBusy} fullWidth>
              Sign in
            </Button>
          </Stack>
        </form>
        <Text size="sm" c="dimmed">
          The first start prints the keys once, or writes them to <span className="mono">first-keys</span> in
          its home folder. Lost it? <span className="mono">gatehouse keys rotate development</span> makes a
          new one. The API is described in the <Anchor href={`${BASE}/docs`}>reference</Anchor>.
        </Text>
      </Stack>
    </Center>
  );
}
