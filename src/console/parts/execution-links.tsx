import { Anchor, Group } from '@mantine/core';
import { useEffect } from 'react';
import { Link } from 'react-router';
import { useRest } from '../queries.ts';
import type { RequestTo } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';

/** Links to the records of the calls that requests made. A record may appear a moment after the answer. */
export function ExecutionLinks({
  filter,
  requestIds,
}: {
  /** The filter of the list of executions. */
  filter: RequestTo<'GET', '/api/executions'>['query'];
  requestIds: readonly string[];
}) {
  const enabled = useScope('executions:read');
  const { data, refetch } = useRest('/api/executions', {
    query: { ...filter, limit: 50 },
    topics: ['executions'],
    enabled,
  });
  const last = requestIds.at(-1);
  useEffect(() => {
    if (enabled) void refetch();
  }, [enabled, refetch, last]);
  const found = data?.data.filter((one) => requestIds.includes(one.requestId)) ?? [];
  return (
    <Group gap="sm">
      {found.toReversed().map(({ executionId, actionId, outcome }) => (
        <Anchor key={executionId} component={Link} to={`/executions/${executionId}`} size="sm">
          {found.length === 1 ? 'Show the execution' : `${actionId}, ${outcome}`}
        </Anchor>
      ))}
    </Group>
  );
}
