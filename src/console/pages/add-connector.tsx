import {
  Button,
  FileInput,
  Group,
  MultiSelect,
  SegmentedControl,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconArrowLeft, IconFileUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { ConfirmButton, useAct } from '../parts/acts.tsx';
import { Page, Section } from '../parts/page.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { RestError, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { Entries, UploadReport } from './upload-report.tsx';

const FORMS = [
  { value: 'openapi', label: 'OpenAPI' },
  { value: 'definition', label: 'Connector file' },
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

interface Upload {
  form: string;
  text: string;
  connectorId: string;
  tags: string[];
  paths: string[];
  methods: string[];
}

/** Adds a connector to the store from a file, or a new version of a stored connector. */
export function AddConnector() {
  const [params] = useSearchParams();
  const known = params.get('connectorId') ?? '';
  const mayWrite = useScope('connectors:write');
  const [upload, setUpload] = useState<Upload>({
    form: 'openapi',
    text: '',
    connectorId: '',
    tags: [],
    paths: [],
    methods: [],
  });
  const store = useAct(({ isDry, acceptBreaking }: { isDry?: boolean; acceptBreaking?: boolean }) =>
    known === ''
      ? rest('POST', '/api/connectors', { body: bodyOf(upload, { known, isDry, acceptBreaking }) })
      : rest('PUT', '/api/connectors/{connectorId}', {
          path: { connectorId: known },
          body: bodyOf(upload, { known, isDry, acceptBreaking }),
        }),
  );
  const isBreaking = store.error instanceof RestError && store.error.code === 'breaking_changes';
  const canSend = mayWrite && upload.text.trim() !== '';
  return (
    <Page
      title={known === '' ? 'Add a connector' : `New version of ${known}`}
      lead={
        known === ''
          ? 'The app is there for this environment at once, without a restart.'
          : 'Every process uses the new version within a second. The versions before stay readable.'
      }
      actions={
        <Button
          component={Link}
          to={known === '' ? '/connectors' : `/connectors/${known}`}
          variant="default"
          leftSection={<IconArrowLeft size={16} aria-hidden />}
        >
          {known === '' ? 'All connectors' : 'The connector'}
        </Button>
      }
    >
      <Section title="File">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (canSend) store.mutate({});
          }}
        >
          <Stack maw={820}>
            <Fields upload={upload} change={setUpload} known={known} />
            {!mayWrite && (
              <Text size="sm" c="dimmed">
                This key cannot store connectors. It lacks the scope{' '}
                <span className="mono">connectors:write</span>.
              </Text>
            )}
            <Group>
              <Button type="submit" disabled={!canSend} loading={store.isPending}>
                {known === '' ? 'Add the connector' : 'Store the version'}
              </Button>
              <Button
                variant="default"
                disabled={!canSend || store.isPending}
                onClick={() => store.mutate({ isDry: true })}
              >
                Only check it
              </Button>
            </Group>
          </Stack>
        </form>
      </Section>
      {store.isError && (
        <Stack>
          <ErrorNotice title="Nothing was stored" error={store.error} />
          {isBreaking && (
            <Group>
              <ConfirmButton
                label="Store it anyway"
                title={`Store a version of ${known} that breaks callers?`}
                dangerous
                run={() => store.mutateAsync({ acceptBreaking: true })}
              >
                These calls or credentials fail from then on:
                <Entries lines={breakingIn(store.error).map((line) => ['', line])} />
              </ConfirmButton>
            </Group>
          )}
        </Stack>
      )}
      {store.data && <UploadReport uploaded={store.data} isDry={store.variables.isDry === true} />}
    </Page>
  );
}

/** Returns the sentences of a refusal that say which calls an import would break. */
function breakingIn(error: Error | null): string[] {
  const breaking = error instanceof RestError ? error.details['breaking'] : undefined;
  return Array.isArray(breaking) ? breaking.map(String) : [];
}

function bodyOf(
  { form, text, connectorId, tags, paths, methods }: Upload,
  { known, isDry, acceptBreaking }: { known: string; isDry?: boolean; acceptBreaking?: boolean },
) {
  const dryRun = isDry ? { dryRun: true } : {};
  if (form === 'definition') return { definition: text, ...dryRun };
  const include = Object.entries({ tags, paths, methods }).filter(([, list]) => list.length > 0);
  return {
    openapi: {
      document: text,
      ...(known !== '' || connectorId === '' ? {} : { connectorId }),
      ...(include.length === 0 ? {} : { include: Object.fromEntries(include) }),
    },
    ...dryRun,
    ...(acceptBreaking ? { acceptBreaking: true } : {}),
  };
}

function Fields({
  upload,
  change,
  known,
}: {
  upload: Upload;
  change: (upload: Upload) => void;
  known: string;
}) {
  const set = (changes: Partial<Upload>) => change({ ...upload, ...changes });
  const isDocument = upload.form === 'openapi';
  return (
    <>
      <SegmentedControl
        aria-label="Form of the file"
        value={upload.form}
        onChange={(form) => set({ form })}
        data={FORMS}
        style={{ alignSelf: 'flex-start' }}
      />
      <FileInput
        label="File"
        description={isDocument ? 'OpenAPI 2.0, 3.0 or 3.1, as JSON or YAML.' : 'A connector file, as YAML.'}
        placeholder="Choose a file"
        accept=".json,.yaml,.yml"
        leftSection={<IconFileUpload size={16} aria-hidden />}
        onChange={(file) => {
          void file?.text().then((text) => change({ ...upload, text }));
        }}
      />
      <Textarea
        label="Content"
        description="Or paste it here."
        value={upload.text}
        onChange={(event) => set({ text: event.currentTarget.value })}
        rows={12}
        spellCheck={false}
        autoComplete="off"
        classNames={{ input: 'mono' }}
      />
      {isDocument && (
        <>
          {known === '' && (
            <TextInput
              label="Connector id"
              description="1 to 32 of a-z, 0-9 and -. Empty: made from the title of the document."
              value={upload.connectorId}
              onChange={(event) => set({ connectorId: event.currentTarget.value.trim() })}
              autoComplete="off"
              spellCheck={false}
            />
          )}
          <TagsInput
            label="Only these paths"
            description="* stands for any characters. Empty: all paths."
            placeholder="/orders*"
            value={upload.paths}
            onChange={(paths) => set({ paths })}
          />
          <TagsInput
            label="Only these tags"
            description="One of them must be on the operation. Empty: all."
            value={upload.tags}
            onChange={(tags) => set({ tags })}
          />
          <MultiSelect
            label="Only these methods"
            placeholder={upload.methods.length === 0 ? 'All methods' : ''}
            value={upload.methods}
            onChange={(methods) => set({ methods })}
            data={METHODS}
          />
        </>
      )}
    </>
  );
}
