import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import type { Schemas } from '../api-types.ts';
import { ConfirmButton } from '../parts/acts.tsx';
import { Difference } from '../parts/difference.tsx';
import { Section } from '../parts/page.tsx';
import { Loading, Records } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { When } from '../parts/values.tsx';
import { useAll, useRest } from '../queries.ts';
import { query, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { useCallerName } from '../names.ts';

type Change = Schemas['ConnectorDifference'];

/** The versions of a stored connector, and the difference of each from the one before. */
export function Versions({ connectorId }: { connectorId: string }) {
  const callerName = useCallerName();
  const versions = useAll('/api/connectors/{connectorId}/versions', { path: { connectorId } });
  const [compared, setCompared] = useState<number>();
  const mayWrite = useScope('connectors:write');
  const navigate = useNavigate();
  return (
    <Section
      title="Versions"
      flush
      aside={
        mayWrite && (
          <Group gap="xs">
            <Button
              component={Link}
              to={`/add-connector${query({ connectorId })}`}
              variant="default"
              size="xs"
            >
              Upload a new version
            </Button>
            <ConfirmButton
              label="Delete the connector"
              title={`Delete ${connectorId}?`}
              size="xs"
              dangerous
              run={async () => {
                await rest('DELETE', '/api/connectors/{connectorId}', { path: { connectorId } });
                void navigate('/connectors');
              }}
            >
              Its actions stop working at once, also in workflows and subscriptions. Accounts stay. They work
              again after you add a connector with this id that sends them to the same origins.
            </ConfirmButton>
          </Group>
        )
      }
    >
      {versions.isPending && <Loading rows={3} />}
      {versions.isError && <ErrorNotice error={versions.error} />}
      {versions.data && (
        <Records
          label="Versions"
          rows={versions.data}
          keyOf={(one) => String(one.version)}
          columns={[
            { label: 'Version', cell: (one) => `Version ${one.version}` },
            { label: 'Form', cell: (one) => one.kind },
            {
              label: 'Credentials go to',
              cell: (one) => <span className="mono">{one.origins.join(', ')}</span>,
            },
            { label: 'By', cell: (one) => callerName(one.createdBy) },
            { label: 'When', end: true, cell: (one) => <When at={one.createdAt} /> },
            {
              label: '',
              end: true,
              cell: ({ version }) =>
                version > 1 && (
                  <Button
                    size="xs"
                    variant="default"
                    aria-expanded={compared === version}
                    onClick={() => setCompared(compared === version ? undefined : version)}
                  >
                    {compared === version ? 'Hide' : `Compare with ${version - 1}`}
                  </Button>
                ),
            },
          ]}
        />
      )}
      {compared !== undefined && <Compared connectorId={connectorId} version={compared} />}
    </Section>
  );
}

/** The difference of a version from the one before. */
function Compared({ connectorId, version }: { connectorId: string; version: number }) {
  const found = useRest('/api/connectors/{connectorId}/versions/{a}/diff/{b}', {
    path: { connectorId, a: version - 1, b: version },
  });
  if (found.isPending) return <Loading rows={3} />;
  if (found.isError) return <ErrorNotice error={found.error} />;
  const { from, to, added, removed, changed, file, truncated } = found.data;
  const isEqual = added.length + removed.length + changed.length + file.length === 0;
  return (
    <Stack p="md" style={{ borderTop: '1px solid var(--line)' }}>
      <Text fw={600}>
        From version {from} to {to}
      </Text>
      {isEqual && <Text size="sm">They are equal.</Text>}
      <Names title="New actions" ids={added} />
      <Names title="Removed actions" ids={removed} />
      {changed.map(({ actionId, differences }) => (
        <Changes key={actionId} title={actionId} changes={differences} />
      ))}
      {file.length > 0 && <Changes title="The connector itself" changes={file} />}
      {truncated && <Text size="sm">There are more than 1,000 differences. These are the first.</Text>}
    </Stack>
  );
}

function Names({ title, ids }: { title: string; ids: string[] }) {
  if (ids.length === 0) return null;
  return (
    <Text size="sm">
      {title}: <span className="mono">{ids.join(', ')}</span>
    </Text>
  );
}

function Changes({ title, changes }: { title: string; changes: Change[] }) {
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600} className="mono">
        {title}
      </Text>
      {changes.map((one) => (
        <div key={one.path}>
          <Group gap="xs" mb={4}>
            <Text size="sm">{one.change}</Text>
            <span className="mono">{one.path}</span>
          </Group>
          <Difference before={one.before} after={one.after} />
        </div>
      ))}
    </Stack>
  );
}
