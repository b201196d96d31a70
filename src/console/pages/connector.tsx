import { Anchor, Button, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { IconArrowLeft, IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import type { ConnectorDetails } from '../api-types.ts';
import { useConnectorSource } from '../connector-source.ts';
import { approvalsOf } from '../names.ts';
import { Empty } from '../parts/empty.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Loading, Records } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { count, Id, Name, some, State } from '../parts/values.tsx';
import { useAll, useRest } from '../queries.ts';
import { query } from '../rest-client.ts';
import { OAuthApp } from './connector-oauth.tsx';
import { Versions } from './connector-versions.tsx';
import { SourceBadge } from './connectors.tsx';

/** Actions that the page shows at once. */
const SHOWN = 100;

/** One connector: its actions, events, sign-in, OAuth app and versions. */
export function ConnectorPage() {
  const { connectorId = '' } = useParams();
  const found = useRest('/connectors/{connectorId}', { path: { connectorId } });
  const sourceOf = useConnectorSource();
  const back = (
    <Button
      component={Link}
      to="/connectors"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All connectors
    </Button>
  );
  if (found.isPending || found.isError)
    return (
      <Page title={connectorId} actions={back}>
        {found.isError ? (
          <ErrorNotice error={found.error} again={() => void found.refetch()} />
        ) : (
          <Loading rows={8} />
        )}
      </Page>
    );
  const connector = found.data;
  const source = sourceOf(connector);
  return (
    <Page
      title={connector.name}
      lead={connector.description}
      actions={
        <>
          <Button
            component={Link}
            to={`/playground${query({ connectorId })}`}
            variant="default"
            leftSection={<IconPlayerPlay size={16} aria-hidden />}
          >
            Try it
          </Button>
          {back}
        </>
      }
    >
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Section title="Facts">
          <dl className="facts">
            <dt>Id</dt>
            <dd>
              <Id value={connector.connectorId} />
            </dd>
            <dt>Source</dt>
            <dd>
              <SourceBadge source={source} />
            </dd>
            <dt>Categories</dt>
            <dd>{connector.categories.join(', ') || 'none'}</dd>
            <dt>Actions</dt>
            <dd>{count(connector.actionCount)}</dd>
            <dt>Unified models</dt>
            <dd className="mono">{connector.models.join(', ') || 'none'}</dd>
            <dt>Website</dt>
            <dd>
              <Anchor href={connector.website} target="_blank" rel="noreferrer" size="sm">
                {connector.website}
              </Anchor>
            </dd>
          </dl>
        </Section>
        <Section title="Authentication">
          <Ways connectorId={connectorId} />
        </Section>
      </SimpleGrid>
      {connector.authentication.some((type) => type.startsWith('oauth2')) && (
        <OAuthApp key={connectorId} connector={connector} />
      )}
      {source === 'store' && <Versions connectorId={connectorId} />}
      <Actions connectorId={connectorId} />
      <Events events={connector.events} />
    </Page>
  );
}

function Events({ events }: Pick<ConnectorDetails, 'events'>) {
  return (
    <Section title="Events" flush>
      {events.length === 0 ? (
        <Empty title="No events">Nobody can subscribe to changes of this app.</Empty>
      ) : (
        <Records
          label="Events"
          rows={events}
          keyOf={(one) => one.scope}
          columns={[
            { label: 'Scope', cell: (one) => <span className="mono">{one.scope}</span> },
            { label: 'Events', cell: (one) => one.events.join(', ') },
            {
              label: 'How',
              cell: (one) => (one.native ? 'webhooks of the app' : 'Gatehouse asks the app'),
            },
          ]}
        />
      )}
    </Section>
  );
}

function Ways({ connectorId }: { connectorId: string }) {
  const ways = useRest('/connectors/{connectorId}/credentials/metadata', { path: { connectorId } });
  if (ways.isPending) return <Loading rows={2} />;
  if (ways.isError) return <ErrorNotice error={ways.error} />;
  if (ways.data.authentication.length === 0) return <Text size="sm">This app needs no sign-in.</Text>;
  return (
    <Stack gap="sm">
      {ways.data.authentication.map((way) => {
        const fields = Object.entries(way.inputSchema.properties ?? {});
        return (
          <div key={`${way.type} ${way.title}`}>
            <Text size="sm" fw={600}>
              {way.title} <span className="mono">({way.type})</span>
            </Text>
            <Text size="sm" c="dimmed">
              {fields.length === 0
                ? 'The user enters nothing here and agrees at the app.'
                : `The user enters: ${fields.map(([name, field]) => field.title ?? name).join(', ')}.`}{' '}
              {way.docsUrl && (
                <Anchor href={way.docsUrl} target="_blank" rel="noreferrer" size="sm">
                  Documentation of the app
                </Anchor>
              )}
            </Text>
          </div>
        );
      })}
    </Stack>
  );
}

function Actions({ connectorId }: { connectorId: string }) {
  const [text, setText] = useState('');
  const actions = useAll('/connectors/{connectorId}/actions', { path: { connectorId } });
  const words = text.toLowerCase().split(/\s+/);
  const found = (actions.data ?? []).filter((one) => {
    const searched = `${one.actionId} ${one.name} ${one.description} ${one.effect}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
  return (
    <Section
      title="Actions"
      flush
      aside={
        <TextInput
          aria-label="Search the actions"
          placeholder="Search, such as “delete”"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      }
    >
      {actions.isPending && <Loading />}
      {actions.isError && <ErrorNotice error={actions.error} again={() => void actions.refetch()} />}
      {actions.data && found.length === 0 && (
        <Empty title="No action fits">Change the words of the search.</Empty>
      )}
      {found.length > 0 && (
        <Records
          label="Actions"
          rows={found.slice(0, SHOWN)}
          keyOf={(one) => one.actionId}
          columns={[
            {
              label: 'Action',
              cell: (one) => (
                <div>
                  <Anchor
                    component={Link}
                    to={`/playground${query({ connectorId, actionId: one.actionId })}`}
                    fw={600}
                    size="sm"
                  >
                    {one.name}
                  </Anchor>
                  <Text size="xs" c="dimmed" component="div">
                    <Name value={one.actionId} />
                  </Text>
                </div>
              ),
            },
            { label: 'Description', cell: (one) => one.description },
            { label: 'Effect', cell: (one) => <State value={one.effect} /> },
            {
              label: 'Approval',
              end: true,
              cell: (one) => (
                <Anchor
                  component={Link}
                  to={approvalsOf({ connectorId, actionId: one.actionId })}
                  size="sm"
                  className="nowrap"
                  aria-label={`Who approved ${one.actionId}`}
                >
                  Who approved it
                </Anchor>
              ),
            },
          ]}
        />
      )}
      {found.length > SHOWN && (
        <Text size="sm" c="dimmed" p="md">
          The first {SHOWN} of {some(found.length, 'action')}. The search finds the others.
        </Text>
      )}
    </Section>
  );
}
