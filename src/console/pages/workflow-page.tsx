import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core';
import { IconArrowLeft, IconPencil } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { InstallationRecord, VersionRecord } from '../api-types.ts';
import { ConfirmButton } from '../parts/acts.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { Difference } from '../parts/difference.tsx';
import { DocsLink } from '../parts/docs-link.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page, Section } from '../parts/page.tsx';
import { List, Loading, UnpagedList, type Column } from '../parts/records.tsx';
import { Runs } from '../parts/runs.tsx';
import { useCursor, useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { Id, State, When } from '../parts/values.tsx';
import { useAll, useRest } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { Draft, triggerInWords } from './workflow-list.tsx';

/** One workflow: its runs, installations and versions. */
export function WorkflowPage() {
  const { workflowId = '' } = useParams();
  const found = useRest('/workflows/{workflowId}', { path: { workflowId } });
  const mayWrite = useScope('workflows:write');
  const back = (
    <Button
      component={Link}
      to="/workflows"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All workflows
    </Button>
  );
  if (!found.data)
    return (
      <Page title="Workflow" actions={back}>
        {found.isError ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  const one = found.data;
  return (
    <Page
      title={one.name}
      lead={
        <>
          {one.draft && <Draft />} Version {one.version}, begins {triggerInWords(one)}.{' '}
          <Id value={one.workflowId} />
        </>
      }
      actions={
        <>
          {mayWrite && (
            <Button
              component={Link}
              to={`/workflows/${one.workflowId}/edit`}
              leftSection={<IconPencil size={16} aria-hidden />}
            >
              Edit
            </Button>
          )}
          {back}
        </>
      }
    >
      <Section title="Runs">
        <Runs workflowId={workflowId} />
      </Section>
      <Installations workflowId={workflowId} />
      <Versions workflowId={workflowId} />
    </Page>
  );
}

function Installations({ workflowId }: { workflowId: string }) {
  const mayRun = useScope('workflows:run');
  const { cursor, next, back } = useCursor('installationsAfter');
  const list = useRest('/workflows/{workflowId}/installations', {
    path: { workflowId },
    query: { cursor, limit: 25 },
  });
  return (
    <Section title="Installations" flush>
      <List
        label="Installations"
        list={list}
        columns={[...INSTALLATIONS, ...(mayRun ? [runColumn(workflowId)] : [])]}
        keyOf={(row) => row.installationId}
        empty={
          <Empty title="Not installed yet">
            Your application installs it for a user with the user's own configuration, or shows the user a
            form for it. See{' '}
            <DocsLink to="workflows#installations">installations in the documentation</DocsLink>.
          </Empty>
        }
        pager={{ of: 'installations', oldestFirst: true, back, next }}
      />
    </Section>
  );
}

const INSTALLATIONS: Column<InstallationRecord>[] = [
  { label: 'User', cell: (row) => <UserName userId={row.userId} /> },
  { label: 'State', cell: (row) => <State value={row.enabled ? 'enabled' : 'disabled'} /> },
  { label: 'Version', cell: (row) => row.version },
  {
    label: 'Trigger',
    cell: (row) => (
      <span>
        {row.trigger.type}
        {row.trigger.listening === false && ', not listening'}
        {row.trigger.nextAt && (
          <>
            , next <When at={row.trigger.nextAt} />
          </>
        )}
      </span>
    ),
  },
  { label: 'Installed', end: true, cell: (row) => <When at={row.createdAt} /> },
];

function runColumn(workflowId: string): Column<InstallationRecord> {
  return {
    label: '',
    end: true,
    cell: (row) =>
      row.enabled && (
        <ConfirmButton
          size="xs"
          label="Run now"
          title="Run the workflow now?"
          done="The run has begun."
          run={() =>
            rest('POST', '/workflows/{workflowId}/run', {
              path: { workflowId },
              query: { userId: row.userId },
              body: {},
            })
          }
        >
          Its steps are real: they act in the accounts of this user.
        </ConfirmButton>
      ),
  };
}

function Versions({ workflowId }: { workflowId: string }) {
  const versions = useAll('/workflows/{workflowId}/versions', { path: { workflowId } });
  const [chosen, change] = useFilters(['from', 'to'] as const);
  const [newest, earlier] = versions.data ?? [];
  const from = chosen.from || String(earlier?.version ?? '');
  const to = chosen.to || String(newest?.version ?? '');
  const shown = versions.data?.find(({ version }) => String(version) === to);
  const choices = (versions.data ?? []).map(({ version, draft }) => ({
    value: String(version),
    label: draft ? `${version} (draft)` : String(version),
  }));
  return (
    <>
      <Section title="Versions" flush>
        <UnpagedList
          label="Versions"
          list={versions}
          columns={VERSIONS}
          keyOf={(row) => String(row.version)}
          empty={<Empty title="No versions">The workflow was deleted.</Empty>}
        />
      </Section>
      {earlier && (
        <Section title="Difference of versions">
          <Group mb="md">
            <Select
              label="From version"
              w={140}
              data={choices}
              value={from}
              allowDeselect={false}
              onChange={(value) => change({ from: value ?? '' })}
            />
            <Select
              label="To version"
              w={140}
              data={choices}
              value={to}
              allowDeselect={false}
              onChange={(value) => change({ to: value ?? '' })}
            />
          </Group>
          <Changes workflowId={workflowId} from={Number(from)} to={Number(to)} />
        </Section>
      )}
      {shown && (
        <Section title={`Definition of version ${to}`}>
          <details>
            <summary>Show the definition</summary>
            <CodeBlock text={JSON.stringify(shown.definition, null, 2)} label="Definition" />
          </details>
        </Section>
      )}
    </>
  );
}

const VERSIONS: Column<VersionRecord>[] = [
  {
    label: 'Version',
    cell: (row) => (
      <Group gap={6} wrap="nowrap">
        {row.version}
        {row.draft && <Draft />}
      </Group>
    ),
  },
  { label: 'Begins', cell: (row) => triggerInWords(row) },
  { label: 'Apps', cell: (row) => row.connectors.join(', ') || 'none' },
  { label: 'Created', end: true, cell: (row) => <When at={row.createdAt} /> },
];

function Changes({ workflowId, from, to }: { workflowId: string; from: number; to: number }) {
  const found = useRest('/workflows/{workflowId}/versions/{a}/diff/{b}', {
    path: { workflowId, a: from, b: to },
  });
  if (found.isError) return <ErrorNotice error={found.error} again={() => void found.refetch()} />;
  if (!found.data) return <Loading rows={2} />;
  const { changes, upgradable, addedFields, removedFields, changedFields } = found.data;
  if (changes.length === 0) return <Text size="sm">The versions are equal.</Text>;
  const fields = [
    ['New fields', addedFields],
    ['Removed fields', removedFields],
    ['Changed fields', changedFields],
  ] as const;
  return (
    <Stack>
      <Alert variant="light" color={upgradable ? 'green' : 'orange'}>
        {upgradable
          ? 'Installations can be upgraded: the configurable fields are the same.'
          : 'Users must install it again, because the configurable fields differ.'}
        {fields.map(([label, names]) =>
          names.length === 0 ? null : <div key={label}>{`${label}: ${names.join(', ')}`}</div>,
        )}
      </Alert>
      {changes.map((one) => (
        <div key={`${one.kind} ${one.path}`}>
          <Text size="sm" fw={600} mb={4}>
            <span className="mono">{one.path}</span> {one.kind}
          </Text>
          <Difference before={one.before} after={one.after} />
        </div>
      ))}
    </Stack>
  );
}
