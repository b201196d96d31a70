import { Alert, Button, Group, NumberInput, Stack, Tabs, Text } from '@mantine/core';
import { IconEye, IconEyeOff, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import type { ServerRecord } from '../api-types.ts';
import { ConfirmButton, useAct } from '../parts/acts.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { Section } from '../parts/page.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Moment } from '../parts/values.tsx';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { clientSnippets } from './client-snippets.ts';

const HIDDEN = '<access URL>';

/** The access URL on demand, its rotation, and what each MCP client needs. */
export function Access({ server }: { server: ServerRecord }) {
  const [accessUrl, setAccessUrl] = useState('');
  const mayReveal = useScope('servers:token');
  const { serverId, name, tokenExpiresAt } = server;
  const show = useAct(async () =>
    setAccessUrl((await rest('GET', '/api/servers/{serverId}', { path: { serverId } })).accessUrl),
  );
  const snippets = clientSnippets(name, accessUrl || HIDDEN);
  return (
    <Section
      title="Connect a client"
      aside={mayReveal && <Rotation server={server} onRotated={setAccessUrl} />}
    >
      <Stack gap="md">
        {accessUrl ? (
          <Stack gap="xs">
            <CodeBlock text={accessUrl} label="Access URL" />
            <Text size="sm" c="dimmed">
              Anyone with this URL can use the server. Treat it like a password.
            </Text>
          </Stack>
        ) : (
          <Text size="sm">
            The access URL holds a token, so it is hidden. To show it is an entry of the audit log.
          </Text>
        )}
        <Group gap="sm">
          {accessUrl ? (
            <Button
              variant="default"
              leftSection={<IconEyeOff size={16} aria-hidden />}
              onClick={() => setAccessUrl('')}
            >
              Hide the access URL
            </Button>
          ) : mayReveal ? (
            <Button
              leftSection={<IconEye size={16} aria-hidden />}
              loading={show.isPending}
              onClick={() => show.mutate()}
            >
              Show the access URL
            </Button>
          ) : (
            <Text size="sm" c="dimmed">
              This key may not show it. Sign in with a key that has the scope{' '}
              <span className="mono">servers:token</span>.
            </Text>
          )}
          <Text size="sm" c="dimmed">
            {tokenExpiresAt ? (
              <>
                Its token expires <Moment at={tokenExpiresAt} />.
              </>
            ) : (
              'Its token does not expire.'
            )}
          </Text>
        </Group>
        {show.error && <ErrorNotice error={show.error} title="The access URL could not be read" />}
        {!server.enabled && (
          <Alert variant="light" color="orange">
            The server is switched off. Clients are refused until you switch it on.
          </Alert>
        )}
        <Tabs defaultValue="0">
          <Tabs.List>
            {snippets.map(({ client }, at) => (
              <Tabs.Tab key={client} value={String(at)}>
                {client}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {snippets.map(({ client, todo, text }, at) => (
            <Tabs.Panel key={client} value={String(at)} pt="md">
              <Text size="sm" mb="xs">
                {todo}
                {!accessUrl && ' Show the access URL first. It is filled in then.'}
              </Text>
              <CodeBlock text={text} label={`For ${client}`} />
            </Tabs.Panel>
          ))}
        </Tabs>
        <Text size="sm" c="dimmed">
          Programs with an API key or a JWT use <span className="mono">{server.url}</span>.
        </Text>
      </Stack>
    </Section>
  );
}

function Rotation({ server, onRotated }: { server: ServerRecord; onRotated: (accessUrl: string) => void }) {
  const [days, setDays] = useState<number | string>('');
  return (
    <ConfirmButton
      label="Rotate the token"
      size="xs"
      leftSection={<IconRefresh size={14} aria-hidden />}
      dangerous
      done="The server has a new access URL."
      title={`Rotate the token of ${server.name}?`}
      run={async () => {
        const body = days === '' ? {} : { tokenExpiresInDays: Number(days) };
        const rotated = await rest('POST', '/api/servers/{serverId}/token', {
          path: { serverId: server.serverId },
          body,
        });
        onRotated(rotated.accessUrl);
      }}
    >
      <Stack gap="sm">
        <span>
          The present access URL stops working at once. Every client that uses it needs the new one.
        </span>
        <ExpiryInput value={days} onChange={setDays} />
      </Stack>
    </ConfirmButton>
  );
}

/** The days after which a token expires; empty for none. */
export function ExpiryInput({
  value,
  onChange,
}: {
  value: number | string;
  onChange: (value: number | string) => void;
}) {
  return (
    <NumberInput
      label="Token expires after days"
      description="Leave it empty for a token that does not expire."
      min={1}
      max={365}
      allowDecimal={false}
      value={value}
      onChange={onChange}
      maw={320}
    />
  );
}
