import { Anchor, Badge, Button, Group, Select, Text } from '@mantine/core';
import { IconPlug, IconPlus } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ConnectorRecord } from '../api-types.ts';
import { iconAddress, useConnectorSource, type ConnectorSource } from '../connector-source.ts';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { Loading, Records, type Column } from '../parts/records.tsx';
import { useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { count } from '../parts/values.tsx';
import { useAll } from '../queries.ts';

const FILTERS = ['search', 'category', 'source'] as const;
const SOURCES: { value: ConnectorSource; label: string }[] = [
  { value: 'shipped', label: 'Shipped' },
  { value: 'folder', label: 'Folder' },
  { value: 'store', label: 'Store' },
];

/** The apps that this environment supports. */
export function Connectors() {
  const [filters, setFilters] = useFilters(FILTERS);
  const list = useAll('/connectors');
  const sourceOf = useConnectorSource();
  const all = list.data ?? [];
  const words = filters.search.toLowerCase().split(/\s+/);
  const found = all.filter((one) => {
    const text = `${one.connectorId} ${one.name} ${one.description}`.toLowerCase();
    return (
      words.every((word) => text.includes(word)) &&
      (filters.category === '' || one.categories.includes(filters.category)) &&
      (filters.source === '' || sourceOf(one) === filters.source)
    );
  });
  return (
    <Page
      title="Connectors"
      lead="The apps that agents and users of this environment can work with. Shipped ones come with Gatehouse; yours come from a folder or the store."
      actions={
        <>
          <Button component={Link} to="/definition-changes" variant="default">
            Changes to approve
          </Button>
          <Button component={Link} to="/add-connector" leftSection={<IconPlus size={16} aria-hidden />}>
            Add a connector
          </Button>
        </>
      }
    >
      <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
        <TypedFilter label="Search" value={filters.search} change={(search) => setFilters({ search })} />
        <Select
          label="Category"
          placeholder="All categories"
          clearable
          searchable
          w={190}
          value={filters.category || null}
          onChange={(category) => setFilters({ category: category ?? '' })}
          data={[...new Set(all.flatMap((one) => one.categories))].toSorted()}
        />
        <Select
          label="Source"
          placeholder="All sources"
          clearable
          w={150}
          value={filters.source || null}
          onChange={(source) => setFilters({ source: source ?? '' })}
          data={SOURCES}
        />
      </Group>
      <div className="card">
        {list.isPending && <Loading />}
        {list.isError && !list.data && <ErrorNotice error={list.error} again={() => void list.refetch()} />}
        {list.data && found.length === 0 && (
          <Empty title="No connector fits" icon={<IconPlug aria-hidden />}>
            Change the filters, or add the app yourself: as a connector file, an OpenAPI document or a remote
            MCP server.
          </Empty>
        )}
        {found.length > 0 && (
          <Records
            label="Connectors"
            columns={columns(sourceOf)}
            rows={found}
            keyOf={(one) => one.connectorId}
          />
        )}
      </div>
    </Page>
  );
}

function columns(sourceOf: (one: ConnectorRecord) => ConnectorSource): Column<ConnectorRecord>[] {
  return [
    {
      label: 'Connector',
      cell: (one) => (
        <Group gap="sm" wrap="nowrap">
          <img src={iconAddress(one)} width={28} height={28} alt="" />
          <div>
            <Anchor component={Link} to={`/connectors/${one.connectorId}`} fw={600} size="sm">
              {one.name}
            </Anchor>
            <Text size="xs" c="dimmed" className="mono">
              {one.connectorId}
            </Text>
          </div>
        </Group>
      ),
    },
    { label: 'Categories', cell: (one) => one.categories.join(', ') || '–' },
    { label: 'Source', cell: (one) => <SourceBadge source={sourceOf(one)} /> },
    {
      label: 'Sign-in',
      cell: (one) => one.authentication.map((type) => type.replaceAll('_', ' ')).join(', ') || 'none',
    },
    { label: 'Actions', end: true, cell: (one) => count(one.actionCount) },
  ];
}

/** Where a connector comes from, as a coloured word. */
export function SourceBadge({ source }: { source: ConnectorSource }) {
  return (
    <Badge variant="light" color={source === 'shipped' ? 'gray' : 'gate'} tt="none" fw={600}>
      {source}
    </Badge>
  );
}
