import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isJsonObject, parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { installClients } from './install.ts';

/*
 * Third-party MCP clients, as separate programs, against a real Gatehouse. Each lists the tools of a server and calls
 * one.
 */
const BIN = resolve(import.meta.dirname, '../../bin/gatehouse.js');
let folder: string;
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  folder = await installClients();
  service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox'] } },
  });
});
afterAll(() => service.stop());

describe("the official SDK's clients", () => {
  test("the official SDK's client v1 uses a session", async () => {
    const said = await program('sdk-v1.mjs', one.accessUrl);
    expect(said).toMatchObject({ tools: expect.any(Number), resources: 5, prompts: 3 });
    expect(firstCustomer(said)).toBeTruthy();
  });

  test.each([
    ['auto', 'modern'],
    ['pin', 'modern'],
    ['legacy', 'legacy'],
  ])("the official SDK's client v2, %s, uses the %s form", async (mode, era) => {
    const said = await program('sdk-v2.mjs', one.accessUrl, mode);
    expect(said).toMatchObject({ era, tools: expect.any(Number), prompts: 3 });
    expect(firstCustomer(said)).toBeTruthy();
  });
});

test.each([
  ['auto', 'modern'],
  ['legacy', 'legacy'],
])("the official SDK's client v2, %s, gets questions and notices in the %s form", async (mode, era) => {
  const { accessUrl } = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['everything'] } },
  });
  expect(await program('sdk-v2-asked.mjs', accessUrl, mode)).toEqual({
    era,
    form: expect.stringContaining('action=accept'),
    model: 'LLM response: Paris',
    rounds: 'Multi-round complete for Ada who likes blue',
    together: 'Name: Ada; Greeting: Paris; Roots: 1',
    state: 'state-ok: requestState validated',
    again: 'Reconnected',
    slow: 'Tool with progress completed',
    progress: [0, 50, 100],
    told: true,
  });
});

describe('the Inspector', () => {
  const inspect = (...args: string[]) =>
    run(bin('@modelcontextprotocol/inspector/clients/launcher/build/index.js', '--cli', ...args));

  test.each(['sandbox', 'everything'])(
    'the Inspector finds no fault in the tools of %s (--strict)',
    async (connectorId) => {
      const { accessUrl } = await shop(service, {
        toolMode: 'direct',
        restrictions: { connectors: { allowedIds: [connectorId] } },
      });
      const { code, stdout, stderr } = await inspect(
        accessUrl,
        '--transport',
        'http',
        '--method',
        'tools/list',
        '--strict',
      );
      expect([code, stderr]).toEqual([0, expect.anything()]);
      expect(valueAt(parseJson(stdout), 'tools')).not.toHaveLength(0);
    },
  );

  test('the Inspector calls a tool at the API-key URL', async () => {
    const { code, stdout, stderr } = await inspect(
      one.url,
      '--transport',
      'http',
      '--method',
      'tools/call',
      '--tool-name',
      'sandbox_list_customers',
      '--tool-arg',
      'limit=1',
      '--header',
      `authorization: Bearer ${service.developmentKey}`,
      '--header',
      `x-svc-userid: ${one.userId}`,
    );
    expect([code, stderr]).toEqual([0, expect.anything()]);
    expect(valueAt(parseJson(stdout), 'structuredContent.data')).toHaveLength(1);
  });

  test('the Inspector reaches a server over stdio', async () => {
    const { stdout } = await inspect(
      process.execPath,
      BIN,
      'stdio',
      '--url',
      one.accessUrl,
      '--method',
      'tools/list',
    );
    expect(valueAt(parseJson(stdout), 'tools.0.name')).toBe('list_connectors_svc');
  });
});

test('mcp-remote connects without an invitation to sign in', async () => {
  // It exits when its input ends, so the input stays open.
  const until = 'sandbox_list_customers';
  const { stdout, stderr } = await run(bin('mcp-remote/dist/client.js', one.accessUrl, '--allow-http'), {
    until,
  });
  expect(stdout + stderr).toContain(until);
});

test('mcp-remote passes on calls as a proxy between stdio and the address', async () => {
  const lines = [
    request(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'desktop', version: '1' },
    }),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    request(2, 'tools/call', { name: 'sandbox_list_customers', arguments: { limit: 1 } }),
  ];
  const { stdout } = await run(bin('mcp-remote/dist/proxy.js', one.accessUrl, '--allow-http'), {
    lines,
    until: '"id":2',
  });
  const answer = stdout.split('\n').find((line) => line.includes('"id":2'));
  expect(valueAt(parseJson(answer ?? 'null'), 'result.structuredContent.data')).toHaveLength(1);
});

test.each(['ai-sdk.mjs', 'openai-agents.mjs'])(
  'the agent framework of %s lists and calls tools',
  async (name) => {
    const said = await program(name, one.accessUrl);
    expect(said).toMatchObject({ tools: expect.any(Number) });
    expect(firstCustomer(said)).toBeTruthy();
  },
);

function request(id: number, method: string, params: object) {
  return { jsonrpc: '2.0', id, method, params };
}

/** Returns the customer in the text that a program got from the tool. */
function firstCustomer(said: Json): Json | undefined {
  const text = valueAt(said, 'called.content.0.text');
  return valueAt(parseJson(typeof text === 'string' ? text : 'null'), 'data.0.id');
}

/** Returns the output of a program of programs/: one line of JSON. */
async function program(name: string, ...args: string[]): Promise<Json> {
  const { code, stdout, stderr } = await run([join(folder, name), ...args]);
  const last = stdout.trim().split('\n').at(-1) ?? '';
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr.slice(-2000)}`);
  const said = parseJson(last);
  return isJsonObject(said) ? said : null;
}

function bin(path: string, ...args: string[]): string[] {
  return [join(folder, 'node_modules', path), ...args];
}

/** Runs a Node.js program to its end, or until it has written `until`. */
function run(
  args: string[],
  { lines = [], until }: { lines?: object[]; until?: string } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, HOME: folder },
      stdio: 'pipe',
    });
    let stdout = '';
    let stderr = '';
    const look = () => {
      if (until !== undefined && (stdout + stderr).includes(until)) child.kill();
    };
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk);
      look();
    });
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
      look();
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    for (const line of lines) child.stdin.write(`${JSON.stringify(line)}\n`);
    if (until === undefined) child.stdin.end();
  });
}
