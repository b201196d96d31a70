import { isDeepStrictEqual } from 'node:util';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { isJsonObject, parseJson, type Json, type JsonObject } from '../../src/lib/json.ts';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';

/*
 * npm run eval:programs: what twenty tasks of several steps cost a model, in calls and tokens. A scripted agent makes
 * the same calls in three modes: by discovery, by direct tools, and as one program. It counts the arguments and the
 * answers of all tools, a search for the actions included, where the mode needs one. The list of tools, which a model
 * reads once, is not counted.
 */

const MODES = ['discovery', 'direct', 'program'] as const;
type Mode = (typeof MODES)[number];

const task = z.strictObject({
  say: z.string(),
  large: z.boolean().default(false),
  search: z.string(),
  code: z.string(),
});
const tasks = z.array(task).parse(parse(readFileSync(new URL('tasks.yaml', import.meta.url), 'utf8')));
type Task = z.infer<typeof task>;

interface Cost {
  calls: number;
  tokens: number;
  value: Json;
}

/** A connector as the code of a task sees it. */
type Sandbox = Record<string, (parameters?: JsonObject) => Promise<unknown>>;
const program = z.object({ default: z.custom<(sandbox: Sandbox, mode: string) => Promise<unknown>>() });

await using service = await startService();
const { userId } = await shop(service);
const clients = {
  discovery: await open('discovery'),
  direct: await open('direct'),
  program: await open('program'),
};

const rows: Record<string, object> = {};
const sums: Record<Mode, number> = { discovery: 0, direct: 0, program: 0 };
for (const one of tasks) {
  const costs: Record<Mode, Cost> = {
    discovery: await solve(one, 'discovery'),
    direct: await solve(one, 'direct'),
    program: await solve(one, 'program'),
  };
  for (const mode of MODES) {
    if (!isDeepStrictEqual(costs[mode].value, costs.discovery.value))
      throw new Error(`"${one.say}" has another result in the mode ${mode}: ${JSON.stringify(costs)}`);
    if (one.large) sums[mode] += costs[mode].tokens;
  }
  rows[one.say] = {
    large: one.large ? 'yes' : '',
    ...Object.fromEntries(
      MODES.flatMap((mode) => [
        [`${mode} calls`, costs[mode].calls],
        [`${mode} tokens`, costs[mode].tokens],
      ]),
    ),
    'fewer than direct': fewer(costs.direct.tokens, costs.program.tokens),
  };
}
console.table(rows);
console.log(
  `Large lists: ${fewer(sums.discovery, sums.program)} fewer tokens than by discovery, ` +
    `${fewer(sums.direct, sums.program)} fewer than by direct tools.`,
);
for (const client of Object.values(clients)) await client.close();

/** Opens a client of a server over the sandbox. All servers are of one user, whose data are the same. */
async function open(mode: Mode): Promise<Client> {
  const made = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: {
      name: mode,
      toolMode: mode === 'direct' ? 'direct' : 'discovery',
      codeMode: 'on',
      restrictions: { connectors: { allowedIds: ['sandbox'] } },
    },
  });
  return connectClient(made.text('accessUrl'));
}

async function solve({ search, code }: Task, mode: Mode): Promise<Cost> {
  const cost: Cost = { calls: 0, tokens: 0, value: null };
  const tool = async (name: string, args: JsonObject): Promise<JsonObject> => {
    const { content, structuredContent, isError } = await clients[mode].callTool({ name, arguments: args });
    cost.calls += 1;
    cost.tokens += estimateTokens(JSON.stringify({ name, arguments: args }));
    const blocks = z.array(z.object({ text: z.string().default('') })).parse(content);
    for (const { text } of blocks) cost.tokens += estimateTokens(text);
    if (isError === true) throw new Error(JSON.stringify(structuredContent));
    const value = parseJson(JSON.stringify(structuredContent));
    return isJsonObject(value) ? value : {};
  };
  if (mode !== 'direct') await tool('search_actions_svc', { query: search });
  if (mode === 'program') {
    const { value = null } = await tool('run_code_svc', { code: `const mode = '${mode}';\n${code}` });
    return { ...cost, value };
  }
  const calls = new Proxy<Sandbox>(
    {},
    {
      get: (_, actionId) => (parameters: JsonObject) =>
        mode === 'direct'
          ? tool(`sandbox_${String(actionId)}`, parameters)
          : tool('execute_action_svc', { connectorId: 'sandbox', actionId: String(actionId), parameters }),
    },
  );
  const text = `export default async (sandbox, mode) => {\n${code}\n}`;
  const { default: run } = program.parse(await import(`data:text/javascript,${encodeURIComponent(text)}`));
  const value = parseJson(JSON.stringify((await run(calls, mode)) ?? null));
  return { ...cost, value };
}

function fewer(before: number, after: number): string {
  return `${(100 * (1 - after / before)).toFixed(1)} %`;
}
