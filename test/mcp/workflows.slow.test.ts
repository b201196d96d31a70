import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdAnswer, SLOW } from '../support/held-answers.ts';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import type { Service } from '../support/service.ts';
import { manual, message } from '../support/workflows.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const greeting = {
  trigger: {
    type: 'manual',
    inputSchema: {
      properties: { name: { type: 'string', description: 'Whom to greet.' } },
      required: ['name'],
    },
  },
  steps: [message('send', '="Hello " & trigger.input.name')],
};

async function installed(definition: unknown, name: string, server: Parameters<typeof shop>[1] = {}) {
  const one = await shop(service, server);
  const made = await service.call('POST', '/workflows', { body: { name, definition } });
  const workflowId = made.text('workflowId');
  const done = await service.call('POST', `/workflows/${workflowId}/install?userId=${one.userId}`, {
    body: {},
  });
  expect(done.status).toBe(201);
  return { ...one, workflowId };
}

const names = async (url: string) => {
  const answer = await rpc(url, 'tools/list');
  const tools = answer.at('result.tools');
  return Array.isArray(tools) ? tools.map((one) => JSON.stringify(one)) : [];
};
const run = (url: string, name: string, args: object) => rpc(url, 'tools/call', { name, arguments: args });

/** Returns whether a tool, by its name or its text, runs a workflow. Names of built-in tools end in `_svc`. */
const isOfWorkflow = (text: string) => /(^|")run_(?!\w*_svc\b)/.test(text);

describe('an installed workflow with a manual trigger', () => {
  test('an installed workflow is a tool that returns the output of its last step', async () => {
    const { accessUrl } = await installed(greeting, 'Grüße someone!');
    const client = await connectClient(accessUrl);
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => isOfWorkflow(name));
    expect(tool?.inputSchema).toMatchObject({
      properties: { name: { description: 'Whom to greet.' } },
      required: ['name'],
    });
    expect(tool?.annotations).toEqual({ destructiveHint: false });
    const answer = await client.callTool({ name: tool?.name ?? '', arguments: { name: 'Bob' } });
    expect(answer.structuredContent).toMatchObject({ status: 'succeeded', data: { text: 'Hello Bob' } });
    await client.close();
  });

  test('an installed workflow is a tool in every mode, and only for its own user', async () => {
    const { accessUrl } = await installed(greeting, 'bare one');
    const stranger = await shop(service);
    expect((await names(accessUrl)).some((text) => text.includes('"run_bare_one"'))).toBe(true);
    expect((await names(stranger.accessUrl)).some(isOfWorkflow)).toBe(false);
    const answer = await run(stranger.accessUrl, 'run_bare_one', { name: 'x' });
    expect(answer.at('error.code')).toBe(-32602);
    const direct = await installed(greeting, 'direct one', { toolMode: 'direct' });
    const list = await names(direct.accessUrl);
    expect(list.some((text) => text.includes('"run_direct_one"'))).toBe(true);
    expect(list.some((text) => text.includes('"sandbox_list_orders"'))).toBe(true);
    const discovery = await installed(greeting, 'discovery one', { toolMode: 'discovery' });
    expect((await names(discovery.accessUrl)).some(isOfWorkflow)).toBe(false);
  });

  test('an installed workflow reports wrong input by field, and the step that failed', async () => {
    const { accessUrl } = await installed(greeting, 'strict one');
    const wrong = await run(accessUrl, 'run_strict_one', { name: 7 });
    expect(wrong.at('result.isError')).toBe(true);
    expect(wrong.at('result.structuredContent.error.details.faults.0.field')).toBe('input.name');
    const failing = await installed(
      manual([{ stepId: 'gate', connectorId: 'sandbox', actionId: 'fail', input: { status: 422 } }]),
      'failing one',
    );
    const failed = await run(failing.accessUrl, 'run_failing_one', {});
    expect(failed.at('result.structuredContent.error.code')).toBe('upstream_rejected');
    expect(JSON.stringify(failed.body)).toContain('gate');
  });

  test('an installed workflow is not listed while disabled or after it is uninstalled', async () => {
    const { accessUrl, userId, workflowId } = await installed(greeting, 'off one');
    const path = `/workflows/${workflowId}/install?userId=${userId}`;
    await service.call('PUT', path, { body: { enabled: false } });
    const isListed = async () => (await names(accessUrl)).some(isOfWorkflow);
    await expect.poll(isListed).toBe(false);
    await service.call('PUT', path, { body: { enabled: true } });
    await expect.poll(isListed).toBe(true);
    await service.call('DELETE', path);
    const code = async () => (await run(accessUrl, 'run_off_one', { name: 7 })).at('error.code');
    await expect.poll(code).toBe(-32602);
  });
});

