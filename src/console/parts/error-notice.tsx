import { Alert, Button, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { RestError } from '../rest-client.ts';

/** Shows why something could not be read or done, in words, with the id of the request for the log. */
export function ErrorNotice({
  error,
  again,
  title = 'This could not be read',
}: {
  error: Error;
  again?: () => void;
  /** Its heading, unless the key lacks a scope. */
  title?: string;
}) {
  const refused = error instanceof RestError ? error : undefined;
  const scope = refused?.details['scope'];
  return (
    <Alert
      variant="light"
      color="red"
      icon={<IconAlertTriangle aria-hidden />}
      title={typeof scope === 'string' ? 'This key may not do this' : title}
      maw={720}
    >
      <Text size="sm">{error.message}</Text>
      {typeof scope === 'string' && (
        <Text size="sm" mt={6}>
          Sign in with a key that has the scope <span className="mono">{scope}</span>.
        </Text>
      )}
      {refused?.requestId && (
        <Text size="xs" mt={6}>
          Request <span className="mono">{refused.requestId}</span>
        </Text>
      )}
      {again && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={again}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  );
}
