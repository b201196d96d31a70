import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { cliEnv, runCli, startCli, tempHome, type Started } from '../support/cli.ts';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';

/* `gatehouse config`: settings go from development to production, in the local store and over REST. */

const keys = { development: newApiKey('development'), production: newApiKey('production') };
const fileShape = z.looseObject({
  settings: z.looseObject({ eventsAddress: z.string().nullable() }),
  servers: z.array(z.looseObject({ name: z.string() })),
  workflows: z.array(z.looseObject({ name: z.string() })),
  subscriptions: z.array(z.looseObject({ user: z.string() })),
});

let home: ReturnType<typeof tempHome>;
let app: NotesApp;
let gatehouse: Started;
let local: Record<string, string>;

beforeAll(async () => {
  home = tempHome();
  app = await startNotes();
  local = cliEnv(home.path, {
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_DEVELOPMENT_KEY: keys.development,
    GATEHOUSE_PRODUCTION_KEY: keys.production,
  });
  gatehouse = await startCli(local);
  await prepareDevelopment();
});

afterAll(async () => {
  await gatehouse.stop('SIGKILL');
  await app[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

type Environment = keyof typeof keys;

async function call(environment: Environment, [method, path]: [string, string], body?: object) {
  const answer = await fetch(gatehouse.url + path, {
    method,
    headers: {
      authorization: `Bearer ${keys[environment]}`,
      'x-api-version': '2025-09',
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answered = z.record(z.string(), z.any()).parse(await answer.json());
  if (!answer.ok) throw new Error(JSON.stringify(answered));
  return answered;
}

async function addUser(environment: Environment, username: string): Promise<string> {
  return String((await call(environment, ['POST', '/users'], { username }))['userId']);
}

async function connect(environment: Environment, userId: string): Promise<string> {
  const answer = await fetch(`${gatehouse.url}/users/${userId}/credentials`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${keys[environment]}`,
      'x-api-version': '2025-09',
      'x-svc-userid': userId,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ connectorId: 'notes', data: { apiKey: `key-of-${environment}` } }),
  });
  return z.looseObject({ credentialId: z.string() }).parse(await answer.json()).credentialId;
}

async function prepareDevelopment(): Promise<void> {
  const userId = await addUser('development', 'alice');
  await call('development', ['PUT', '/api/settings'], {
    origins: ['https://app.example.com'],
    userServerRestrictions: { users: { blockedIds: [userId] } },
    eventsAddress: `${app.origin}/operator`,
  });
  const definition = `${notesFile(app.origin)}  list_all: {description: Lists all., request: GET /all, paging: {style: none}}
events:
  noted: {title: Noted, description: A note was made., list: list_all, remoteId: id}
`;
  await call('development', ['POST', '/api/connectors'], { definition });
  await call('development', ['PUT', '/api/connectors/notes/overlay'], {
    actions: { list_notes: { description: 'Lists the notes of the team.' } },
  });
  await call('development', ['POST', '/api/servers'], {
    name: 'Support',
    customInstructions: 'Be brief.',
    toolMode: 'direct',
    budgets: [{ per: 'user', limit: 50, window: '1d' }],
    restrictions: { users: { allowedIds: [userId] }, connectors: { allowedIds: ['notes'] } },
  });
  await call('development', ['POST', '/workflows'], {
    name: 'Note to note',
    definition: {
      trigger: { type: 'manual' },
      steps: [{ stepId: 'list', connectorId: 'notes', actionId: 'list_notes' }],
    },
  });
  await call('development', ['PUT', '/api/field-mappings'], {
    scope: 'commerce/orders',
    fields: { level: 'tags[0]' },
  });
  const connectionId = await connect('development', userId);
  await call('development', ['POST', `/2023-03/one/webhooks?connectionId=${connectionId}`], {
    address: `${app.origin}/hook`,
    scope: 'notes/noted',
    headers: { 'x-secret': 'never shown' },
    ratePerSecond: 5,
  });
}

const path = (name: string) => join(home.path, name);

/** The environment of a command, in the local store or over REST. */
function target(place: string, environment: Environment): [args: string[], env: Record<string, string>] {
  if (place === 'local') return [['--environment', environment], local];
  const { PATH = '', HOME = '' } = local;
  return [[], { PATH, HOME, GATEHOUSE_URL: gatehouse.url, GATEHOUSE_KEY: keys[environment] }];
}

async function config(args: string[], [more, env]: ReturnType<typeof target>) {
  return runCli(['config', ...args, ...more], env);
}

/** Writes a changed copy of the exported file, and returns its path. */
function changedFile(name: string, change: (file: z.infer<typeof fileShape>) => void): string {
  const file = fileShape.parse(parse(readFileSync(path('settings.yaml'), 'utf8')));
  change(file);
  writeFileSync(path(name), stringify(file, { aliasDuplicateObjects: false }));
  return path(name);
}

test('an export names users, holds neither ids nor secrets, and is the same each time', async () => {
  const written = await config(['export', path('settings.yaml')], target('local', 'development'));
  expect(written).toMatchObject({ code: 0, out: '' });
  const text = readFileSync(path('settings.yaml'), 'utf8');
  expect(text).not.toMatch(/\b(usr|srv|wf|cred|sub|map)_\w{22}|never shown|whsec_|gh_(mcp|dev)_|key-of-/);
  expect(parse(text)).toMatchObject({
    settings: { userServerRestrictions: { users: { blockedIds: ['alice'] } } },
    connectors: [{ connectorId: 'notes', overlay: { actions: { list_notes: {} } } }],
    servers: [
      {
        name: 'Support',
        toolMode: 'direct',
        budgets: [{ per: 'user', limit: 50, window: '1d' }],
        restrictions: { users: { allowedIds: ['alice'] } },
      },
    ],
    workflows: [{ name: 'Note to note' }],
    fieldMappings: [{ scope: 'commerce/orders', connectorId: null, fields: { level: 'tags[0]' } }],
    subscriptions: [{ user: 'alice', connectorId: 'notes', ratePerSecond: 5, headers: ['x-secret'] }],
  });
  const again = await config(['export', '-'], target('remote', 'development'));
  expect(again.out).toBe(text);
  const plan = await config(['plan', path('settings.yaml')], target('remote', 'development'));
  expect(plan).toMatchObject({ code: 0, out: 'No difference: 6 unchanged.\n' });
});

test('a file is checked as a whole, with line, path and rule', async () => {
  writeFileSync(
    path('wrong.yaml'),
    `servers:
  - name: A
    toolMode: often
  - name: a
    pin: true
connectors:
  - connectorId: linear
    mcp: {url: 'https://mcp.example.com/mcp', authentication: {type: bearer, token: hidden}}
`,
  );
  const { code, err, out } = await config(['apply', path('wrong.yaml')], target('remote', 'production'));
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('wrong.yaml:3: servers.0.toolMode: ');
  expect(err).toContain('wrong.yaml:5: servers.1.pin: ');
  expect(err).toContain('wrong.yaml:8: connectors.0.mcp.authentication.token: is a secret');
  expect(err).not.toContain('hidden');
  writeFileSync(
    path('twice.yaml'),
    `workflows:
  - {name: A, definition: {trigger: {type: manual}, steps: [{stepId: 1a, wait: PT5M}]}}
  - {name: a, definition: {trigger: {type: manual}, steps: [{stepId: a, wait: PT5M}]}}
`,
  );
  const twice = await config(['plan', path('twice.yaml')], target('remote', 'production'));
  expect(twice.err).toContain('twice.yaml:2: workflows.0.definition.steps.0.stepId: must be a letter');
  expect(twice.err).toContain('twice.yaml:3: workflows.1: is the same as workflows.0');
});

test('an absent user is a fault before anything is changed', async () => {
  const { code, err, out } = await config(['apply', path('settings.yaml')], target('remote', 'production'));
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/settings\.yaml:\d+: servers\.0\.restrictions\.users\.allowedIds\.0: names no user/);
  expect(err).toContain('gatehouse users create alice');
  expect(await call('production', ['GET', '/api/servers'])).toMatchObject({ count: 0 });
});

describe('from development to production', () => {
  let userId = '';

  test('apply makes everything but the subscription of an account that is absent', async () => {
    userId = await addUser('production', 'alice');
    const plan = await config(['plan', path('settings.yaml')], target('local', 'production'));
    expect(plan.code).toBe(3);
    expect(plan.out).toContain('~ settings\n');
    expect(plan.out).toContain('    ~ origins: [] -> ["https://app.example.com"]\n');
    expect(plan.out).toContain('+ connector "notes"\n+ server "Support"\n+ workflow "Note to note"\n');
    expect(plan.out).toContain(
      'alice has no account of notes here. Connect it: gatehouse connect alice notes',
    );
    expect(await call('production', ['GET', '/api/servers'])).toMatchObject({ count: 0 });
    const applied = await config(['apply', path('settings.yaml')], target('local', 'production'));
    expect([applied.code, applied.out]).toEqual([1, plan.out]);
    expect(applied.err).toMatch(/^Applied 5 changes\.\n1 entry of the file cannot be made yet/);
    const { servers } = await call('production', ['GET', '/api/servers']);
    expect(servers).toMatchObject([{ name: 'Support', restrictions: { users: { allowedIds: [userId] } } }]);
  });

  test('the next apply makes the rest, and one more finds nothing to do', async () => {
    const connectionId = await connect('production', userId);
    const rest = await config(['apply', path('settings.yaml'), '--json'], target('remote', 'production'));
    expect(rest.code).toBe(0);
    expect(JSON.parse(rest.out)).toMatchObject({
      changes: [{ kind: 'subscription', change: 'added' }],
      unchanged: 5,
      refused: null,
      byHand: [expect.stringContaining('rotate-secret'), expect.stringContaining('headers x-secret')],
    });
    const { data } = await call('production', ['GET', '/2023-03/one/webhooks']);
    expect(data).toMatchObject([
      { connectionId, userId, connectorId: 'notes', ratePerSecond: 5, headers: [] },
    ]);
    const none = await config(['apply', path('settings.yaml')], target('local', 'production'));
    expect(none).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('No difference: 6 unchanged.'),
    });
    expect(none.out).toContain('needs the headers x-secret');
  });

  test('a changed member is changed alone, and a dry run changes nothing', async () => {
    const file = changedFile('changed.yaml', ({ servers: [server] }) => {
      if (server) server['toolMode'] = 'auto';
    });
    const dry = await config(['apply', file, '--dry-run'], target('remote', 'production'));
    expect(dry).toMatchObject({ code: 3, err: '' });
    expect(dry.out).toContain(
      '~ server "Support"\n    ~ toolMode: "direct" -> "auto"\n0 to add, 1 to change',
    );
    const plan = await config(['plan', file, '--json'], target('local', 'production'));
    expect(JSON.parse(plan.out)).toMatchObject({
      changes: [{ name: 'Support', differences: [{ path: 'toolMode', before: 'direct', after: 'auto' }] }],
      unchanged: 5,
    });
    expect((await config(['apply', file], target('remote', 'production'))).code).toBe(0);
    const { servers } = await call('production', ['GET', '/api/servers']);
    expect(servers).toMatchObject([
      { toolMode: 'auto', budgets: [{ limit: 50 }], customInstructions: 'Be brief.' },
    ]);
  });

  test('apply stops at the first refusal and reports what was done', async () => {
    const file = changedFile('refused.yaml', ({ servers: [server], workflows, settings }) => {
      settings.eventsAddress = 'ftp://receiver.example.com';
      if (server) server['toolMode'] = 'auto';
      workflows.push({ ...workflows[0], name: 'Second' });
    });
    const refused = await config(['apply', file], target('remote', 'production'));
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/^gatehouse: settings was refused: /);
    expect(refused.err).toContain('Done: nothing.\nNot done: workflow "Second".\n');
  });

  test('records that a file lacks are removed only with --prune', async () => {
    const file = changedFile('pruned.yaml', (settings) => {
      settings.servers = [];
      settings.subscriptions = [];
    });
    const kept = await config(['apply', file], target('local', 'production'));
    expect(kept.code).toBe(0);
    expect(kept.out).toContain('Not in the file (--prune removes them):\n  server "Support"\n');
    const pruned = await config(['apply', file, '--prune'], target('remote', 'production'));
    expect(pruned.code).toBe(0);
    expect(pruned.out).toContain('- server "Support"\n');
    expect(await call('production', ['GET', '/api/servers'])).toMatchObject({ count: 0 });
    expect(await call('production', ['GET', '/2023-03/one/webhooks'])).toMatchObject({ data: [] });
  });
});

test('a server of a user, a draft and a switched-off server stay out of files', async () => {
  const userId = await addUser('development', 'bob');
  const { token } = await call('development', ['GET', `/2023-12/user/${userId}/token`]);
  await fetch(`${gatehouse.url}/api/servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(token)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Of Bob' }),
  });
  await call('development', ['POST', '/workflows'], {
    name: 'Draft',
    draft: true,
    definition: { trigger: { type: 'manual' }, steps: [{ stepId: 'a', wait: 'PT5M' }] },
  });
  const { servers } = await call('development', ['GET', '/api/servers']);
  const support = z
    .array(z.looseObject({ name: z.string(), serverId: z.string() }))
    .parse(servers)
    .find(({ name }) => name === 'Support');
  await call('development', ['PUT', `/api/servers/${support?.serverId}`], { enabled: false });
  const plan = await config(['plan', path('settings.yaml'), '--prune'], target('local', 'development'));
  expect(plan).toMatchObject({ code: 0, out: 'No difference: 6 unchanged.\n' });
});
