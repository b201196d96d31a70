import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';
import type { Json } from '../../src/lib/json.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

const BOOKS = `
id: books
name: Books
description: Invoices of the tests.
categories: [accounting]
website: https://books.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: '{origin}'
variables:
  origin: {title: Address, format: origin}
authentication:
  - {type: bearer}
  - {type: api_key, in: header, name: X-Key}
  - type: oauth2
    authorizeUrl: https://books.example.com/authorize
    tokenUrl: https://books.example.com/token
    scopes: [invoices, reports]
errors:
  message: [message]
  rules:
    - {means: upstream_rate_limited, status: [403, 200], header: {name: X-Remaining, equals: '0'}}
    - {means: permission, status: 401, says: [write permissions]}
    - {means: transient, body: {path: 'errors.*.type', equals: [BUSY]}}
actions:
  update_invoice:
    description: Changes an invoice.
    request: PUT /invoices/{invoiceId}
    effectWhen:
      - {parameter: status, in: [VOIDED, DELETED], effect: destructive}
      - {parameter: changes.archived, in: [true], effect: destructive}
      - {parameter: labels, in: [TRASH], effect: destructive}
      - {parameter: erase, effect: destructive}
    path: {invoiceId: {type: string}}
    body:
      status: {type: string, enum: [DRAFT, VOIDED, DELETED]}
      changes: {type: object}
      labels: {type: array, items: {type: string}}
      erase: {type: boolean}
  search_all:
    description: Searches everything.
    request: GET /search
    authentication: [bearer]
  list_reports:
    description: Reports.
    request: GET /reports
    paging: {style: none}
    scopes: [[reports, everything]]
  ask:
    description: Asks over GraphQL.
    request: POST /graphql
    effect: read
    graphql: 'query { me { id } }'
    response: {data: data.me}
  ask_partly:
    description: Asks over GraphQL and takes what comes.
    request: POST /graphql
    effect: read
    graphql: 'query { me { id } }'
    response: {data: data, partial: true}
`;

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-effects-'));
mkdirSync(join(folder, 'books'));
writeFileSync(join(folder, 'books', 'connector.yaml'), BOOKS);
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(async () => {
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  upstream.count = 0;
  upstream.handler = (_req, res) => json(res, 200, { id: '1' });
});

let service: Service;
let made = 0;
const start = (kind: (typeof STORE_KINDS)[number]) => {
  beforeAll(async () => {
    service = await startService({ kind, catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
    await service.call('PUT', '/api/connectors/books/oauth-app', {
      body: { clientId: 'client', clientSecret: 'secret' },
    });
  });
  afterAll(() => service.stop());
};

async function newUser(): Promise<string> {
  const username = `user ${++made}`;
  return (await service.call('POST', '/users', { body: { username } })).text('userId');
}

async function connect(userId: string, type: string, data: object): Promise<string> {
  const answer = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'books', type, data: { origin: upstream.origin, ...data } },
  });
  return answer.text('credentialId');
}

async function serverOf(userId: string, restrictions: object = {}) {
  const answer = await service.call('POST', '/api/servers', {
    headers: { 'x-svc-userid': userId },
    body: { name: `server ${++made}`, toolMode: 'direct', restrictions },
  });
  return { serverId: answer.text('serverId'), url: answer.text('accessUrl') };
}

async function connected(restrictions?: object) {
  const userId = await newUser();
  await connect(userId, 'bearer', { token: `token_${++made}_0123456789` });
  return { userId, ...(await serverOf(userId, restrictions)) };
}

const runTool = (url: string, name: string, args: object) =>
  rpc(url, 'tools/call', { name, arguments: args });
