import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { MINUTE } from '../../src/lib/clock.ts';
import { valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { manualClock } from '../support/clock.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Programs whose calls need the agreement of their user. Two processes share a store. */
describe.each(STORE_KINDS)('programs that wait, over %s', (kind) => {
  const clock = manualClock();
  let first: Service;
  let second: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  const clients: Client[] = [];
  beforeAll(async () => {
    first = await startService({ kind, clock });
    second = await startService({ env: first.env, clock });
    one = await shop(first, { restrictions: { confirm: ['destructive'] } });
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    await second?.stop();
    await first?.stop();
  });

  const clientAt = async (service: Service, url = one.accessUrl): Promise<Client> => {
    const client = await connectClient(url.replace(first.url, service.url));
    clients.push(client);
    return client;
  };
  const call = async (client: Client, name: string, args: JsonObject) => {
    const { structuredContent } = await client.callTool({ name, arguments: args });
    return (path: string): Json | undefined => valueAt(JSON.parse(JSON.stringify(structuredContent)), path);
  };
  const codeFor = (customerId: string) => `
    const seed = [Math.random(), Date.now()];
    const made = await sandbox.send_message({ to: 'ada@example.com', text: 'once ' + seed[0] });
    await sandbox.delete_customer({ customerId: '${customerId}' });
    return { seed, made: made.data.id ?? null };`;
  const messages = async (client: Client, text: string) => {
    const all = await call(client, 'run_code_svc', {
      code: `
        const found = [];
        for (let offset = 0; ; ) {
          const { data, pagination } = await sandbox.list_messages({ limit: 50, offset });
          found.push(...data.filter((one) => one.text === ${JSON.stringify(text)}));
          if (!pagination.hasMore) return found.length;
          offset = pagination.nextOffset;
        }`,
    });
    return all('value');
  };

  test('a program goes on in another process without repeating its calls, once', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1001') });
    expect(waiting('status')).toBe('waiting');
    expect(waiting('question')).toContain('cus_1001');
    expect(waiting('calls')).toMatchObject([{ actionId: 'send_message', outcome: 'succeeded' }]);
    const args = {
      programId: String(waiting('programId')),
      confirmationToken: String(waiting('confirmationToken')),
    };

    const other = await clientAt(second);
    clock.advance(MINUTE);
    const ended = await call(other, 'resume_code_svc', args);
    expect(ended('calls')).toMatchObject([
      { actionId: 'send_message', outcome: 'succeeded' },
      { actionId: 'delete_customer', outcome: 'succeeded' },
    ]);
    // The program saw the same chance and time before and after it waited.
    expect(await messages(client, `once ${String(ended('value.seed.0'))}`)).toBe(1);
    expect(Number(ended('value.seed.1'))).toBeLessThan(clock.now());

    const again = await call(client, 'resume_code_svc', args);
    expect(again('error.code')).toBe('program_not_waiting');
  });

  test('one of two resumptions at the same time goes on', async () => {
    const client = await clientAt(first);
    const other = await clientAt(second);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1002') });
    const args = {
      programId: String(waiting('programId')),
      confirmationToken: String(waiting('confirmationToken')),
    };
    const answers = await Promise.all([client, other].map((from) => call(from, 'resume_code_svc', args)));
    const codes = answers.map((answer) => answer('error.code') ?? 'ended');
    expect(codes.toSorted()).toEqual(['ended', 'program_not_waiting']);
  });

  test('a program of another user or an unknown one is not found', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1003') });
    const stranger = await shop(first, { restrictions: { confirm: ['destructive'] } });
    const strange = await clientAt(first, stranger.accessUrl);
    for (const programId of [String(waiting('programId')), 'prog_unknown']) {
      const refused = await call(strange, 'resume_code_svc', {
        programId,
        confirmationToken: String(waiting('confirmationToken')),
      });
      expect(refused('error.code')).toBe('program_not_found');
    }
  });

  test('a wrong token is refused, and the program waits on', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1004') });
    const programId = String(waiting('programId'));
    const refused = await call(client, 'resume_code_svc', { programId, confirmationToken: 'gh_confirm_no' });
    expect(refused('error')).toMatchObject({ code: 'confirmation_required', details: { reason: 'altered' } });
    const asked = await call(client, 'resume_code_svc', { programId });
    expect(asked('confirmationToken')).toBe(waiting('confirmationToken'));
  });

  test('a token of a program runs only the call that its user saw', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1005') });
    const refused = await call(client, 'execute_action_svc', {
      connectorId: 'sandbox',
      actionId: 'delete_customer',
      parameters: { customerId: 'cus_1006' },
      confirmationToken: String(waiting('confirmationToken')),
    });
    expect(refused('error.details.reason')).toBe('altered');
  });

  test('restrictions that change while a program waits hold when it goes on', async () => {
    const changing = await shop(first, { restrictions: { confirm: ['destructive'] } });
    const client = await clientAt(first, changing.accessUrl);
    const waiting = await call(client, 'run_code_svc', {
      code: `try { await sandbox.delete_customer({ customerId: 'cus_1001' }); return 'deleted' } catch (e) { return e.code }`,
    });
    await first.call('PUT', `/api/servers/${changing.serverId}`, {
      body: { restrictions: { actions: { blockedActions: ['delete_customer'] } } },
    });
    const ended = await call(client, 'resume_code_svc', {
      programId: String(waiting('programId')),
      confirmationToken: String(waiting('confirmationToken')),
    });
    expect(ended('value')).toBe('restricted');
  });

  test('a program that waits goes on where programs are no longer listed', async () => {
    const changing = await shop(first, { restrictions: { confirm: ['destructive'] } });
    const client = await clientAt(first, changing.accessUrl);
    const code = `await sandbox.delete_customer({ customerId: 'cus_1001' }); return 'deleted'`;
    const asks = { capabilities: { elicitation: { form: {} } } };
    const program = { name: 'run_code_svc', arguments: { code } };
    const put = (body: object) => first.call('PUT', `/api/servers/${changing.serverId}`, { body });
    const waiting = await call(client, 'run_code_svc', { code });
    const asked = await modern(changing.accessUrl, 'tools/call', program, asks);
    const few = { confirm: ['destructive'], connectors: { allowedIds: ['sandbox'] } };
    await put({ restrictions: few });
    await expect(client.callTool({ name: 'run_code_svc', arguments: { code } })).rejects.toMatchObject({
      code: -32602,
    });
    const args = {
      programId: String(waiting('programId')),
      confirmationToken: String(waiting('confirmationToken')),
    };
    await put({ codeMode: 'off' });
    expect((await call(client, 'resume_code_svc', args))('error.details.rule')).toBe('codeMode');
    await put({ codeMode: 'auto' });
    expect((await call(client, 'resume_code_svc', args))('value')).toBe('deleted');
    const repeated = {
      ...program,
      inputResponses: { confirm: { action: 'decline', content: {} } },
      requestState: asked.at('result.requestState') ?? null,
    };
    const ended = await modern(changing.accessUrl, 'tools/call', repeated, asks);
    expect(ended.at('result.structuredContent.error.details.refusal.code')).toBe('confirmation_declined');
  });

  test('a resumed program that waits for something that never comes ends in words', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', {
      code: `${codeFor('cus_1014').replace(/return .*/s, '')} await new Promise(() => {});`,
    });
    const programId = String(waiting('programId'));
    const args = { programId, confirmationToken: String(waiting('confirmationToken')) };
    const ended = await call(client, 'resume_code_svc', args);
    expect(ended('error')).toMatchObject({
      code: 'program_failed',
      message: expect.stringContaining('waits for something that never comes'),
      details: { programId, calls: [{ actionId: 'send_message' }, { actionId: 'delete_customer' }] },
    });
    expect((await call(client, 'resume_code_svc', args))('error.code')).toBe('program_not_waiting');
  });

  test('a program that waited for ten minutes is gone, and its row is deleted', async () => {
    const client = await clientAt(first);
    const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1007') });
    clock.advance(10 * MINUTE);
    const late = await call(client, 'resume_code_svc', {
      programId: String(waiting('programId')),
      confirmationToken: String(waiting('confirmationToken')),
    });
    expect(late('error.code')).toBe('program_not_found');
    await deleteOldRows(first.context.db, clock.now());
    const rows = await first.context.db.selectFrom('programs').select('program_id').execute();
    expect(rows.map(({ program_id: id }) => id)).not.toContain(waiting('programId'));
  });

  test('two calls at the same time are agreed to one after the other', async () => {
    const client = await clientAt(first);
    const code = `
      const both = ['cus_1008', 'cus_1009'].map((customerId) => sandbox.delete_customer({ customerId }));
      await Promise.all(both);
      return 'both';`;
    const asked = await call(client, 'run_code_svc', { code });
    const programId = String(asked('programId'));
    const next = await call(client, 'resume_code_svc', {
      programId,
      confirmationToken: String(asked('confirmationToken')),
    });
    expect(next('status')).toBe('waiting');
    expect(next('question')).not.toBe(asked('question'));
    const ended = await call(client, 'resume_code_svc', {
      programId,
      confirmationToken: String(next('confirmationToken')),
    });
    expect(ended('value')).toBe('both');
    expect(ended('calls')).toHaveLength(2);
  });

  describe('with a client that asks its user', () => {
    const asking = async (answer: () => 'accept' | 'decline' | 'cancel') => {
      const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: {} } });
      const questions: string[] = [];
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        questions.push(params.message);
        return { action: answer(), content: {} };
      });
      await client.connect(new StreamableHTTPClientTransport(new URL(one.accessUrl)));
      clients.push(client);
      return { client, questions };
    };

    test('the same call goes on once the user agrees', async () => {
      const { client, questions } = await asking(() => 'accept');
      const ended = await call(client, 'run_code_svc', { code: codeFor('cus_1010') });
      expect(questions).toEqual([expect.stringContaining('cus_1010')]);
      expect(ended('calls')).toHaveLength(2);
      expect(await messages(client, `once ${String(ended('value.seed.0'))}`)).toBe(1);
    });

    test('a call without agreement throws inside of the program', async () => {
      const { client } = await asking(() => 'decline');
      const ended = await call(client, 'run_code_svc', {
        code: `try { await sandbox.delete_customer({ customerId: 'cus_1011' }) } catch (e) { return e.code }`,
      });
      expect(ended('value')).toBe('confirmation_declined');
    });

    test('a client of MCP 2026-07-28 repeats its request with the answer, once', async () => {
      const asks = { capabilities: { elicitation: { form: {} } } };
      const repeat = (more: JsonObject = {}) =>
        modern(
          one.accessUrl,
          'tools/call',
          { name: 'run_code_svc', arguments: { code: codeFor('cus_1013') }, ...more },
          asks,
        );
      const asked = await repeat();
      expect(asked.at('result')).toMatchObject({
        resultType: 'input_required',
        inputRequests: { confirm: { method: 'elicitation/create' } },
      });
      const answer = {
        inputResponses: { confirm: { action: 'accept', content: {} } },
        requestState: asked.at('result.requestState') ?? null,
      };
      const ended = await repeat(answer);
      expect(ended.at('result.structuredContent.calls')).toHaveLength(2);
      const seed = String(ended.at('result.structuredContent.value.seed.0'));
      const reader = await clientAt(first);
      expect(await messages(reader, `once ${seed}`)).toBe(1);
      const again = await repeat(answer);
      expect(again.at('error.data.code')).toBe('request_state_invalid');
    });

    test('a program waits on when the user closes the question', async () => {
      let answer: 'accept' | 'cancel' = 'cancel';
      const { client, questions } = await asking(() => answer);
      const waiting = await call(client, 'run_code_svc', { code: codeFor('cus_1012') });
      expect(waiting('status')).toBe('waiting');
      answer = 'accept';
      const ended = await call(client, 'resume_code_svc', { programId: String(waiting('programId')) });
      expect(ended('calls')).toHaveLength(2);
      expect(questions).toHaveLength(2);
    });
  });
});
