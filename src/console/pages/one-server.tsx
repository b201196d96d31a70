import { Anchor, Button, Group, Modal, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconArrowLeft, IconPencil, IconTrash } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { ServerRecord } from '../api-types.ts';
import { ConfirmButton, useAct } from '../parts/acts.tsx';
import { KillSwitch } from '../parts/kill-switch.tsx';
import { Jumps, Page, Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { Id, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { query, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { Access } from '../server/access.tsx';
import { Budgets } from '../server/budgets.tsx';
import { Rules } from '../server/rules.tsx';
import { CircuitFields, NameFields, ToolFields, type ServerSettings } from '../server/settings-fields.tsx';
import { ToolList, ToolTotal } from '../server/tool-list.tsx';
import { SimulateCall } from '../server/simulate-call.tsx';

/** One MCP server: its access, its tools, its restrictions, and its end. */
export function OneServer() {
  const { serverId = '' } = useParams();
  const found = useRest('/api/servers/{serverId}', { path: { serverId }, query: { token: 'false' } });
  const mayWrite = useScope('servers:write');
  const goTo = useNavigate();
  const back = (
    <Button
      component={Link}
      to="/servers"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All servers
    </Button>
  );
  if (found.isPending || (found.isError && !found.data))
    return (
      <Page title="Server" actions={back}>
        {found.error ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  const server = found.data;
  return (
    <Page
      title={server.name}
      lead={
        <>
          <State value={server.enabled ? 'enabled' : 'disabled'} /> {server.description}
        </>
      }
      actions={
        <>
          <KillSwitch server={server} label={server.enabled ? 'On' : 'Off'} />
          {back}
        </>
      }
    >
      <Jumps>
        <Anchor href="#tools" size="sm">
          <ToolTotal serverId={serverId} />
        </Anchor>
        <Anchor component={Link} to={`/executions${query({ serverId, span: '1' })}`} size="sm">
          Calls of the last hour
        </Anchor>
        <Anchor component={Link} to={`/executions${query({ serverId })}`} size="sm">
          All calls
        </Anchor>
        <Anchor component={Link} to={`/audit${query({ target: serverId })}`} size="sm">
          Who changed it
        </Anchor>
      </Jumps>
      <Access key={`access ${serverId}`} server={server} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Rules key={`rules ${serverId}`} server={server} />
        <Section title="Settings" aside={mayWrite && <Edit server={server} />}>
          <Facts server={server} />
        </Section>
      </SimpleGrid>
      <Budgets key={`budgets ${serverId}`} server={server} />
      <ToolList key={`tools ${serverId}`} serverId={serverId} />
      <SimulateCall key={`simulate ${serverId}`} server={server} />
      {mayWrite && (
        <Section title="Delete">
          <Group justify="space-between" gap="sm">
            <Text size="sm">Its token and stored results are deleted with it. Executions stay.</Text>
            <ConfirmButton
              label="Delete the server"
              leftSection={<IconTrash size={16} aria-hidden />}
              dangerous
              done={`${server.name} is deleted.`}
              title={`Delete ${server.name}?`}
              run={async () => {
                await rest('DELETE', '/api/servers/{serverId}', { path: { serverId } });
                await goTo('/servers');
              }}
            >
              All clients of this server are refused at once. The server, its access URL and its stored
              results cannot be brought back. To stop it for a while, switch it off instead.
            </ConfirmButton>
          </Group>
        </Section>
      )}
    </Page>
  );
}

function Facts({ server }: { server: ServerRecord }) {
  return (
    <dl className="facts">
      <dt>Server</dt>
      <dd>
        <Id value={server.serverId} />
      </dd>
      <dt>Owner</dt>
      <dd>
        {server.ownerUserId ? <UserName userId={server.ownerUserId} /> : 'none'}
        {server.createdByUser && ', who created it'}
      </dd>
      <dt>Tools</dt>
      <dd>
        {server.toolMode}
        {server.pinTools && ', only approved definitions'}
        {server.duplicateGuard === 'off' && ', repeated writes are not held'}
      </dd>
      <dt>Failing apps</dt>
      <dd>
        {server.circuit
          ? `after ${server.circuit.failures} failed calls in a row, an action of an account is stopped for ${server.circuit.openSeconds} s`
          : 'calls are sent however often they fail'}
      </dd>
      <dt>Programs</dt>
      <dd>{server.codeMode}</dd>
      <dt>Instructions</dt>
      <dd style={{ whiteSpace: 'pre-line' }}>{server.customInstructions || 'none of its own'}</dd>
      <dt>Created</dt>
      <dd>
        <When at={server.createdAt} />
      </dd>
      <dt>Changed</dt>
      <dd>
        <When at={server.updatedAt} />
      </dd>
    </dl>
  );
}

function Edit({ server }: { server: ServerRecord }) {
  const [settings, setSettings] = useState<ServerSettings>();
  const save = useAct(
    (body: ServerSettings) =>
      rest('PUT', '/api/servers/{serverId}', { path: { serverId: server.serverId }, body }),
    'The settings are saved.',
  );
  const close = () => {
    save.reset();
    setSettings(undefined);
  };
  const open = () => {
    const { name, description, customInstructions, toolMode, codeMode } = server;
    const { pinTools, duplicateGuard, circuit } = server;
    setSettings({
      name,
      description,
      customInstructions,
      toolMode,
      codeMode,
      pinTools,
      duplicateGuard,
      circuit,
    });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (settings) save.mutate(settings, { onSuccess: close });
  };
  const change = (changes: Partial<ServerSettings>) => settings && setSettings({ ...settings, ...changes });
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconPencil size={14} aria-hidden />} onClick={open}>
        Change
      </Button>
      <Modal opened={settings !== undefined} onClose={close} title={`Settings of ${server.name}`} size="lg">
        {settings && (
          <form onSubmit={submit}>
            <Stack gap="md">
              <NameFields settings={settings} onChange={change} />
              <ToolFields settings={settings} onChange={change} />
              <CircuitFields settings={settings} onChange={change} />
              {save.error && <ErrorNotice error={save.error} title="The settings were not saved" />}
              <Group justify="flex-end">
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button type="submit" loading={save.isPending} disabled={settings.name.trim() === ''}>
                  Save
                </Button>
              </Group>
            </Stack>
          </form>
        )}
      </Modal>
    </>
  );
}
