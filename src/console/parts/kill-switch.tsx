import { Switch } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ServerRecord } from '../api-types.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ConfirmDialog } from './acts.tsx';

/** Switches a server off and on. It asks first. */
export function KillSwitch({ server, label }: { server: ServerRecord; label?: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const mayWrite = useScope('servers:write');
  const { enabled, name, serverId } = server;
  return (
    <>
      <Switch
        checked={enabled}
        disabled={!mayWrite}
        onChange={open}
        aria-label={`${name} is switched ${enabled ? 'on' : 'off'}`}
        label={label}
        styles={{ root: { display: 'inline-flex' } }}
      />
      <ConfirmDialog
        title={enabled ? `Switch off ${name}?` : `Switch on ${name}?`}
        label={enabled ? 'Switch off' : 'Switch on'}
        dangerous={enabled}
        done={`${name} is switched ${enabled ? 'off' : 'on'}.`}
        isOpen={isOpen}
        close={close}
        run={() =>
          rest('PUT', '/api/servers/{serverId}', { path: { serverId }, body: { enabled: !enabled } })
        }
      >
        {enabled
          ? 'All clients of this server are refused at once. Nothing is deleted, and you can switch it on again.'
          : 'Clients that have its access URL can use its tools again.'}
      </ConfirmDialog>
    </>
  );
}
