import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLink, IconPlugConnected } from '@tabler/icons-react';
import { useState } from 'react';
import { useAct } from '../parts/acts.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { ConnectorPicker } from '../parts/pickers.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Moment } from '../parts/values.tsx';
import { rest } from '../rest-client.ts';

interface MadeLink {
  url: string;
  expiresAt: string;
}

/** A link for the user, shown once. */
function LinkForUser({ link }: { link: MadeLink }) {
  return (
    <Stack gap="xs">
      <CodeBlock text={link.url} label="Link for the user" />
      <Text size="sm">
        Send it to the user. It works once, in the first browser that opens it, until{' '}
        <Moment at={link.expiresAt} />. It is not shown again.
      </Text>
    </Stack>
  );
}

/** Makes a link with which a user connects an account of an app. */
export function ConnectLink({ userId, username }: { userId: string; username: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [connectorId, setConnectorId] = useState('');
  const make = useAct(() =>
    rest('POST', '/users/{userId}/connect-sessions', {
      path: { userId },
      body: connectorId === '' ? {} : { connectors: [connectorId] },
    }),
  );
  const leave = () => {
    make.reset();
    setConnectorId('');
    close();
  };
  return (
    <>
      <Button size="xs" leftSection={<IconPlugConnected size={15} aria-hidden />} onClick={open}>
        Connect link
      </Button>
      <Modal opened={isOpen} onClose={leave} title={`Connect an account of ${username}`} centered size="lg">
        <Stack>
          {make.data ? (
            <LinkForUser link={make.data} />
          ) : (
            <ConnectorPicker
              label="App"
              description="Left empty, the user chooses the app."
              placeholder="Any app"
              value={connectorId}
              onChange={setConnectorId}
            />
          )}
          {make.error && <ErrorNotice error={make.error} title="The link was not made" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={leave}>
              {make.data ? 'Close' : 'Cancel'}
            </Button>
            {!make.data && (
              <Button loading={make.isPending} onClick={() => make.mutate()}>
                Make the link
              </Button>
            )}
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

/** Makes a link with which the user renews the consent or the keys of an account. */
export function ReconnectLink({
  userId,
  credentialId,
  name,
  isNeeded,
}: {
  userId: string;
  credentialId: string;
  name: string;
  isNeeded: boolean;
}) {
  const make = useAct(async () => {
    const made = await rest('POST', '/users/{userId}/credentials/{credentialId}/reconnect', {
      path: { userId, credentialId },
      userId,
      body: {},
    });
    return { url: made.authorizationUrl, expiresAt: made.expiresAt };
  });
  return (
    <>
      <Button
        size="xs"
        variant={isNeeded ? 'filled' : 'default'}
        leftSection={<IconLink size={14} aria-hidden />}
        loading={make.isPending}
        onClick={() => make.mutate()}
      >
        Reconnect link
      </Button>
      <Modal
        opened={make.isSuccess || make.isError}
        onClose={() => make.reset()}
        title={`Reconnect ${name}`}
        centered
        size="lg"
      >
        <Stack>
          {make.data && <LinkForUser link={make.data} />}
          {make.error && <ErrorNotice error={make.error} title="The link was not made" />}
          <Text size="sm" c="dimmed">
            The credential keeps its id, and webhooks and workflows continue. Another account is rejected.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => make.reset()}>
              Close
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
