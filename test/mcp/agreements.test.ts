import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { rpc, type RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { startThirdParty, type ThirdParty } from '../support/third-party.ts';

/*
 * An agreement of the user is used once (MCP 2026-07-28), even when the request is repeated. The app asks before it
 * pays. Two processes share one store.
 */

const APP = `id: bank
name: Bank
description: An app of the tests.
categories: [data]
website: https://bank.example.com
sources: [{title: The tests themselves, read: 2026-11-21}]
baseUrl: '{origin}'
variables:
  origin: {title: Address, format: origin}
authentication: [{type: bearer}]
actions:
  pay: {description: Pays., effect: write, request: POST /pay, response: {body: content}}
  close_account: {description: Closes., effect: destructive, request: POST /close, response: {body: content}}
`;

const form = { method: 'elicitation/create', params: { message: 'Really?', requestedSchema: {} } };
const asks = { capabilities: { elicitation: { form: {} }, sampling: {} } };
const agreed = { action: 'accept', content: {} };

let folder: string;
let app: ThirdParty;
let services: Service[];
let url: string;
/** Payments that the app made. */
let effects = 0;
/** The app answers after it. */
let answered = Promise.resolve();
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-agreements-'));
  mkdirSync(join(folder, 'catalog', 'bank'), { recursive: true });
  writeFileSync(join(folder, 'catalog', 'bank', 'connector.yaml'), APP);
  app = await startThirdParty();
  app.answer = ({ body }) => {
    const { inputResponses = {} } = JSON.parse(body || '{}');
    if (!inputResponses.really) return { status: 200, body: { inputRequests: { really: form } } };
    effects++;
    return { status: 200, body: { content: [{ type: 'text', text: 'Done.' }] }, after: answered };
  };
  const options = { env: { GATEHOUSE_HOME: folder }, catalogFolder: join(folder, 'catalog') };
  services = [await startService(options), await startService(options)];
  const [service] = services;
  if (!service) throw new Error('no service');
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const headers = { 'x-svc-userid': userId };
  await service.call('POST', `/users/${userId}/credentials`, {
    headers,
    body: { connectorId: 'bank', data: { token: 'bank_token', origin: app.origin } },
  });
  const restrictions = { confirm: ['destructive'] };
  const body = { name: 'bank', toolMode: 'direct', restrictions, duplicateGuard: 'off' };
  url = (await service.call('POST', '/api/servers', { headers, body })).text('accessUrl');
});
afterAll(async () => {
  for (const service of services) await service.stop();
  await app[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  effects = 0;
  answered = Promise.resolve();
});

/** Sends one request to either of the two processes. */
function call(
  name: string,
  more: JsonObject = {},
  { at = 0, signal }: { at?: number; signal?: AbortSignal } = {},
) {
  const there = url.replace(services[0]?.url ?? '', services[at]?.url ?? '');
  return modern(
    there,
    'tools/call',
    { name, arguments: {}, ...more },
    { ...asks, ...(signal ? { signal } : {}) },
  );
}

const answering = (asked: RpcAnswer, key: string): JsonObject => ({
  inputResponses: { [key]: agreed },
  requestState: stateOf(asked),
});
function stateOf(asked: RpcAnswer): Json {
  expect(asked.at('result.resultType')).toBe('input_required');
  return asked.at('result.requestState') ?? null;
}
const outcome = (answer: RpcAnswer) => answer.at('error.data.code') ?? answer.at('result.content.0.text');

/** The last request of a call that the user agreed to and that its app asked about. */
async function finalRequest() {
  const asked = await call('bank_close_account');
  expect(asked.at('result.inputRequests')).toHaveProperty('confirm');
  const again = await call('bank_close_account', answering(asked, 'confirm'));
  expect(again.at('result.inputRequests')).toHaveProperty('really');
  expect(effects).toBe(0);
  return answering(again, 'really');
}

/** Blocks the store when a request begins to use its state, and returns a function that ends the block. */
function blockUse({ context: { db } }: Service): Promise<() => Promise<void>> {
  const gate = Promise.withResolvers<void>();
  const insertInto = db.insertInto.bind(db);
  return new Promise((resolve) => {
    const value = (...args: Parameters<typeof insertInto>) => {
      if (args[0] === 'spent_tokens') {
        Reflect.deleteProperty(db, 'insertInto');
        const blocked = db.transaction().execute(() => gate.promise);
        resolve(() => {
          gate.resolve();
          return blocked;
        });
      }
      return insertInto(...args);
    };
    Object.defineProperty(db, 'insertInto', { configurable: true, value });
  });
}

/** Sends a request, and disconnects while the use of its state waits for the store. */
async function hangUp(request: JsonObject): Promise<void> {
  const [service] = services;
  if (!service) throw new Error('no service');
  const closed = new Promise((resolve) =>
    service.app.server.once('request', (_req, res) => res.once('close', resolve)),
  );
  const used = blockUse(service);
  const leave = new AbortController();
  const lost = call('bank_close_account', request, { signal: leave.signal });
  const unblock = await used;
  leave.abort();
  await expect(lost).rejects.toThrow('abort');
  await closed;
  await unblock();
}

describe('an agreement of several requests', () => {
  test('an agreement of several requests runs its call once when the last is repeated', async () => {
    const last = await finalRequest();
    expect(outcome(await call('bank_close_account', last))).toBe('Done.');
    for (const at of [0, 1, 0]) {
      const repeated = await call('bank_close_account', last, { at });
      expect([repeated.status, outcome(repeated)]).toEqual([200, 'request_state_invalid']);
      expect(repeated.at('error.message')).toContain('already used');
    }
    expect(effects).toBe(1);
  });

  test('an agreement runs its call once when two processes get its last request', async () => {
    const last = await finalRequest();
    const outcomes = await Promise.all(
      [0, 1, 0, 1, 0, 1].map(async (at) => outcome(await call('bank_close_account', last, { at }))),
    );
    expect(outcomes.filter((one) => one === 'Done.')).toHaveLength(1);
    expect(outcomes.filter((one) => one === 'request_state_invalid')).toHaveLength(5);
    expect(effects).toBe(1);
  });

  test('an agreement is not multiplied by repeating a middle request', async () => {
    const asked = await call('bank_close_account');
    const middle = answering(asked, 'confirm');
    const states = [await call('bank_close_account', middle), await call('bank_close_account', middle)];
    expect(states.map((one) => one.at('result.resultType') ?? outcome(one))).toEqual([
      'input_required',
      'request_state_invalid',
    ]);
  });

  test('an agreement is usable again after a disconnect before the work started', async () => {
    const last = await finalRequest();
    await hangUp(last);
    await expect.poll(async () => outcome(await call('bank_close_account', last))).toBe('Done.');
    await hangUp(last);
    expect(outcome(await call('bank_close_account', last))).toBe('request_state_invalid');
    expect(effects).toBe(1);
  });

  test('an agreement is used up when the client disconnected during the work', async () => {
    const last = await finalRequest();
    const released = Promise.withResolvers<void>();
    answered = released.promise;
    const leave = new AbortController();
    const lost = call('bank_close_account', last, { signal: leave.signal });
    await expect.poll(() => effects).toBe(1);
    leave.abort();
    await expect(lost).rejects.toThrow('abort');
    expect(outcome(await call('bank_close_account', last))).toBe('request_state_invalid');
    expect(effects).toBe(1);
    released.resolve();
  });

  test('an agreement can start with a token, and then is not asked for again', async () => {
    const sampling = { capabilities: { sampling: {}, elicitation: { url: {} } } };
    const ask = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
    const before = app.answer;
    app.answer = (seen) => {
      const answer = before?.(seen);
      return seen.body.includes('really')
        ? answer
        : { status: 200, body: { inputRequests: { really: ask } } };
    };
    const send = (args: JsonObject, more: JsonObject = {}) =>
      modern(url, 'tools/call', { name: 'bank_close_account', arguments: args, ...more }, sampling);
    const refused = await send({});
    const token = refused.at('result.structuredContent.error.details.confirmationToken') ?? null;
    const asked = await send({ confirmationToken: token });
    const last = { inputResponses: { really: { role: 'assistant' } }, requestState: stateOf(asked) };
    expect(outcome(await send({ confirmationToken: token }, last))).toBe('Done.');
    expect(outcome(await send({ confirmationToken: token }, last))).toBe('request_state_invalid');
    app.answer = before;
    expect(effects).toBe(1);
  });
});

test('an agreement that only an app asked for is used once', async () => {
  const last = answering(await call('bank_pay'), 'really');
  expect(outcome(await call('bank_pay', last))).toBe('Done.');
  expect(outcome(await call('bank_pay', last, { at: 1 }))).toBe('request_state_invalid');
  expect(effects).toBe(1);
});

test('an altered state is rejected without effect', async () => {
  const last = await finalRequest();
  const state = String(last['requestState']);
  const dot = state.indexOf('.');
  const places = [
    ...Array.from({ length: 40 }, (_, n) => Math.floor((n * dot) / 40)),
    ...Array.from({ length: state.length - dot }, (_, n) => dot + n),
  ];
  const changed = places.map(
    (at) => state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1),
  );
  const outcomes = new Set<unknown>();
  for (const requestState of [
    ...changed,
    '',
    '.',
    state.slice(0, -1),
    `${state}A`,
    `${state}.A`,
    state.slice(0, dot),
  ])
    outcomes.add(outcome(await call('bank_close_account', { ...last, requestState })));
  expect([...outcomes]).toEqual(['request_state_invalid']);
  expect(outcome(await call('bank_pay', last))).toBe('request_state_invalid');
  expect(effects).toBe(0);
});

test('states have their own secret, which is loaded at first use', async () => {
  const fresh = await startService({ catalogFolder: join(folder, 'catalog') });
  const names = async () =>
    (await fresh.context.db.selectFrom('secrets').select('name').execute()).map(({ name }) => name);
  const body = { name: 'bank', restrictions: {} };
  const server = await fresh.call('POST', '/api/servers', { body });
  await modern(server.text('accessUrl'), 'tools/list', {}, asks);
  await rpc(server.text('accessUrl'), 'tools/list');
  expect(await names()).not.toContain('request-state-key');
  await modern(
    server.text('accessUrl'),
    'tools/call',
    { name: 'list_connectors_svc', arguments: {}, requestState: 'x' },
    asks,
  );
  expect(await names()).toContain('request-state-key');
  await fresh.stop();
});
