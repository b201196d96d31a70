import { Anchor, Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { IconShieldCheck } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { useAct } from '../parts/acts.tsx';
import { Difference } from '../parts/difference.tsx';
import { Empty } from '../parts/empty.tsx';
import { Jumps, Page } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { some, State } from '../parts/values.tsx';
import { useAll } from '../queries.ts';
import { rest, type ValueAt } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';

type Change = ValueAt<'GET', '/api/tools/changes'>['data'][number];

/** The most definitions that one request may approve. */
const AT_ONCE = 1000;
/** Changes that the page shows at once. */
const SHOWN = 100;

/** Definitions that differ from the approved ones, with the members before and after. */
export function DefinitionChanges() {
  const [filters, setFilters] = useFilters(['connectorId'] as const);
  const list = useAll('/api/tools/changes', { query: filters });
  const mayApprove = useScope('tools:approve');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const all = list.data ?? [];
  const marked = all.filter((one) => chosen.has(keyOf(one)));
  const approve = useAct(
    (changes: Change[]) =>
      rest('POST', '/api/tools/approve', { body: { tools: changes.slice(0, AT_ONCE).map(nameOf) } }),
    'The definitions are approved.',
  );
  const mark = (one: Change, isMarked: boolean) => {
    const next = new Set(chosen);
    if (isMarked) next.add(keyOf(one));
    else next.delete(keyOf(one));
    setChosen(next);
  };
  return (
    <Page
      title="Definition changes"
      lead="Actions, prompts and resources that differ from what was approved. Servers with pinned tools show them only after the approval."
      actions={
        mayApprove &&
        all.length > 0 && (
          <>
            <Button
              variant="default"
              onClick={() =>
                setChosen(marked.length === all.length ? new Set() : new Set(all.map((one) => keyOf(one))))
              }
            >
              {marked.length === all.length ? 'Select none' : 'Select all'}
            </Button>
            <Button
              disabled={marked.length === 0}
              loading={approve.isPending}
              onClick={() => approve.mutate(marked)}
            >
              {marked.length === 0 ? 'Approve' : `Approve ${some(marked.length, 'definition')}`}
            </Button>
          </>
        )
      }
    >
      <Jumps>
        <Anchor component={Link} to="/audit?operation=approveDefinitions" size="sm">
          Who approved definitions
        </Anchor>
      </Jumps>
      <Group role="search" aria-label="Filters">
        <TypedFilter
          label="Connector id"
          value={filters.connectorId}
          change={(connectorId) => setFilters({ connectorId })}
        />
      </Group>
      {!mayApprove && (
        <Text size="sm" c="dimmed">
          A key with the scope <span className="mono">tools:approve</span> can approve them.
        </Text>
      )}
      {approve.isError && <ErrorNotice title="Nothing was approved" error={approve.error} />}
      {list.isPending && <Loading />}
      {list.isError && !list.data && <ErrorNotice error={list.error} again={() => void list.refetch()} />}
      {list.data && all.length === 0 && (
        <div className="card">
          <Empty title="Nothing to approve" icon={<IconShieldCheck aria-hidden />}>
            Every definition is the approved one. Changes appear here after an update of Gatehouse or of a
            connector.
          </Empty>
        </div>
      )}
      {all.slice(0, SHOWN).map((one) => (
        <ChangeCard
          key={keyOf(one)}
          change={one}
          isMarked={chosen.has(keyOf(one))}
          mark={mayApprove ? (isMarked) => mark(one, isMarked) : undefined}
        />
      ))}
      {all.length > SHOWN && (
        <Text size="sm" c="dimmed">
          The first {SHOWN} of {some(all.length, 'change')}. Enter a connector id to see others.
        </Text>
      )}
    </Page>
  );
}

function ChangeCard({
  change,
  isMarked,
  mark,
}: {
  change: Change;
  isMarked: boolean;
  /** Missing when the key may not approve. */
  mark: ((isMarked: boolean) => void) | undefined;
}) {
  const { before, after } = differing(change);
  return (
    <section className="card" aria-label={titleOf(change)}>
      <Stack p="md" gap="sm">
        <Group gap="sm">
          {mark ? (
            <Checkbox
              checked={isMarked}
              onChange={(event) => mark(event.currentTarget.checked)}
              label={<span className="mono">{titleOf(change)}</span>}
            />
          ) : (
            <span className="mono">{titleOf(change)}</span>
          )}
          <State value={change.change} />
        </Group>
        <Text size="sm" component="details">
          <summary>{summaryOf(change, before, after)}</summary>
          <div style={{ marginTop: 8 }}>
            <Difference before={before} after={after} />
          </div>
        </Text>
      </Stack>
    </section>
  );
}

type Members = Record<string, unknown> | null;

/** Returns the members that differ. A definition that is new or gone is shown whole. */
function differing({ before, after }: Change): { before: Members; after: Members } {
  if (!before || !after) return { before, after };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const pick = (from: Record<string, unknown>) =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
}

function summaryOf({ change }: Change, before: Members, after: Members): string {
  if (change === 'added') return 'Show the new definition';
  if (change === 'removed') return 'Show the definition that is gone';
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return `Show what differs: ${[...names].join(', ')}`;
}

function nameOf({ connectorId, actionId, promptId, resourceId, hash }: Change) {
  return {
    connectorId,
    ...(actionId === undefined ? {} : { actionId }),
    ...(promptId === undefined ? {} : { promptId }),
    ...(resourceId === undefined ? {} : { resourceId }),
    hash,
  };
}

/** Returns the key of a change. It has the hash, so that a mark never approves a later change that the person has not seen. */
function keyOf(change: Change): string {
  return JSON.stringify(nameOf(change));
}

function titleOf({ connectorId, actionId, promptId, resourceId }: Change): string {
  if (actionId !== undefined) return `${connectorId}.${actionId}`;
  if (promptId !== undefined) return `${connectorId}: prompt ${promptId}`;
  return resourceId === undefined
    ? `${connectorId}: texts of the connector`
    : `${connectorId}: resource ${resourceId}`;
}