const runRest = (userId: string, actionId: string, input: object = {}) =>
  service.call('POST', `/connectors/books/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });
const toolNames = async (url: string): Promise<Json[]> => {
  const tools = (await rpc(url, 'tools/list')).at('result.tools');
  return Array.isArray(tools) ? tools.map((tool) => Object(tool)['name']) : [];
};

const DESTROYING = [
  { status: 'VOIDED' },
  { changes: { archived: true } },
  { labels: ['INBOX', 'trash'] },
  { erase: true },
];
const HARMLESS = [
  { status: 'DRAFT' },
  { changes: { archived: false } },
  { labels: ['INBOX'] },
  { erase: false },
];

describe.each(STORE_KINDS)('an effect that depends on a value, over %s', (kind) => {
  start(kind);

  test('a server without destructive calls lists the action and denies the values', async () => {
    const { url } = await connected({ effects: { allowed: ['read', 'write'] } });
    expect(await toolNames(url)).toContain('books_update_invoice');
    for (const input of HARMLESS) {
      const ran = await runTool(url, 'books_update_invoice', { invoiceId: '7', ...input });
      expect({ input, isError: ran.at('result.isError') }).not.toMatchObject({ isError: true });
    }
    expect(upstream.count).toBe(HARMLESS.length);
    for (const input of DESTROYING) {
      const refused = await runTool(url, 'books_update_invoice', { invoiceId: '7', ...input });
      expect({ input, error: refused.at('result.structuredContent.error') }).toMatchObject({
        input,
        error: { code: 'restricted', details: { rule: 'effects.allowed' } },
      });
    }
    expect(upstream.count).toBe(HARMLESS.length);
  });

  test('an effect that depends on a value needs agreement only for those values', async () => {
    const { url } = await connected({ confirm: ['destructive'] });
    const ran = await runTool(url, 'books_update_invoice', { invoiceId: '7', status: 'DRAFT' });
    expect(ran.at('result.isError')).not.toBe(true);
    const asked = await runTool(url, 'books_update_invoice', { invoiceId: '7', status: 'VOIDED' });
    expect(asked.at('result.structuredContent.error')).toMatchObject({
      code: 'confirmation_required',
      details: { effect: 'destructive', rule: 'confirm' },
    });
    expect(upstream.count).toBe(1);
    const confirmationToken = asked.at('result.structuredContent.error.details.confirmationToken');
    await runTool(url, 'books_update_invoice', { invoiceId: '7', status: 'VOIDED', confirmationToken });
    expect(upstream.count).toBe(2);
  });

  test('lists show the most severe effect, and a read of the action its condition', async () => {
    const { url } = await connected({ confirm: ['destructive'] });
    const tools = (await rpc(url, 'tools/list')).at('result.tools');
    const tool = Array.isArray(tools)
      ? tools.find((one) => Object(one)['name'] === 'books_update_invoice')
      : {};
    expect(tool).toMatchObject({ annotations: { destructiveHint: true } });
    const read = await runTool(url, 'get_action_svc', {
      actions: [{ connectorId: 'books', actionId: 'update_invoice' }],
    });
    expect(read.at('result.structuredContent.actions.0')).toMatchObject({
      effect: 'destructive',
      effectWhen: [{ parameter: 'status', in: ['VOIDED', 'DELETED'] }, {}, {}, {}],
      confirmation: 'When its values make it destructive, it runs only after the user has agreed to it.',
    });
    const rest = await service.call('GET', '/connectors/books/actions/update_invoice');
    expect(rest.body).toMatchObject({
      effect: 'destructive',
      effectWhen: [{ effect: 'destructive' }, {}, {}, {}],
    });
  });

  test('a simulation judges the call by its values', async () => {
    const { serverId, userId } = await connected({ effects: { allowed: ['read', 'write'] } });
    const simulate = async (input: object) => {
      const body = { userId, connectorId: 'books', actionId: 'update_invoice', input };
      return (await service.call('POST', `/api/servers/${serverId}/simulate`, { body })).body;
    };
    expect(await simulate({ invoiceId: '7', status: 'DRAFT' })).toMatchObject({
      outcome: 'runs',
      effect: 'write',
    });
    expect(await simulate({ invoiceId: '7', status: 'VOIDED' })).toMatchObject({
      outcome: 'denied',
      rule: 'effects.allowed',
      effect: 'destructive',
    });
  });

  test('a run through a server stops at a step with destructive values', async () => {
    const { url, userId } = await connected({ effects: { allowed: ['read', 'write'] } });
    const change = (status: string) => ({
      stepId: 'change',
      connectorId: 'books',
      actionId: 'update_invoice',
      input: { invoiceId: '7', status },
    });
    const install = async (name: string, steps: object[]) => {
      const trigger = { type: 'manual', inputSchema: { properties: { status: { type: 'string' } } } };
      const body = { name, definition: { trigger, steps } };
      const workflowId = (await service.call('POST', '/workflows', { body })).text('workflowId');
      await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: {} });
    };
    await install(`open ${kind}`, [change('=trigger.input.status')]);
    await install(`voids ${kind}`, [change('VOIDED')]);
    expect(await toolNames(url)).not.toContain(`run_voids_${kind}`);
    const name = (await toolNames(url)).find((one) => String(one).startsWith('run_'));
    const ran = await runTool(url, String(name), { status: 'VOIDED' });
    expect(JSON.stringify(ran.body)).toContain('restricted');
    expect(upstream.count).toBe(0);
  });
});

describe.each(STORE_KINDS)('needs of an action, over %s', (kind) => {
  start(kind);
  const oauth = (scopes: string[]) => ({ accessToken: `access_${++made}_0123456789`, scopes });

  test('an action is listed to users whose account can run it', async () => {
    const userId = await newUser();
    const { url } = await serverOf(userId);
    expect(await toolNames(url)).toContain('books_search_all');
    await connect(userId, 'oauth2', oauth(['invoices']));
    const names = await toolNames(url);
    expect(names).not.toContain('books_search_all');
    expect(names).toContain('books_list_reports');
    const found = await runTool(url, 'search_actions_svc', { query: 'search everything in books' });
    expect(JSON.stringify(found.at('result.structuredContent'))).not.toContain('search_all');
    await connect(userId, 'bearer', { token: 'token_of_bearer_01234' });
    expect(await toolNames(url)).toContain('books_search_all');
  });

  test('a call that the account cannot run is rejected before anything is sent', async () => {
    const userId = await newUser();
    const credentialId = await connect(userId, 'oauth2', oauth(['invoices']));
    upstream.count = 0;
    const scheme = await runRest(userId, 'search_all');
    expect(scheme.status).toBe(409);
    expect(scheme.body).toMatchObject({
      code: 'credential_required',
      details: { reason: 'authentication', authentication: ['bearer'], credentialId },
    });
    expect(scheme.text('error')).toContain('runs with a credential of type bearer');
    expect(upstream.count).toBe(0);
  });

  test('a refusal of the app names one of the scopes of which one is enough', async () => {
    const userId = await newUser();
    await connect(userId, 'oauth2', oauth(['invoices']));
    upstream.handler = (_req, res) => json(res, 403, { message: 'no' });
    const refused = await runRest(userId, 'list_reports');
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'upstream_rejected', details: { reason: 'permission', needed: 'reports' } },
    });
  });

  test('the account that can run the action is chosen from several', async () => {
    const userId = await newUser();
    await connect(userId, 'oauth2', oauth(['everything']));
    await connect(userId, 'bearer', { token: 'token_of_bearer_56789' });
    expect((await runRest(userId, 'search_all')).status).toBe(200);
    expect((await runRest(userId, 'update_invoice', { invoiceId: '1' })).at('code')).toBe(
      'credential_ambiguous',
    );
  });

  test('a read of the action returns its needs', async () => {
    expect((await service.call('GET', '/connectors/books/actions/search_all')).body).toMatchObject({
      authentication: ['bearer'],
    });
    expect((await service.call('GET', '/connectors/books/actions/list_reports')).body).toMatchObject({
      scopes: [['reports', 'everything']],
    });
  });
});

describe('the meaning of a failure', () => {
  start('sqlite');
  const answering = async (status: number, body: Json, headers = {}, actionId = 'search_all') => {
    const { userId } = await connected();
    upstream.handler = (_req, res) => json(res, status, body, headers);
    return runRest(userId, actionId);
  };

  test('a header separates a limit from a missing right', async () => {
    const limited = await answering(403, { message: 'no' }, { 'x-remaining': '0', 'retry-after': '7200' });
    expect(limited).toMatchObject({ status: 429, body: { code: 'upstream_rate_limited' } });
    expect(limited.headers.get('retry-after')).toBe('7200');
    const refused = await answering(403, { message: 'no' }, { 'x-remaining': '3' });
    expect(refused.at('code')).toBe('upstream_rejected');
  });

  test('the app’s message shows a missing right, and the credential stays active', async () => {
    const { userId } = await connected();
    upstream.handler = (_req, res) => json(res, 401, { message: 'The key has no Write Permissions.' });
    const refused = await runRest(userId, 'search_all');
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'upstream_rejected', details: { reason: 'permission' } },
    });
    upstream.handler = (_req, res) => json(res, 200, {});
    expect((await runRest(userId, 'search_all')).status).toBe(200);
  });

  test('a successful answer is not judged by the rules', async () => {
    expect((await answering(200, { id: '1' }, { 'x-remaining': '0' })).status).toBe(200);
  });

  test('GraphQL errors in a 200 are failures, even with data', async () => {
    const errors = [{ message: 'not yours', extensions: { code: 'FORBIDDEN' } }];
    const refused = await answering(200, { data: { me: null }, errors }, {}, 'ask');
    expect(refused).toMatchObject({ status: 422, body: { code: 'upstream_rejected' } });
    expect(refused.text('error')).toContain('not yours');
    const limited = await answering(200, { errors }, { 'x-remaining': '0', 'retry-after': '7200' }, 'ask');
    expect(limited.at('code')).toBe('upstream_rate_limited');
    expect((await answering(200, { data: { me: { id: '1' } }, errors: [] }, {}, 'ask')).status).toBe(200);
  });

  test('an action that accepts partial data fails only without data', async () => {
    const errors = [{ message: 'a part is missing' }];
    const partly = await answering(200, { data: { me: { id: '1' } }, errors }, {}, 'ask_partly');
    expect(partly.body).toEqual({ data: { me: { id: '1' } } });
    expect((await answering(200, { data: { me: null }, errors }, {}, 'ask_partly')).status).toBe(422);
  });

  test('a transient fault is retried and reported as transient', async () => {
    const { userId } = await connected();
    const busy = { errors: [{ type: 'OTHER' }, { type: 'BUSY' }] };
    upstream.count = 0;
    upstream.handler = (_req, res, count) =>
      count === 1 ? json(res, 200, busy) : json(res, 200, { data: { me: 1 } });
    expect((await runRest(userId, 'ask')).body).toEqual({ data: 1 });
    upstream.handler = (_req, res) => json(res, 200, busy);
    expect(await runRest(userId, 'ask')).toMatchObject({
      status: 502,
      body: { code: 'upstream_failed', details: { reason: 'transient' } },
    });
  });
});

describe('a faulty file is rejected with its faults', () => {
  const faultsOf = async (from: string, to: string) => {
    const file = join(folder, 'faulty.yaml');
    writeFileSync(file, BOOKS.replace(from, to));
    return (await checkFile(file)).faults.map(({ path, rule }) => `${path}: ${rule}`).join('\n');
  };

  test.each([
    ['parameter: status,', 'parameter: state,', /effectWhen\.0\.parameter: "state" is no parameter/],
    ['in: [VOIDED, DELETED]', 'in: [VOID]', /effectWhen\.0\.in: "VOID" is no value of status/],
    [
      'authentication: [bearer]',
      'authentication: [basic]',
      /search_all\.authentication: "basic" is no scheme/,
    ],
    [
      'authentication: [bearer]',
      'authentication: [oauth2]\n    scopes: [admin]',
      /search_all\.scopes: no scheme/,
    ],
    ['means: transient, ', 'means: transient, status: [] ,', /errors\.rules\.2\.status/],
    [
      '{means: permission, status: 401, says: [write permissions]}',
      '{means: permission}',
      /needs a condition/,
    ],
  ])('a connector file with %s as %s is rejected with its fault', async (from, to, fault) => {
    expect(await faultsOf(from, to)).toMatch(fault);
  });
});
