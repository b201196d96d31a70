import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { listenUntil } from '../../src/cli/listen.ts';
import { notifyOperator } from '../../src/outbox/operator-events.ts';
import { closeIdleListeners } from '../../src/subscriptions/idle-listeners.ts';
import { newSigningSecret } from '../../src/outbox/signature.ts';
import { BIN, cliEnv, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { manualClock } from '../support/clock.ts';
import { startReceiver, verified } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { SECOND } from '../../src/lib/clock.ts';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';

test('listen prints and forwards events of the service, and leaves nothing behind', async () => {
  using home = tempHome();
  await using service = await startListened(home.path);
  await using receiver = await startReceiver();
  const secret = newSigningSecret();
  const { out, err, stop } = run(['--forward', receiver.url, '--secret', secret, '--json'], service.env);
  await until(() => err().includes('Listening to all events of development'));

  // This is an operator event, and the listener is its only subscription.
  const connectionId = await service.connect();
  const [one] = await receiver.arrived(1);
  if (!one) throw new Error('nothing arrived');
  expect(verified(secret, one)).toMatchObject({ type: 'credential.created', data: { connectionId } });
  await until(() => out().includes('\n'));
  expect(JSON.parse(out().split('\n')[0] ?? '')).toMatchObject({
    scope: 'operator',
    event: 'credential.created',
    status: 200,
    error: null,
    body: { data: { connectionId } },
  });

  // A program that does not answer stops nothing.
  receiver.answer = (_, res) => void res.destroy();
  await service.disconnect(connectionId);
  await until(() => out().trim().split('\n').length === 2);
  const second = JSON.parse(out().trim().split('\n')[1] ?? '');
  expect(second).toMatchObject({ event: 'credential.deleted', status: null });
  expect(second.error).toBeTypeOf('string');

  expect(await stop()).toBe(0);
  const { openStore } = await import('../../src/store/open-database.ts');
  const store = await openStore({ kind: 'sqlite', path: `${home.path}/gatehouse.db` });
  expect(await store.db.selectFrom('subscriptions').selectAll().execute()).toEqual([]);
  await store.close();
});

test('a program on this machine is called directly and not through the egress proxy', async () => {
  using home = tempHome();
  await using service = await startListened(home.path);
  await using receiver = await startReceiver();
  await using proxy = await startReceiver();
  const behindProxy = { ...service.env, GATEHOUSE_EGRESS_PROXY: new URL(proxy.url).origin };
  const listener = run(['--forward', receiver.url.replace('127.0.0.1', 'localhost')], behindProxy);
  await until(() => listener.err().includes('Listening to'));
  await service.connect();
  await receiver.arrived(1);
  await until(() => listener.out().includes('-> 200'));
  expect(proxy.received).toEqual([]);
  expect(await listener.stop()).toBe(0);
});

test('Ctrl-C ends listen during a forward, and no unfinished forward is printed', async () => {
  using home = tempHome();
  await using service = await startListened(home.path);
  await using receiver = await startReceiver();
  let release = () => {};
  receiver.answer = (_, res) => void (release = () => res.writeHead(200).end());
  const listener = run(['--forward', receiver.url], service.env);
  await until(() => listener.err().includes('Listening to'));
  await service.connect();
  await receiver.arrived(1);
  for (let n = 0; n < 3; n++) await service.connect();
  // The next batch has the other events, and the first of them hangs.
  release();
  await receiver.arrived(2);
  expect(await listener.stop()).toBe(0);
  expect(listener.out().trim().split('\n')).toEqual([expect.stringContaining('-> 200')]);
});

test('a listener that forwards to a slow program is not removed as silent', async () => {
  const clock = manualClock();
  await using service = await startService({ clock });
  await using receiver = await startReceiver();
  const { context } = service;
  const listeners = () =>
    context.db.selectFrom('subscriptions').select('subscription_id').where('kind', '=', 'listener').execute();
  receiver.answer = async (_, res) => {
    clock.advance(15 * SECOND);
    await closeIdleListeners(context);
    res.writeHead(200).end();
  };
  const stop = new AbortController();
  const wish = {
    forward: new URL(receiver.url),
    environment: 'development' as const,
    source: undefined,
    secret: undefined,
    json: false,
  };
  const listening = listenUntil(context, wish, { outbound: context.outbound, signal: stop.signal });
  await until(async () => (await listeners()).length === 1);
  const before = await listeners();
  await context.db.transaction().execute(async (tx) => {
    for (let n = 0; n < 50; n++)
      await notifyOperator(tx, context, {
        environment: 'development',
        type: 'credential.created',
        data: { n },
      });
  });
  await receiver.arrived(50);
  expect(await listeners()).toEqual(before);
  stop.abort();
  await listening;
});

/** Starts a service with a user whose accounts change; the operator is notified of each change. */
async function startListened(home: string) {
  const key = newApiKey('development');
  const keys = {
    GATEHOUSE_DEVELOPMENT_KEY: key,
    GATEHOUSE_PRODUCTION_KEY: newApiKey('production'),
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
  };
  const env = cliEnv(home, keys);
  const service = await startCli(env);
  const call = async (method: string, path: string, body?: Json, userId = ''): Promise<Json> => {
    const response = await fetch(service.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-api-version': '2025-09',
        ...(userId ? { 'x-svc-userid': userId } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return parseJson(await response.text());
  };
  const userId = String(valueAt(await call('POST', '/users', { username: 'ada' }), 'userId'));
  const credentials = `/users/${userId}/credentials`;
  let accounts = 0;
  return {
    env,
    /** Connects an account of its own, because the same key would only renew the credential. */
    async connect(): Promise<string> {
      const wish = { connectorId: 'sandbox', data: { apiKey: `sandbox_listen_${++accounts}` } };
      return String(valueAt(await call('POST', credentials, wish, userId), 'credentialId'));
    },
    disconnect: (connectionId: string) => call('DELETE', `${credentials}/${connectionId}`, undefined, userId),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

function run(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [BIN, 'listen', ...args], { env, cwd: tmpdir() });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return {
    out: () => out,
    err: () => err,
    stop: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}
