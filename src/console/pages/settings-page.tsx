import {
  Anchor,
  Button,
  Group,
  Input,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { SettingsRecord } from '../api-types.ts';
import { ConfirmDialog, SecretDialog, useAct, useSecret } from '../parts/acts.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { DocsLink } from '../parts/docs-link.tsx';
import { Jumps, Page, Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { queries, useRest } from '../queries.ts';
import { isObject, RestError, rest } from '../rest-client.ts';
import { useScope, useSession } from '../signed-in.ts';

const PATH = '/api/settings';
const DAY_MS = 86_400_000;

type Draft = Partial<SettingsRecord>;

const PAYLOADS: { value: SettingsRecord['payloads']; label: string }[] = [
  { value: 'off', label: 'Nothing' },
  { value: 'messages', label: 'The messages of failed calls' },
  { value: 'errors', label: 'Input and message of failed calls' },
  { value: 'all', label: 'Input and output of all calls' },
];

/** The settings of the environment, as a form. */
export function SettingsPage() {
  const found = useRest(PATH);
  const { environment } = useSession();
  return (
    <Page
      title="Settings"
      lead={`Settings of the environment ${environment}. A change takes effect at once.`}
    >
      <Jumps>
        <Anchor href="#backup" size="sm">
          Backup and restore
        </Anchor>
        <Anchor component={Link} to="/audit?operation=putSettings" size="sm">
          Who changed the settings
        </Anchor>
      </Jumps>
      {found.data ? (
        <Form settings={found.data} />
      ) : found.isError ? (
        <ErrorNotice error={found.error} again={() => void found.refetch()} />
      ) : (
        <Loading />
      )}
      <Backups />
    </Page>
  );
}

/** The steps to restore an earlier state. The console cannot do them, because the service uses the store. */
function Backups() {
  const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
  return (
    <Section id="backup" title="Backup and restore">
      <Stack gap="sm">
        <Text size="sm">
          A backup is one file with the whole store, both environments, and its master key. Make one each
          night, on the machine of the service, while it runs:
        </Text>
        <CodeBlock
          text="gatehouse backup gatehouse-$(date +%F).backup --passphrase-file /etc/gatehouse/passphrase"
          label="Command of a backup"
        />
        <Text size="sm" fw={600}>
          To go back to yesterday
        </Text>
        <ol className="steps">
          <li>Stop the service. Clients are refused until step 3.</li>
          <li>
            Restore the file of yesterday into an empty home. With PostgreSQL,{' '}
            <span className="mono">DATABASE_URL</span> must name an empty database.
            <CodeBlock
              text={`GATEHOUSE_HOME=~/restored gatehouse restore gatehouse-${yesterday}.backup --passphrase-file /etc/gatehouse/passphrase`}
              label="Command of a restore"
            />
          </li>
          <li>
            Start the service with the new home. Keep the home of today until you are sure.
            <CodeBlock text="GATEHOUSE_HOME=~/restored gatehouse serve" label="Command of the start" />
          </li>
        </ol>
        <Text size="sm" c="dimmed">
          To undo one change only, find the person who made it in the{' '}
          <Anchor component={Link} to="/audit" underline="always">
            audit log
          </Anchor>
          , or apply an earlier file of <span className="mono">gatehouse config export</span>. All ways are in
          the <DocsLink to="backup">documentation of backups</DocsLink>.
        </Text>
      </Stack>
    </Section>
  );
}

/** The form holds only what the person changed, so that changes of others appear in the other fields. */
function Form({ settings }: { settings: SettingsRecord }) {
  const mayWrite = useScope('settings:write');
  const [draft, setDraft] = useState<Draft>({});
  const [isAsking, setAsking] = useState(false);
  const [secret, show, hide] = useSecret();
  const save = async () => {
    const { eventsSecret, ...saved } = await rest('PUT', PATH, {
      body: withoutEmptyLines(draft),
    });
    queries.setQueryData([PATH, null], saved);
    setDraft({});
    if (eventsSecret) show(eventsSecret);
  };
  const act = useAct(save, 'The settings are saved.');
  const shown = { ...settings, ...draft };
  const change = (changes: Draft) => {
    act.reset();
    setDraft((before) => changed({ ...before, ...changes }, settings));
  };
  const isChanged = Object.keys(draft).length > 0;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (draft.eventsAddress === null && settings.eventsAddress !== null) setAsking(true);
    else act.mutate();
  };
  return (
    <form onSubmit={submit}>
      <fieldset className="bare" disabled={!mayWrite}>
        <Stack gap="lg">
          {!mayWrite && (
            <Text size="sm" c="dimmed">
              This key may only read the settings. A change needs the scope{' '}
              <span className="mono">settings:write</span>.
            </Text>
          )}
          <Browsers shown={shown} change={change} fault={faultIn(act.error)} />
          <Events shown={shown} change={change} fault={faultIn(act.error)} />
          <Payloads shown={shown} change={change} fault={faultIn(act.error)} />
          <SearchLearning shown={shown} change={change} fault={faultIn(act.error)} />
          {act.isError && <ErrorNotice title="The settings were not saved" error={act.error} />}
          {mayWrite && (
            <Group>
              <Button type="submit" disabled={!isChanged} loading={act.isPending}>
                Save the settings
              </Button>
              <Button variant="default" disabled={!isChanged} onClick={() => setDraft({})}>
                Discard the changes
              </Button>
            </Group>
          )}
        </Stack>
      </fieldset>
      <ConfirmDialog
        title="Stop the events of the environment?"
        label="Save and stop them"
        dangerous
        run={save}
        isOpen={isAsking}
        close={() => setAsking(false)}
      >
        <strong>{settings.eventsAddress}</strong> gets no more events. The subscription is deleted with its
        log and its secret. A new address gets a new secret.
      </ConfirmDialog>
      <SecretDialog secret={secret} close={hide} title="Copy the signing secret">
        It signs the events of the environment.
      </SecretDialog>
    </form>
  );
}

interface PartProps {
  shown: SettingsRecord;
  change: (changes: Draft) => void;
  /** Returns what the API said about a field. */
  fault: (field: string) => string | undefined;
}

function Browsers({ shown, change, fault }: PartProps) {
  return (
    <Section title="Users and browsers">
      <Stack>
        <Choice
          label="Servers of users"
          description="Whether users may create their own MCP servers with a JWT."
        >
          <SegmentedControl
            aria-label="Servers of users"
            value={shown.userServers}
            onChange={(value) => change({ userServers: value === 'on' ? 'on' : 'off' })}
            data={[
              { value: 'on', label: 'Allowed' },
              { value: 'off', label: 'Not allowed' },
            ]}
          />
        </Choice>
        <Lines
          label="Origins"
          description="Pages that may embed the connect page and call the connect routes and the MCP endpoints. One a line, without path: https://app.example.com"
          value={shown.origins}
          onChange={(origins) => change({ origins })}
          error={fault('origins')}
        />
        <Lines
          label="Redirect addresses"
          description="Addresses to which a person may be sent after connecting, exactly as they are sent. One a line."
          value={shown.redirectUris}
          onChange={(redirectUris) => change({ redirectUris })}
          error={fault('redirectUris')}
        />
      </Stack>
    </Section>
  );
}

function Events({ shown, change, fault }: PartProps) {
  return (
    <Section
      title="Events of the environment"
      aside={
        shown.eventsSubscriptionId && (
          <Button
            component={Link}
            to={`/webhooks/${shown.eventsSubscriptionId}`}
            size="compact-sm"
            variant="subtle"
          >
            Deliveries
          </Button>
        )
      }
    >
      <TextInput
        label="Address"
        description="An https address that gets signed events, such as accounts to reconnect and runs that failed. Empty: none."
        placeholder="https://app.example.com/gatehouse-events"
        autoComplete="off"
        spellCheck={false}
        value={shown.eventsAddress ?? ''}
        onChange={(event) => change({ eventsAddress: event.currentTarget.value.trim() || null })}
        error={fault('eventsAddress') ?? fault('address')}
      />
    </Section>
  );
}

function Payloads({ shown, change, fault }: PartProps) {
  return (
    <Section title="What is stored of calls">
      <Stack>
        <Select
          label="Content"
          description="Messages, inputs and outputs can hold personal data. Reading them needs the scope payloads:read."
          w={{ base: '100%', xs: 320 }}
          allowDeselect={false}
          value={shown.payloads}
          onChange={(value) =>
            change({ payloads: PAYLOADS.find((one) => one.value === value)?.value ?? 'off' })
          }
          data={PAYLOADS}
        />
        <NumberInput
          label="Days"
          description="Days for which they are stored, from 1 to 90. A change applies to later calls."
          w={{ base: '100%', xs: 320 }}
          value={shown.payloadDays}
          onChange={(value) => change({ payloadDays: Number(value) })}
          error={fault('payloadDays')}
        />
      </Stack>
    </Section>
  );
}

function SearchLearning({ shown, change }: PartProps) {
  return (
    <Section title="Search of actions">
      <Choice
        label="Learn from calls"
        description="The search ranks an action higher for words after whose search it was called. Counts are stored for 90 days."
      >
        <SegmentedControl
          aria-label="Learn from calls"
          value={shown.searchLearning}
          onChange={(value) => change({ searchLearning: value === 'off' ? 'off' : 'on' })}
          data={[
            { value: 'on', label: 'On' },
            { value: 'off', label: 'Off' },
          ]}
        />
      </Choice>
    </Section>
  );
}

function Choice({
  label,
  description,
  children,
}: {
  label: string;
  description: string;
  children: ReactNode;
}) {
  return (
    <Input.Wrapper label={label} description={description} labelElement="div">
      <div style={{ marginTop: 6 }}>{children}</div>
    </Input.Wrapper>
  );
}

interface LinesProps {
  label: string;
  description: string;
  value: string[];
  onChange: (value: string[]) => void;
  error: string | undefined;
}

/** A list of texts, one a line. */
function Lines({ value, onChange, ...field }: LinesProps) {
  return (
    <Textarea
      {...field}
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
      value={value.join('\n')}
      onChange={(event) => {
        const text = event.currentTarget.value;
        onChange(text === '' ? [] : text.split('\n'));
      }}
    />
  );
}

/** Returns a draft without the members that equal the stored settings. */
function changed(draft: Draft, settings: SettingsRecord): Draft {
  const before: Record<string, unknown> = { ...settings };
  return Object.fromEntries(
    Object.entries(draft).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}

function withoutEmptyLines(draft: Draft): Draft {
  const { origins, redirectUris, ...others } = draft;
  return {
    ...others,
    ...(origins ? { origins: wordsOf(origins) } : {}),
    ...(redirectUris ? { redirectUris: wordsOf(redirectUris) } : {}),
  };
}

function wordsOf(lines: string[]): string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** Returns the function that finds the rule of the API for a field. Rules of entries name their line. */
function faultIn(error: Error | null): (field: string) => string | undefined {
  const faults = error instanceof RestError ? error.details['faults'] : undefined;
  const known = Array.isArray(faults) ? faults.filter(isObject) : [];
  return (field) => {
    const found = known.find((one) => String(one['field']).split('.')[0] === field);
    if (!found) return undefined;
    const at = String(found['field']).split('.')[1];
    const rule = String(found['rule']);
    return at === undefined ? rule : `Entry ${Number(at) + 1} ${rule}`;
  };
}
