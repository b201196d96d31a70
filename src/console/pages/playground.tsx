import { Alert, Anchor, SegmentedControl } from '@mantine/core';
import { Link } from 'react-router';
import { Page } from '../parts/page.tsx';
import { useFilters } from '../parts/search-params.ts';
import { useRest } from '../queries.ts';
import { ActionPlayground } from './playground-action.tsx';
import { ToolPlayground } from './playground-tool.tsx';

const KINDS = [
  { value: '', label: 'Run an action' },
  { value: 'tool', label: 'Call a tool' },
];

const LEADS: Record<string, string> = {
  '': 'Run an action for a user, as over REST. The call is real: the app does what the action says.',
  tool: 'Call a tool as an agent of a user does. The call is real, and the restrictions, agreements and budgets of the server apply.',
};

/** Calls an action, or a tool of an MCP server, for a user. */
export function Playground() {
  const [{ kind }, choose] = useFilters(['kind']);
  const first = useRest('/users', { query: { limit: 1 } });
  return (
    <Page title="Playground" lead={LEADS[kind] ?? LEADS['']}>
      <div>
        <SegmentedControl
          aria-label="Kind of call"
          value={kind === 'tool' ? 'tool' : ''}
          onChange={(value) => choose({ kind: value })}
          data={KINDS}
        />
      </div>
      {first.data?.data.length === 0 && (
        <Alert variant="light" title="This environment has no users yet">
          A call is always for a user. Create one on the page{' '}
          <Anchor component={Link} to="/users" underline="always">
            Users
          </Anchor>
          .
        </Alert>
      )}
      {kind === 'tool' ? <ToolPlayground /> : <ActionPlayground />}
    </Page>
  );
}
