import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectClient } from '../support/mcp.ts';
import { until } from '../support/until.ts';
import { openApp, type TestedApp } from '../sources/app.ts';

/* Calls that the state of their account stops before the app is asked. Their rows name the account. */

let app: TestedApp;
let credentialId: string;
beforeAll(async () => {
  app = await openApp();
  const made = await app.service.call('POST', `/users/${app.userId}/credentials`, {
    headers: { 'x-svc-userid': app.userId },
    body: { connectorId: 'numbered', data: { token: 'x', origin: app.origin } },
  });
  credentialId = made.text('credentialId');
  app.refuseAccount(401);
  await execute();
  app.recover();
});
afterAll(() => app[Symbol.asyncDispose]());

const execute = (body: object = {}) =>
  app.service.call('POST', '/connectors/numbered/actions/list_orders/execute', {
    headers: { 'x-svc-userid': app.userId },
    body: { input: {}, ...body },
  });

/** Returns the failed calls of the account, newest first. */
const callsOfAccount = async (more = '') => {
  await app.service.context.executions.flush();
  return app.service.call('GET', `/api/executions?credentialId=${credentialId}&outcome=failed${more}`);
};
const newest = async (more = '') => {
  const row = (await callsOfAccount(more)).at('data.0');
  // The next call is later, so that it comes before this one.
  app.clock.advance(1000);
  return row;
};

test('a call over REST that a refused account stops names the account', async () => {
  // The refused call is written later than its answer.
  await app.service.context.executions.flush();
  const used = await app.service.call('GET', `/users/${app.userId}/credentials/${credentialId}`, {
    headers: { 'x-svc-userid': app.userId },
  });
  expect(used.at('state')).toBe('needs_reconnect');
  app.clock.advance(600_000);
  for (const body of [{}, { credentialId }]) {
    const answer = await execute(body);
    expect(answer.at('code')).toBe('credential_invalid');
    const row = {
      requestId: answer.headers.get('x-request-id'),
      errorCode: 'credential_invalid',
      credentialId,
    };
    expect(await newest(`&userId=${app.userId}`)).toMatchObject({ ...row, upstreamStatus: null });
  }
  expect((await callsOfAccount('&userId=usr_other')).at('data')).toEqual([]);
  const still = await app.service.call('GET', `/users/${app.userId}/credentials/${credentialId}`, {
    headers: { 'x-svc-userid': app.userId },
  });
  expect(still.at('lastUsedAt')).toBe(used.at('lastUsedAt'));
});

test('a tool and a program that a refused account stops name the account', async () => {
  const server = await app.service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': app.userId },
    body: { name: 'agent', codeMode: 'on' },
  });
  const client = await connectClient(server.text('accessUrl'));
  const parameters = { connectorId: 'numbered', actionId: 'list_orders', parameters: {} };
  await client.callTool({ name: 'execute_action_svc', arguments: parameters });
  const serverId = server.text('serverId');
  expect(await newest()).toMatchObject({ serverId, programId: null, errorCode: 'credential_invalid' });
  const code = 'try { await numbered.list_orders({}) } catch (error) { return error.code }';
  const ran = await client.callTool({ name: 'run_code_svc', arguments: { code } });
  expect(ran.structuredContent).toMatchObject({ value: 'credential_invalid' });
  expect(await newest()).toMatchObject({ serverId, programId: expect.stringMatching(/^prog_/) });
  await client.close();
});

test('a unified read that a refused account stops names the account', async () => {
  const read = await app.service.call('GET', `/2023-03/one/commerce/orders?connectionId=${credentialId}`);
  expect(read.at('code')).toBe('credential_invalid');
  expect(await newest()).toMatchObject({ requestId: read.headers.get('x-request-id'), credentialId });
});

test('a step of a workflow that a refused account stops names the account', async () => {
  await app.service.call('POST', `/users/${app.userId}/credentials/${credentialId}/check`, {
    headers: { 'x-svc-userid': app.userId },
  });
  const workflow = await app.service.call('POST', '/workflows', {
    body: {
      name: 'orders',
      definition: {
        trigger: { type: 'manual' },
        steps: [{ stepId: 'orders', connectorId: 'numbered', actionId: 'list_orders', input: {} }],
      },
    },
  });
  const path = `/workflows/${workflow.text('workflowId')}`;
  const installed = await app.service.call('POST', `${path}/install?userId=${app.userId}`, { body: {} });
  expect(installed.status).toBe(201);
  app.refuseAccount(401);
  await execute();
  app.recover();
  app.clock.advance(1000);
  const started = await app.service.call('POST', `${path}/run?userId=${app.userId}`, { body: {} });
  const runId = started.text('runId');
  await until(async () => (await app.service.call('GET', `${path}/runs/${runId}`)).at('status') === 'failed');
  expect(await newest()).toMatchObject({ caller: `run:${runId}`, errorCode: 'credential_invalid' });
});
