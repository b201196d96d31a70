import { Alert, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ConnectorRecord, OAuthAppRecord } from '../api-types.ts';
import { ConfirmButton, useAct } from '../parts/acts.tsx';
import { Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Copy, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { RestError, rest } from '../rest-client.ts';
import { useScope, useSession } from '../signed-in.ts';

/** The OAuth app of a connector in this environment. Its secret is never shown. */
export function OAuthApp({ connector }: { connector: ConnectorRecord }) {
  const { environment, publicUrl } = useSession();
  const mayWrite = useScope('oauth-apps:write');
  const path = { connectorId: connector.connectorId };
  const found = useRest('/api/connectors/{connectorId}/oauth-app', { path });
  const [isEditing, setEditing] = useState(false);
  const isMissing = found.error instanceof RestError && found.error.code === 'oauth_app_not_found';
  const app = isMissing ? undefined : found.data;
  const redirectUri = app?.redirectUri ?? `${publicUrl}/oauth/callback/${connector.connectorId}`;
  return (
    <Section title={`OAuth app of ${environment}`}>
      {found.isPending && <Loading rows={3} />}
      {found.isError && !isMissing && <ErrorNotice error={found.error} again={() => void found.refetch()} />}
      {(app || isMissing) && (
        <Stack>
          {!app && (
            <Text size="sm">
              There is none yet. Register an OAuth app at {connector.name} with the redirect address below,
              then enter its client id and secret here. Users connect their accounts through it.
            </Text>
          )}
          <dl className="facts">
            <dt>Redirect address</dt>
            <dd>
              <span className="mono">{redirectUri}</span> <Copy text={redirectUri} label="Copy the address" />
            </dd>
            {app && <AppFacts app={app} connector={connector} />}
          </dl>
          {!mayWrite && (
            <Text size="sm" c="dimmed">
              A key with the scope <span className="mono">oauth-apps:write</span> can change it.
            </Text>
          )}
          {mayWrite && isEditing && (
            <AppForm app={app} connector={connector} close={() => setEditing(false)} />
          )}
          {mayWrite && !isEditing && (
            <Group>
              <Button variant={app ? 'default' : 'filled'} onClick={() => setEditing(true)}>
                {app ? 'Change' : 'Enter client id and secret'}
              </Button>
              {app && app.updatedAt !== null && (
                <ConfirmButton
                  label="Delete the OAuth app"
                  title={`Delete the OAuth app of ${connector.name}?`}
                  dangerous
                  run={() => rest('DELETE', '/api/connectors/{connectorId}/oauth-app', { path })}
                >
                  Nobody can connect an account through it any more. Connected accounts work until their
                  access tokens expire.
                </ConfirmButton>
              )}
            </Group>
          )}
        </Stack>
      )}
    </Section>
  );
}

function AppFacts({ app, connector }: { app: OAuthAppRecord; connector: ConnectorRecord }) {
  return (
    <>
      <dt>Client id</dt>
      <dd className="mono">{app.clientId}</dd>
      <dt>Client secret</dt>
      <dd>{app.hasSecret ? 'stored, and never shown' : 'none: a public client'}</dd>
      <dt>Scopes</dt>
      <dd className="mono">{(app.scopes ?? connector.scopes).join(' ') || 'none'}</dd>
      {Object.entries(app.fields).map(([name, value]) => (
        <HostFact key={name} name={name} value={value} />
      ))}
      <dt>Changed</dt>
      <dd>{app.updatedAt === null ? 'never: it is part of Gatehouse' : <When at={app.updatedAt} />}</dd>
    </>
  );
}

function HostFact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="mono">{value}</dd>
    </>
  );
}

function AppForm({
  app,
  connector,
  close,
}: {
  app: OAuthAppRecord | undefined;
  connector: ConnectorRecord;
  close: () => void;
}) {
  const path = { connectorId: connector.connectorId };
  const [clientId, setClientId] = useState(app?.clientId ?? '');
  const [clientSecret, setClientSecret] = useState('');
  const [scopes, setScopes] = useState(app?.scopes?.join(' ') ?? '');
  const [fields, setFields] = useState<Record<string, unknown>>(app?.fields ?? {});
  const ways = useRest('/connectors/{connectorId}/credentials/metadata', { path });
  const hosts = ways.data?.authentication.find(({ type }) => type === 'oauth2')?.inputSchema;
  const wanted = scopes.split(/[\s,]+/).filter((scope) => scope !== '');
  const save = useAct(
    () =>
      rest('PUT', '/api/connectors/{connectorId}/oauth-app', {
        path,
        body: {
          clientId,
          ...(clientSecret === '' ? {} : { clientSecret }),
          ...(wanted.length === 0 ? {} : { scopes: wanted }),
          ...(Object.keys(fields).length === 0 ? {} : { fields: textsOf(fields) }),
        },
      }),
    'The OAuth app is stored.',
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(undefined, { onSuccess: close });
      }}
    >
      <Stack maw={560}>
        <TextInput
          label="Client id"
          required
          value={clientId}
          onChange={(event) => setClientId(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <PasswordInput
          label="Client secret"
          description={
            app?.hasSecret
              ? 'Enter it with each change. An empty field removes the stored secret.'
              : 'It is stored encrypted and never shown. Leave it empty for a public client.'
          }
          value={clientSecret}
          onChange={(event) => setClientSecret(event.currentTarget.value)}
          autoComplete="new-password"
        />
        <TextInput
          label="Scopes"
          description="With spaces between them. Empty: the scopes of the connector."
          placeholder={connector.scopes.join(' ')}
          value={scopes}
          onChange={(event) => setScopes(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
        {hosts && Object.keys(hosts.properties ?? {}).length > 0 && (
          <Alert variant="light" title="Where it is registered">
            <Text size="sm" mb="sm">
              Only when it is registered at one host of its own. Users are not asked for it then.
            </Text>
            <SchemaForm
              schema={{ ...hosts, required: [] }}
              value={fields}
              onChange={setFields}
              onFault={() => {}}
            />
          </Alert>
        )}
        {save.isError && <ErrorNotice title="This was not stored" error={save.error} />}
        <Group>
          <Button type="submit" loading={save.isPending}>
            Store
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function textsOf(fields: Record<string, unknown>): Record<string, string> {
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  return Object.fromEntries(texts);
}