describe('the restrictions of a server hold for workflows', () => {
  test.each<[string, object, string]>([
    [
      'a blocked action',
      { actions: { mode: 'blocklist', blockedActions: ['send_message'] } },
      'actions.blockedActions',
    ],
    [
      'a connector that is not allowed',
      { connectors: { mode: 'allowlist', allowedIds: ['slack'] } },
      'connectors.allowedIds',
    ],
    ['an effect that is not allowed', { effects: { allowed: ['read'] } }, 'effects.allowed'],
    ['an effect that its user would be asked about', { confirm: ['write'] }, 'confirm'],
  ])('%s hides the tool and refuses the call', async (_, restrictions, rule) => {
    const name = `kept ${Math.random()}`;
    const { accessUrl } = await installed(greeting, name, { restrictions });
    expect((await names(accessUrl)).some(isOfWorkflow)).toBe(false);
    const tool = `run_${name.replaceAll(/[^a-z0-9]+/g, '_')}`;
    const answer = await run(accessUrl, tool, { name: 'x' });
    expect([answer.at('error.code'), answer.at('error.data.rule')]).toEqual([-32003, rule]);
  });

  test('an http step is the action http.request', async () => {
    const definition = {
      ...manual([{ stepId: 'call', http: { method: 'GET', url: 'https://example.com/x' } }]),
      allowedHosts: ['example.com'],
    };
    const open = await installed(definition, 'http open');
    expect((await names(open.accessUrl)).some((text) => text.includes('"run_http_open"'))).toBe(true);
    const closed = await installed(definition, 'http closed', {
      restrictions: { actions: { mode: 'allowlist', allowedActions: ['sandbox.*'] } },
    });
    expect((await names(closed.accessUrl)).some(isOfWorkflow)).toBe(false);
  });

  test('an http step has the effect of its method', async () => {
    const definition = {
      ...manual([{ stepId: 'call', http: { method: 'DELETE', url: 'https://example.com/x' } }]),
      allowedHosts: ['example.com'],
    };
    const { accessUrl } = await installed(definition, 'http delete', {
      restrictions: { effects: { allowed: ['read', 'write'] } },
    });
    const answer = await run(accessUrl, 'run_http_delete', {});
    expect(answer.at('error.data.rule')).toBe('effects.allowed');
  });

  test.each<[string, object, string]>([
    ['overtaken one', { actions: { mode: 'blocklist', blockedActions: ['send_message'] } }, 'restricted'],
    ['narrowed one', { effects: { allowed: ['read'] } }, 'restricted'],
    ['careful one', { confirm: ['write'] }, 'confirmation_required'],
  ])(
    'a restriction that comes during a run holds from its next step on: %s',
    async (name, restrictions, code) => {
      const { accessUrl, serverId, workflowId } = await installed(
        manual([
          { stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 0 } },
          message('send', 'after the restriction'),
        ]),
        name,
      );
      const step = holdAnswer(service, SLOW);
      const called = run(accessUrl, `run_${name.replace(' ', '_')}`, {});
      await step.asked;
      await service.call('PUT', `/api/servers/${serverId}`, {
        body: { restrictions },
      });
      step.release();
      expect((await called).at('result.structuredContent.error.code')).toBe(code);
      const runs = await service.call('GET', `/workflows/${workflowId}/runs`);
      expect(runs.at('data.0.error.stepId')).toBe('send');
    },
  );
});
