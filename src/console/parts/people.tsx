import { Anchor, Badge, Text, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { PersonRecord } from '../console-paths.ts';
import { useRest } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ConfirmButton } from './acts.tsx';
import { Records, type Column } from './records.tsx';
import { some, When } from './values.tsx';

/** The people who signed in to the console by OpenID Connect. Absent before the first one. */
export function People() {
  const mayRead = useScope('audit:read');
  const mayEnd = useScope('keys:write');
  const { data } = useRest('/console/people', { enabled: mayRead });
  if (!data || data.people.length === 0) return null;
  return (
    <section aria-labelledby="people">
      <Title order={2} id="people" size="h4">
        People
      </Title>
      <Text c="dimmed" size="sm" mb="xs">
        Those who signed in with their own account. Their role comes from the provider at each sign-in.
      </Text>
      <div className="card">
        <Records label="People" columns={columns(mayEnd)} rows={data.people} keyOf={(row) => row.personId} />
      </div>
    </section>
  );
}

function columns(mayEnd: boolean): Column<PersonRecord>[] {
  return [
    {
      label: 'Name',
      cell: (row) => (
        <Anchor component={Link} to={`/audit?caller=person:${row.personId}`} fw={600} size="sm">
          {row.name}
        </Anchor>
      ),
    },
    {
      label: 'Role',
      cell: (row) => (
        <Badge variant="light" tt="none">
          {row.role}
        </Badge>
      ),
    },
    { label: 'Last sign-in', cell: (row) => <When at={row.signedInAt} /> },
    { label: 'Sessions', cell: (row) => some(row.sessions, 'session') },
    ...(mayEnd ? [{ label: '', end: true, cell: (row: PersonRecord) => <End row={row} /> }] : []),
  ];
}

function End({ row }: { row: PersonRecord }) {
  if (row.sessions === 0) return null;
  return (
    <ConfirmButton
      size="xs"
      dangerous
      label="Sign out"
      title={`Sign ${row.name} out?`}
      run={() => rest('DELETE', '/console/people/{personId}/sessions', { path: { personId: row.personId } })}
    >
      The sessions of this person end at once, in every browser. To keep the person out, remove the role at
      the provider.
    </ConfirmButton>
  );
}
