import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { createMcpCore } from '../../src/mcp/server/server.ts';
import { programProcesses } from '../support/children.ts';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Programs that run to their end, over the official client. */
describe.each(STORE_KINDS)('programs over %s', (kind) => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  let client: Client;
  beforeAll(async () => {
    service = await startService({ kind });
    one = await shop(service, { restrictions: { effects: { allowed: ['read', 'write'] } } });
    client = await connectClient(one.accessUrl);
  });
  afterAll(async () => {
    await client?.close();
    await service?.stop();
  });

  const answerOf = async (name: string, args: JsonObject): Promise<(path: string) => Json | undefined> => {
    const { structuredContent } = await client.callTool({ name, arguments: args });
    return (path) => valueAt(JSON.parse(JSON.stringify(structuredContent)), path);
  };
  const run = (code: string) => answerOf('run_code_svc', { code });
  const valueOf = async (code: string) => (await run(code))('value');

  test('a sum over all pages of a list reaches the model, and the records do not', async () => {
    const answer = await run(SUM);
    expect(answer('value')).toMatchObject({ orders: 240 });
    expect(answer('calls')).toHaveLength(5);
    expect(answer('calls.0')).toMatchObject({
      connectorId: 'sandbox',
      actionId: 'list_orders',
      outcome: 'succeeded',
      executionId: expect.stringMatching(/^exe_/),
    });
  });

  test('the example of docs/mcp.md runs', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/mcp.md'), 'utf8');
    const [, code = ''] = /```javascript\n([\s\S]*?)```/.exec(page) ?? [];
    expect(await valueOf(code)).toMatchObject({ EUR: expect.any(Number) });
  });

  test('executions name their program, and a filter finds them', async () => {
    const answer = await run('await sandbox.get_product({ productId: "prd_101" }); return null');
    await service.context.executions.flush();
    const executionId = String(answer('calls.0.executionId'));
    const execution = await service.call('GET', `/api/executions/${executionId}`);
    const programId = execution.text('programId');
    expect(programId).toMatch(/^prog_/);
    expect(answer('programId')).toBe(programId);
    const found = await service.call('GET', `/api/executions?programId=${programId}`);
    expect(found.at('data.0.executionId')).toBe(executionId);
    expect(found.at('data.1')).toBeUndefined();
  });

  test('a refusal is an exception with code, message and details', async () => {
    const caught = (call: string) =>
      valueOf(`try { ${call} } catch (e) { return { ...e, message: e.message } }`);
    expect(await caught('await sandbox.get_customer({ customerId: "cus_0" })')).toMatchObject({
      code: 'upstream_rejected',
      message: expect.stringContaining('No customer has the id'),
      details: { status: 404 },
    });
    expect(await caught('await sandbox.delete_customer({ customerId: "cus_1001" })')).toMatchObject({
      code: 'restricted',
      details: { rule: expect.stringContaining('effects') },
    });
    expect(await caught('await sandbox.get_custoner({})')).toMatchObject({
      code: 'action_not_found',
      message: expect.stringContaining('get_customer'),
    });
    expect(await caught('await sandbox.list_orders({ limit: "many" })')).toMatchObject({
      code: 'invalid_request',
    });
    expect(await caught('await sandbox.list_orders({}, { credentialId: "cred_other" })')).toMatchObject({
      code: 'credential_not_found',
    });
  });

  test('an exception that is not caught fails the program with its line and calls', async () => {
    const answer = await run(
      'const { data } = await sandbox.list_products({ limit: 1 });\n\nthrow new Error(data[0].id);',
    );
    expect(answer('error')).toMatchObject({
      code: 'program_failed',
      details: { line: 3, calls: [{ actionId: 'list_products', outcome: 'succeeded' }] },
    });
    expect(answer('error.details.message')).toMatch(/^Error: prd_/);
  });

  test('a connector without an account fails the program with a link to connect one', async () => {
    const answer = await run('return await notion.list_users()');
    expect(answer('error.details.connectUrl')).toContain('/connect/s/');
    expect(answer('error.details.refusal.code')).toBe('credential_required');
  });

  test('equal writes of one program run, and those of another program are held', async () => {
    const write = `await sandbox.send_message({ to: 'ada@example.com', text: 'equal' }`;
    expect(await valueOf(`${write}); ${write}); return 'both'`)).toBe('both');
    const held = `try { ${write}); return 'ran' } catch (error) { return error.code }`;
    expect(await valueOf(held)).toBe('possible_duplicate');
    expect(await valueOf(`${write}, { again: true }); return 'ran'`)).toBe('ran');
  });

  test('a program finds and reads actions', async () => {
    const found = await valueOf(`
      const [first] = await gatehouse.search('list the orders of the sandbox');
      return gatehouse.describe(first.connectorId + '.' + first.actionId);`);
    expect(found).toMatchObject({
      connectorId: 'sandbox',
      actionId: 'list_orders',
      inputSchema: expect.anything(),
    });
  });

  test('the log says that a search named an app without a connector', async () => {
    const answer = await run('return (await gatehouse.search("create a Zendesk ticket")).length');
    expect(answer('value')).toBeGreaterThan(0);
    expect(answer('logs')).toEqual([expect.stringContaining('no actions of Zendesk')]);
  });

  test('a program may declare the name of a connector, and types of TypeScript', async () => {
    expect(await valueOf('const square = (x: number): number => x * x;\nreturn square(7);')).toBe(49);
  });

  test('lines of the log are returned up to a limit', async () => {
    const answer = await run('console.log("a", { b: 1 }); console.log("x".repeat(20_000)); return undefined');
    expect(answer('value')).toBeNull();
    expect(answer('logs')).toEqual(['a {"b":1}', expect.stringContaining('1 more left out')]);
  });

  test('a value that is too large is stored, and read_result_svc reads it', async () => {
    const answer = await run('return Array.from({ length: 5000 }, (_, n) => ({ n, text: "order " + n }))');
    expect(answer('value')).toBeUndefined();
    const resultId = String(answer('result.resultId'));
    const read = await answerOf('read_result_svc', { resultId, expression: '$sum(n)' });
    expect(read('data')).toBe((4999 * 5000) / 2);
  });

  test('codeMode decides whether programs are listed and run', async () => {
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    expect(await names()).toContain('run_code_svc');
    const put = (body: object) => service.call('PUT', `/api/servers/${one.serverId}`, { body });
    const few = { connectors: { allowedIds: ['sandbox'] } };
    expect((await put({ restrictions: few })).at('codeMode')).toBe('auto');
    await expect.poll(names).not.toContain('run_code_svc');
    await put({ codeMode: 'on' });
    await expect.poll(names).toEqual(expect.arrayContaining(['run_code_svc', 'resume_code_svc']));
    await put({ codeMode: 'off' });
    await expect.poll(names).not.toContain('run_code_svc');
    await put({ codeMode: 'auto', restrictions: {} });
    await expect.poll(names).toContain('run_code_svc');
  });

  test.each(['auto', 'off'])(
    'a server that lists no programs runs none, with codeMode %s',
    async (codeMode) => {
      const few = await shop(service, {
        codeMode,
        restrictions: { connectors: { allowedIds: ['sandbox'] } },
      });
      const { accessUrl, serverId, userId } = few;
      const session = await connectClient(accessUrl);
      const calls: { name: string; arguments: JsonObject }[] = [
        { name: 'run_code_svc', arguments: { code: 'return 7 * 6' } },
        { name: 'Run_Code_Svc', arguments: {} },
        { name: 'resume_code_svc', arguments: { programId: 'prog_unknown' } },
      ];
      for (const call of calls) {
        const refusals = [
          await rpc(accessUrl, 'tools/call', call),
          await modern(accessUrl, 'tools/call', call),
        ];
        for (const refusal of refusals)
          expect(refusal.at('error')).toMatchObject({
            code: -32602,
            message: expect.stringContaining('There is no tool'),
          });
        await expect(session.callTool(call)).rejects.toMatchObject({ code: -32602 });
        const rest = await service.call('POST', `/api/servers/${serverId}/call-tool`, {
          body: { userId, ...call },
        });
        expect([rest.status, rest.at('code')]).toEqual([400, 'invalid_request']);
      }
      await session.close();
    },
  );

  test.runIf(process.platform === 'linux')(
    'a list of tools prepares a process with codeMode on',
    async () => {
      const started = programsFromNow();
      const other = await startService({ kind });
      const { accessUrl } = await shop(other, { codeMode: 'on' });
      // A start prepares one for the newest server only.
      await shop(other, {});
      const lister = await connectClient(accessUrl);
      await lister.listTools();
      await lister.listTools();
      await expect.poll(started).toBe(1);
      await lister.callTool({ name: 'run_code_svc', arguments: { code: 'return 1' } });
      expect(started()).toBe(1);
      await lister.close();
      await other.stop();
      expect(started()).toBe(0);
    },
  );

  test.runIf(process.platform === 'linux')(
    'a start prepares a process for a server with codeMode on',
    async () => {
      const started = programsFromNow();
      await using other = await startService({ kind });
      await shop(other, { codeMode: 'on' });
      const core = await createMcpCore(other.context);
      await core.warmUp();
      await expect.poll(started).toBe(1);
      await core.close();
    },
  );
});

/** Counts the running processes of programs that started after this call. Earlier ones may end at any time. */
function programsFromNow(): () => number {
  const earlier = new Set(programProcesses().map(({ pid }) => pid));
  return () => programProcesses().filter(({ pid }) => !earlier.has(pid)).length;
}

const SUM = `
let [sum, orders, offset] = [0, 0, 0];
for (;;) {
  const { data, pagination } = await sandbox.list_orders({ limit: 50, offset });
  orders += data.length;
  for (const { total } of data) sum += Number(total);
  if (!pagination.hasMore) return { orders, sum };
  offset = pagination.nextOffset;
}`;
