import { Alert, Select, SimpleGrid } from '@mantine/core';
import { IconTool } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Effect, JsonSchema, ServerRecord, ServerTools } from '../api-types.ts';
import { useServers } from '../names.ts';
import { ConfirmDialog } from '../parts/acts.tsx';
import { CallForm, type Input } from '../parts/call-form.tsx';
import { Empty } from '../parts/empty.tsx';
import { EffectOption, SHOWN_OPTIONS } from '../parts/effect-option.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Section } from '../parts/page.tsx';
import { UserPicker } from '../parts/pickers.tsx';
import type { Answers } from '../parts/questions.tsx';
import { Loading } from '../parts/records.tsx';
import { useFilters } from '../parts/search-params.ts';
import { some } from '../parts/values.tsx';
import { useAll } from '../queries.ts';
import { exchange, isObject, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ToolResult } from './tool-result.tsx';

const CHOICES = ['serverId', 'userId', 'tool'] as const;

/** The built-in tool that runs any action, whose effect is that of the action. */
const ANY_ACTION = 'execute_action_svc';

type Tool = ServerTools['data'][number];

/** Calls a tool of an MCP server as an agent of a user does. */
export function ToolPlayground() {
  const [choice, choose] = useFilters(CHOICES);
  const mayCall = useScope('mcp:use');
  const servers = useServers();
  const server = servers.find((one) => one.serverId === choice.serverId);
  const isChosen = server !== undefined && choice.userId !== '';
  const tools = useAll('/api/servers/{serverId}/tools', {
    path: { serverId: choice.serverId },
    query: { userId: choice.userId },
    topics: ['accounts'],
    enabled: isChosen,
  });
  const listed = isChosen ? tools.data : undefined;
  const tool = listed?.find((one) => one.name === choice.tool);
  return (
    <>
      {!mayCall && (
        <Alert variant="light" color="orange" title="You may only look at the tools">
          To call them, sign in with the scope <span className="mono">mcp:use</span>, which operators and
          owners have.
        </Alert>
      )}
      <div className="card">
        <SimpleGrid cols={{ base: 1, sm: 3 }} p="md">
          <Select
            label="MCP server"
            placeholder={servers.length === 0 ? 'No server yet' : 'Choose a server'}
            searchable
            value={server ? choice.serverId : null}
            onChange={(serverId) => {
              const owner = servers.find((one) => one.serverId === serverId)?.ownerUserId;
              choose({
                serverId: serverId ?? '',
                tool: '',
                ...(choice.userId === '' && owner ? { userId: owner } : {}),
              });
            }}
            data={servers.map(({ serverId, name, enabled }) => ({
              value: serverId,
              label: enabled ? name : `${name} (switched off)`,
            }))}
            nothingFoundMessage="No such server"
          />
          <UserPicker
            label="User"
            placeholder="Choose a user"
            value={choice.userId}
            onChange={(userId) => choose({ userId })}
          />
          <ToolSelect
            tools={listed ?? []}
            value={tool ? choice.tool : null}
            isReady={isChosen}
            onChange={(name) => choose({ tool: name })}
          />
        </SimpleGrid>
      </div>
      {isChosen && tools.isError && (
        <ErrorNotice
          error={tools.error}
          title="The agent of this user gets no tools"
          again={() => void tools.refetch()}
        />
      )}
      {isChosen && tools.isLoading && <Loading />}
      {server && tool && (
        <ToolCall
          key={`${server.serverId} ${choice.userId} ${tool.name}`}
          tool={tool}
          server={server}
          userId={choice.userId}
        />
      )}
      {!tool && !tools.isLoading && !tools.isError && (
        <div className="card">
          <Empty title="Choose a tool" icon={<IconTool aria-hidden />}>
            {listed
              ? `An agent of this user sees ${some(listed.length, 'tool')} of this server.`
              : 'Choose a server and a user. The list then has the tools that an agent of that user sees.'}
          </Empty>
        </div>
      )}
    </>
  );
}

