import { Button, Group, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import type { ServerTools } from '../api-types.ts';
import { Empty } from '../parts/empty.tsx';
import { Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { count, some } from '../parts/values.tsx';
import { useAll, useRest } from '../queries.ts';

const TOOLS = '/api/servers/{serverId}/tools';
const SHOWN = 20;
const CHARACTERS_A_TOKEN = 4;

type Tool = ServerTools['data'][number];

/** Tokens that the tools of a server cost in each conversation. */
export function ToolTotal({ serverId }: { serverId: string }) {
  const { data } = useSizes(serverId);
  if (!data) return 'Tools and their tokens';
  return `Tools: about ${count((data.tokens ?? 0) + (data.instructionTokens ?? 0))} tokens`;
}

function useSizes(serverId: string) {
  return useRest(TOOLS, { path: { serverId }, query: { format: 'tokens', limit: 1 } });
}

/** The tools of a server as an agent sees them, the largest first. */
export function ToolList({ serverId }: { serverId: string }) {
  const definitions = useAll(TOOLS, { path: { serverId } });
  const sizes = useAll(TOOLS, { path: { serverId }, query: { format: 'tokens' } });
  const whole = useSizes(serverId);
  const [search, setSearch] = useState('');
  const [isAll, setAll] = useState(false);

  if (definitions.isPending || sizes.isPending || whole.isPending)
    return (
      <Section id="tools" title="Tools">
        <Loading />
      </Section>
    );
  if (!definitions.data || !sizes.data || !whole.data)
    return (
      <Section id="tools" title="Tools">
        <ErrorNotice
          error={definitions.error ?? sizes.error ?? whole.error ?? new Error('The tools could not be read.')}
          again={() => void Promise.all([definitions.refetch(), sizes.refetch(), whole.refetch()])}
        />
      </Section>
    );

  const tokensOf = new Map(sizes.data.map(({ name, tokens }) => [name, tokens]));
  const tools = definitions.data
    .map((tool) => ({ ...tool, tokens: tokensOf.get(tool.name) ?? estimate(tool) }))
    .toSorted((a, b) => b.tokens - a.tokens);
  const text = search.trim().toLowerCase();
  const found = tools.filter((one) => `${one.name} ${one.title ?? ''}`.toLowerCase().includes(text));
  const { mode, actions, tokens = 0, instructionTokens = 0 } = whole.data;
  if (actions === 0)
    return (
      <Section id="tools" title="Tools">
        <Empty title="An agent sees no actions">The restrictions deny every action. Change them below.</Empty>
      </Section>
    );
  return (
    <Section
      id="tools"
      title="Tools"
      aside={<Text size="sm">about {count(tokens + instructionTokens)} tokens</Text>}
    >
      <Stack gap="sm">
        <Text size="sm">
          {mode === 'direct'
            ? `The agent sees a tool for each of ${some(actions, 'action')}.`
            : `The agent sees ${some(tools.length, 'built-in tool')}, and finds the ${some(actions, 'action')} with them.`}{' '}
          The definitions take about {count(tokens)} tokens, the instructions {count(instructionTokens)}.
        </Text>
        {tools.length > SHOWN && (
          <TextInput
            role="searchbox"
            aria-label="Search tools"
            placeholder="Name of a tool"
            leftSection={<IconSearch size={16} aria-hidden />}
            maw={320}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        {found.length === 0 && <Text size="sm">No tool has this in its name.</Text>}
        <ul className="plain-list">
          {found.slice(0, isAll ? undefined : SHOWN).map((tool) => (
            <ToolLine key={tool.name} tool={tool} />
          ))}
        </ul>
        {!isAll && found.length > SHOWN && (
          <Group>
            <Button variant="default" size="xs" onClick={() => setAll(true)}>
              Show all {count(found.length)}
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  );
}

function ToolLine({ tool }: { tool: Tool & { tokens: number } }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <UnstyledButton w="100%" py={6} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Group gap={6} wrap="nowrap" miw={0}>
            {isOpen ? (
              <IconChevronDown size={15} aria-hidden style={{ flex: 'none' }} />
            ) : (
              <IconChevronRight size={15} aria-hidden style={{ flex: 'none' }} />
            )}
            <span className="mono">{tool.name}</span>
          </Group>
          <Text size="sm" c="dimmed" className="nowrap">
            {some(tool.tokens, 'token')}
          </Text>
        </Group>
      </UnstyledButton>
      {isOpen && (
        <Stack gap="xs" pb="sm" ps={22}>
          <Text size="sm" style={{ whiteSpace: 'pre-line' }}>
            {tool.description}
          </Text>
          <pre className="block" tabIndex={0} aria-label={`Input schema of ${tool.name}`}>
            {JSON.stringify(tool.inputSchema, null, 2)}
          </pre>
        </Stack>
      )}
    </li>
  );
}

function estimate({ name, description = '', inputSchema }: Tool): number {
  const characters = name.length + description.length + JSON.stringify(inputSchema ?? {}).length;
  return Math.ceil(characters / CHARACTERS_A_TOKEN);
}
