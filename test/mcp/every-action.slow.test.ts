import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJsonObject, parseJson, valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { askTool, evaluate, figureOf, readIntents, readRequests, unknownActions } from '../eval/evaluate.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { refusals, resultFaults } from '../support/model-apis.ts';
import { startService, type Service } from '../support/service.ts';
import { sampled } from '../support/full.ts';

/*
 * Actions of the shipped catalogue as a model uses them: through tools/list and tools/call of one server. Calls take one
 * action in five, and all of them in the full form.
 */
let service: Service;
let client: Client;
/** The actions that are called. */
let tried: typeof actions;
let actions: { connectorId: string; actionId: string; name: string; app: string }[];
beforeAll(async () => {
  service = await startService();
  const { accessUrl } = await shop(service, { toolMode: 'direct' });
  client = await connectClient(accessUrl);
  actions = service.context.catalog.connectors('development').flatMap((connector) =>
    [...connector.actions.values()].map(({ connectorId, actionId, name }) => ({
      connectorId,
      actionId,
      name,
      app: connector.name,
    })),
  );
  tried = sampled(actions, 5);
});
afterAll(async () => {
  await client.close();
  await service.stop();
});

/** Returns the structured answer of a tool, which must not be an error. */
async function call(name: string, args: JsonObject): Promise<Json> {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${JSON.stringify(answer.content)}`);
  return parseJson(JSON.stringify(answer.structuredContent));
}

async function inTurns<T, R>(all: readonly T[], size: number, run: (some: T[]) => Promise<R>): Promise<R[]> {
  const turns: R[] = [];
  for (let at = 0; at < all.length; at += size) turns.push(await run(all.slice(at, at + size)));
  return turns;
}

test('every action is found by a search for its name', async () => {
  const missed = await inTurns(tried, 20, (some) =>
    Promise.all(
      some.map(async ({ connectorId, actionId, name, app }) => {
        const found = await call('search_actions_svc', { query: `${name} in ${app}`, limit: 10 });
        const hits = [valueAt(found, 'actions') ?? null].flat();
        const hit = hits.find(
          (one) => valueAt(one, 'connectorId') === connectorId && valueAt(one, 'actionId') === actionId,
        );
        return hit && Array.isArray(valueAt(hit, 'required')) ? [] : [`${connectorId}.${actionId}`];
      }),
    ),
  );
  expect(missed.flat(2)).toEqual([]);
});

test('every action’s name alone is a valid search', async () => {
  const names = [...new Set(tried.map(({ name }) => name))];
  const sizes = await inTurns(names, 20, (some) =>
    Promise.all(
      some.map(async (query) => {
        const found = await call('search_actions_svc', { query, limit: 10 });
        return [valueAt(found, 'actions') ?? null].flat().length;
      }),
    ),
  );
  expect(Math.min(...sizes.flat())).toBeGreaterThan(0);
});

test('the first five results hold the right action for 90 % of the queries', async () => {
  const { tuned, heldOut } = readIntents();
  expect(unknownActions(service.context.catalog, [...tuned, ...heldOut])).toEqual([]);
  expect(tuned.length + heldOut.length).toBeGreaterThanOrEqual(150);
  const ask = askTool(client);
  expect(figureOf(await evaluate(ask, tuned)).firstFive).toBeGreaterThanOrEqual(0.9);
  expect(figureOf(await evaluate(ask, heldOut)).firstFive).toBeGreaterThanOrEqual(0.9);
});

test.each([
  ['en', 0.85],
  ['de', 0.8],
  ['fr', 0.8],
  ['es', 0.8],
  ['pt', 0.8],
])('the first five results hold the right action for held-out requests in %s', async (language, least) => {
  const requests = readRequests().filter((one) => one.language === language && one.set === 'held out');
  expect(unknownActions(service.context.catalog, requests)).toEqual([]);
  expect(figureOf(await evaluate(askTool(client), requests)).firstFive).toBeGreaterThanOrEqual(least);
});

test('a hit with an unreadable schema does not affect other hits', async () => {
  const broken = service.context.catalog.action('development', 'stripe', 'create_customer');
  if (!broken) throw new Error('stripe.create_customer is gone');
  const { modelInput } = broken;
  Object.defineProperty(broken, 'modelInput', { value: { required: 'none' } });
  const found = await call('search_actions_svc', { query: 'create a customer in stripe', limit: 10 });
  Object.defineProperty(broken, 'modelInput', { value: modelInput });
  const hits = [valueAt(found, 'actions') ?? null].flat();
  expect(hits[0]).toMatchObject({ connectorId: 'stripe', actionId: 'create_customer' });
  expect(hits[0]).not.toHaveProperty('required');
  expect(hits.slice(1).every((hit) => Array.isArray(valueAt(hit, 'required')))).toBe(true);
  expect(hits).toHaveLength(10);
});

test('model APIs accept every listed tool', async () => {
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(actions.length);
  const faults = tools.flatMap(({ name, inputSchema, outputSchema }) => [
    ...refusals({ name, inputSchema: asObject(inputSchema) }),
    ...resultFaults(asObject(outputSchema ?? {})).map((fault) => `output of ${name}: ${fault}`),
  ]);
  expect(faults).toEqual([]);
});

describe('get_action_svc', () => {
  let read: JsonObject[];
  beforeAll(async () => {
    const answers = await inTurns(tried, 5, async (some) => {
      const named = some.map(({ connectorId, actionId }) => ({ connectorId, actionId }));
      return valueAt(await call('get_action_svc', { actions: named }), 'actions') ?? null;
    });
    read = answers.flat().map(asObject);
  });

  test('model APIs accept its answers', () => {
    const faults = read.flatMap(({ connectorId, actionId, inputSchema, outputSchema }) => {
      const name = `${String(connectorId)}_${String(actionId)}`;
      return [
        ...refusals({ name, inputSchema: asObject(inputSchema) }),
        ...resultFaults(outputSchema ?? null).map((fault) => `output of ${name}: ${fault}`),
      ];
    });
    expect(read).toHaveLength(tried.length);
    expect(faults).toEqual([]);
  });

  test('every example passes the schema of its action and has no placeholder', () => {
    const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }));
    ajv.addFormat('binary', true);
    const faulty = read.filter(({ inputSchema, example }) => {
      const parameters = valueAt(example ?? null, 'parameters');
      const held = textsIn(parameters ?? null).some((text) => /^<[\w. ]+>$/.test(text));
      return held || !ajv.compile(asObject(inputSchema))(parameters);
    });
    expect(faulty.map(({ actionId, example }) => ({ actionId, example }))).toEqual([]);
    const named = read.map(({ example }) => [
      valueAt(example ?? null, 'connectorId'),
      valueAt(example ?? null, 'actionId'),
    ]);
    expect(named).toEqual(tried.map(({ connectorId, actionId }) => [connectorId, actionId]));
  });
});

test('an example is the input of a recorded call when there is one', async () => {
  const read = await call('get_action_svc', {
    actions: [
      { connectorId: 'xero', actionId: 'create_contact' },
      { connectorId: 'github', actionId: 'get_issue' },
    ],
  });
  expect(valueAt(read, 'actions')).toMatchObject([
    { example: { parameters: { Name: 'Ada', EmailAddress: 'ada@example.com' } } },
    // Recorded for other actions of the same connector.
    { example: { parameters: { owner: 'octocat', repo: 'Hello-World', issue_number: 1347 } } },
  ]);
});

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [];
}

function asObject(value: unknown): JsonObject {
  const json = parseJson(JSON.stringify(value ?? null));
  if (!isJsonObject(json)) throw new Error('no object');
  return json;
}
