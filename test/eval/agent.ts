import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { asObject, asJson, type Json, type JsonObject } from '../../src/lib/json.ts';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { connectClient } from '../support/mcp.ts';
import type { Service } from '../support/service.ts';

/*
 * A scripted agent. It makes the same calls in three modes: by discovery, by direct tools, and as one program. It counts the
 * arguments and the answers of all tools, a search for the actions included, where the mode needs one. The list of tools,
 * which a model reads once, is not counted.
 */

export const MODES = ['discovery', 'direct', 'program'] as const;
export type Mode = (typeof MODES)[number];

/** Connectors that the tasks use, as their code names them. */
const CONNECTORS = ['sandbox', 'gitlab', 'woocommerce'];

const task = z.strictObject({
  say: z.string(),
  large: z.boolean().default(false),
  search: z.string(),
  code: z.string(),
});
export type Task = z.infer<typeof task>;

export interface Cost {
  calls: number;
  tokens: number;
  value: Json;
}

/** Connectors as the code of a task sees them. */
type Connectors = Record<string, Record<string, (parameters?: JsonObject) => Promise<unknown>>>;
const program = z.object({
  default: z.custom<(connectors: Connectors, mode: string) => Promise<unknown>>(),
});

export function readTasks(): Task[] {
  return z.array(task).parse(parse(readFileSync(new URL('tasks.yaml', import.meta.url), 'utf8')));
}

/** Returns the connectors that the code of a task calls. */
export function connectorsOf({ code }: Task): string[] {
  return CONNECTORS.filter((connectorId) => new RegExp(`\\b${connectorId}\\.`).test(code));
}

/** Opens a client of a server over the connectors of the tasks. */
export async function openAgent(service: Service, userId: string, mode: Mode): Promise<Client> {
  const made = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: {
      name: mode,
      toolMode: mode === 'direct' ? 'direct' : 'discovery',
      codeMode: mode === 'program' ? 'on' : 'off',
      restrictions: { connectors: { allowedIds: CONNECTORS } },
    },
  });
  return connectClient(made.text('accessUrl'));
}

/** Solves a task. Rejects when a tool answers with an error that the code of the task does not catch. */
export async function solve(client: Client, mode: Mode, { search, code }: Task): Promise<Cost> {
  const cost: Cost = { calls: 0, tokens: 0, value: null };
  const tool = async (name: string, args: JsonObject): Promise<JsonObject> => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    cost.calls += 1;
    cost.tokens += estimateTokens(JSON.stringify({ name, arguments: args }));
    const blocks = z.array(z.object({ text: z.string().default('') })).parse(content);
    for (const { text } of blocks) cost.tokens += estimateTokens(text);
    if (isError === true) throw new Error(JSON.stringify(structuredContent));
    return asObject(asJson(structuredContent));
  };
  if (mode !== 'direct') await tool('search_actions_svc', { query: search });
  if (mode === 'program') {
    const { value = null } = await tool('run_code_svc', { code: `const mode = '${mode}';\n${code}` });
    return { ...cost, value };
  }
  const text = `export default async ({ ${CONNECTORS.join(', ')} }, mode) => {\n${code}\n}`;
  const { default: run } = program.parse(await import(`data:text/javascript,${encodeURIComponent(text)}`));
  const value = await run(connectorsOver(tool, mode), mode);
  return { ...cost, value: asJson(value) };
}

/** Returns connectors whose actions are calls of tools. */
function connectorsOver(
  tool: (name: string, args: JsonObject) => Promise<JsonObject>,
  mode: 'discovery' | 'direct',
): Connectors {
  const call = (connectorId: string, actionId: string, parameters: JsonObject) =>
    mode === 'direct'
      ? tool(`${connectorId}_${actionId}`, parameters)
      : tool('execute_action_svc', { connectorId, actionId, parameters });
  return Object.fromEntries(
    CONNECTORS.map((connectorId) => [
      connectorId,
      new Proxy<Connectors[string]>(
        {},
        {
          get: (_, actionId) => (parameters: JsonObject) => call(connectorId, String(actionId), parameters),
        },
      ),
    ]),
  );
}