function ToolSelect({
  tools,
  value,
  isReady,
  onChange,
}: {
  tools: Tool[];
  value: string | null;
  isReady: boolean;
  onChange: (name: string) => void;
}) {
  const byName = new Map(tools.map((one) => [one.name, one]));
  return (
    <Select
      label="Tool"
      placeholder={isReady ? 'Search by name or title' : 'Choose a server and a user first'}
      searchable
      disabled={!isReady}
      limit={SHOWN_OPTIONS}
      value={value}
      onChange={(name) => onChange(name ?? '')}
      data={tools.map(({ name }) => ({ value: name, label: name }))}
      filter={({ options, search, limit }) => {
        const text = search.trim().toLowerCase();
        return options
          .filter((one) => 'value' in one && wordsOf(byName.get(String(one.value))).includes(text))
          .slice(0, limit);
      }}
      renderOption={({ option }) => {
        const one = byName.get(option.value);
        const effect = one ? effectOfTool(one) : 'read';
        return <EffectOption name={one?.title ?? option.value} id={option.value} effect={effect} />;
      }}
      nothingFoundMessage="No such tool"
    />
  );
}

/** Returns the text of a tool that a search reads. */
function wordsOf(tool: Tool | undefined): string {
  return `${tool?.name} ${tool?.title ?? ''}`.toLowerCase();
}

/** A turn of a call: its arguments, and from the second turn on the answers of the user. */
interface Turn {
  input: Input;
  requestState?: string;
  inputResponses?: Answers;
}

function ToolCall({ tool, server, userId }: { tool: Tool; server: ServerRecord; userId: string }) {
  const [input, setInput] = useState<Input>({});
  const [asked, setAsked] = useState<Input>({});
  const [requestIds, setRequestIds] = useState<string[]>([]);
  const [isAsking, setAsking] = useState(false);
  const mayCall = useScope('mcp:use');
  const call = useMutation({
    mutationFn: async ({ input: sent, ...answers }: Turn) => {
      const answer = await exchange('POST', '/api/servers/{serverId}/call-tool', {
        path: { serverId: server.serverId },
        body: { userId, name: tool.name, arguments: sent, ...answers },
      });
      const { requestId } = answer;
      if (requestId) setRequestIds((before) => (answers.requestState ? [...before, requestId] : [requestId]));
      return answer;
    },
  });
  const run = async () => {
    setAsked(input);
    return call.mutateAsync({ input });
  };
  const begin = useMutation({
    mutationFn: () => effectOfInput(tool, input, { serverId: server.serverId, userId }),
    onSuccess: (effect) => (effect === 'destructive' ? setAsking(true) : void run()),
  });
  const schema: JsonSchema = isObject(tool.inputSchema) ? tool.inputSchema : {};
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <CallForm
        description={tool.description ?? ''}
        schema={schema}
        effect={effectOfTool(tool)}
        input={input}
        onChange={setInput}
        obstacle={mayCall ? undefined : 'You may not call tools: the scope mcp:use is missing.'}
        isPending={call.isPending || begin.isPending}
        run={() => begin.mutate()}
      />
      <Section title="Result">
        <ToolResult
          call={call}
          filter={{ serverId: server.serverId, userId }}
          requestIds={requestIds}
          onAnswer={(requestState, inputResponses) =>
            call.mutate({ input: asked, requestState, inputResponses })
          }
        />
      </Section>
      <ConfirmDialog
        title={`Call “${tool.title ?? tool.name}”?`}
        label={`Call ${tool.name}`}
        dangerous
        isOpen={isAsking}
        close={() => setAsking(false)}
        run={run}
      >
        The call runs now, for the chosen user through the server {server.name}. It can delete or overwrite
        data, and Gatehouse cannot bring it back.
      </ConfirmDialog>
    </SimpleGrid>
  );
}

/** Returns the effect that the hints of a tool name. */
function effectOfTool({ annotations = {} }: Tool): Effect {
  if (annotations['readOnlyHint'] === true) return 'read';
  return annotations['destructiveHint'] === true ? 'destructive' : 'write';
}

/** Returns the effect of a call. The tool that runs any action has the effect of the action that its input names. */
async function effectOfInput(
  tool: Tool,
  { connectorId, actionId, parameters }: Input,
  { serverId, userId }: { serverId: string; userId: string },
): Promise<Effect> {
  if (tool.name !== ANY_ACTION || typeof connectorId !== 'string' || typeof actionId !== 'string')
    return effectOfTool(tool);
  const input = isObject(parameters) ? { input: parameters } : {};
  const { effect } = await rest('POST', '/api/servers/{serverId}/simulate', {
    path: { serverId },
    body: { userId, connectorId, actionId, ...input },
  });
  return effect ?? effectOfTool(tool);
}
