import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import { Section } from '../parts/page.tsx';
import { count, some } from '../parts/values.tsx';
import type { ValueAt } from '../rest-client.ts';

/** The answer to an upload. A connector file has no report. */
type Uploaded = ValueAt<'PUT', '/api/connectors/{connectorId}'>;

/** The report of an upload: the version that it stored, and the operations that it left out. */
export function UploadReport({
  uploaded: { connectorId, version, report: found, changes },
  isDry,
}: {
  uploaded: Uploaded;
  isDry: boolean;
}) {
  const report = found && 'operations' in found ? found : undefined;
  return (
    <Stack>
      <Alert
        variant="light"
        color={isDry ? 'blue' : 'green'}
        title={isDry ? 'Checked. Nothing was stored' : `Stored as version ${version}`}
      >
        {isDry ? (
          <>
            It would be the connector {connectorId}
            {changes ? ', with the changes below' : ''}.
          </>
        ) : (
          <Anchor component={Link} to={`/connectors/${connectorId}`}>
            Show the connector {connectorId}
          </Anchor>
        )}
      </Alert>
      {report && (
        <Section title="Report">
          <Stack gap="sm">
            <Text size="sm">
              {count(report.imported)} of {some(report.operations, 'operation')} became actions.
              {report.notChosen > 0 && ` ${count(report.notChosen)} were not chosen.`}
            </Text>
            <Entries
              title="Left out"
              lines={report.leftOut.map(({ operation, reason }) => [operation, reason])}
            />
            <Entries
              title="In another form"
              lines={report.approximated.map(({ place, what }) => [place, what])}
            />
            <More entries={report.moreEntries} />
          </Stack>
        </Section>
      )}
      {changes && (
        <Section title="Changes from the version before">
          <Stack gap="sm">
            <Entries title="Breaks callers" lines={changes.breaking.map((line) => ['', line])} />
            <Entries title="New actions" lines={changes.added.map((id) => [id, ''])} />
            <Entries title="Removed actions" lines={changes.removed.map((id) => [id, ''])} />
            <Entries
              title="Changed actions"
              lines={changes.changed.map(({ actionId, differences }) => [actionId, differences.join('; ')])}
            />
            {changes.added.length + changes.removed.length + changes.changed.length === 0 && (
              <Text size="sm">No action differs.</Text>
            )}
            <More entries={changes.moreEntries} />
          </Stack>
        </Section>
      )}
    </Stack>
  );
}

/** Lines of a name and a sentence. */
export function Entries({ title, lines }: { title?: string; lines: [string, string][] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      {title && (
        <Text size="sm" fw={600}>
          {title}
        </Text>
      )}
      <List size="sm">
        {lines.map(([name, text]) => (
          <List.Item key={`${name} ${text}`}>
            {name && <span className="mono">{name}</span>}
            {name && text && ': '}
            {text}
          </List.Item>
        ))}
      </List>
    </div>
  );
}

function More({ entries }: { entries: number }) {
  if (entries === 0) return null;
  return (
    <Text size="sm" c="dimmed">
      There are {count(entries)} more entries.
    </Text>
  );
}
