import { existsSync } from 'node:fs';
import { chromium, type Page } from 'playwright-core';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { newOrderedId } from '../../src/lib/ids.ts';
import { EXECUTABLES } from '../support/chromium.ts';

import { startReceiver } from '../support/receiver.ts';
import { ownScratch } from '../support/scratch.ts';
import { startService, type Service } from '../support/service.ts';
import { claim } from './proof.ts';

/*
 * npm run proof:console: fills a store with PROOF_ROWS (100,000) users, executions, deliveries and audit entries, and
 * prints the median time from the address to the first row of each page, and from a filter to its answer.
 */
const ROWS = Number(process.env['PROOF_ROWS'] ?? 100_000);
const LOADS = Number(process.env['PROOF_LOADS'] ?? 5);
const BATCH = 500;
/** A filter may take this long, with all processes of the machine at rest. */
const SLOWEST_MS = 250;

type Db = Service['context']['db'];

ownScratch();
await using receiver = await startReceiver();
await using service = await startService({ env: { LOG_LEVEL: 'warn' } });
const { db } = service.context;
const began = performance.now();
const { userId, subscriptionId, serverId } = await someOfEach();
await fill();
print('filled', performance.now() - began, `${ROWS} rows of each kind`);
const slow = [...(await filters()), ...(await pages())].filter((ms) => ms > SLOWEST_MS * 10);
claim(slow.length === 0, `each page and each filter answers within ${SLOWEST_MS * 10} ms`);

function print(name: string, ms: number, more = ''): void {
  process.stdout.write(`${name.padEnd(44)} ${String(Math.round(ms)).padStart(6)} ms  ${more}\n`);
}

/** Makes a user with an account, a server and a subscription over REST. */
async function someOfEach() {
  const user = await service.call('POST', '/users', { body: { username: 'ada' } });
  const headers = { 'x-svc-userid': user.text('userId') };
  const account = await service.call('POST', `/users/${user.text('userId')}/credentials`, {
    headers,
    body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_proof' } },
  });
  const server = await service.call('POST', '/api/servers', { headers, body: { name: 'proof' } });
  const subscription = await service.call(
    'POST',
    `/2023-03/one/webhooks?connectionId=${account.text('credentialId')}`,
    { headers, body: { scope: 'commerce/orders', address: receiver.url, events: ['created'] } },
  );
  return {
    userId: user.text('userId'),
    serverId: server.text('serverId'),
    subscriptionId: subscription.text('subscriptionId'),
  };
}

async function inBatches<T>(insert: (db: Db, rows: T[]) => Promise<unknown>, row: (at: number) => T) {
  for (let first = 0; first < ROWS; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, ROWS - first) }, (_, at) => row(first + at));
    await insert(db, rows);
  }
}

function nth<T>(values: readonly T[], at: number): T {
  const value = values[at % values.length];
  if (value === undefined) throw new Error('there is no value');
  return value;
}

async function fill(): Promise<void> {
  const end = Date.now();
  const environment = 'development' as const;
  const times = (at: number) => end - (ROWS - at) * 6 * SECOND;
  await inBatches(
    (to, rows) => to.insertInto('users').values(rows).execute(),
    (at: number) => ({
      user_id: newOrderedId('usr', times(at)),
      environment,
      username: `user ${at}`,
      metadata: '{}',
      enabled: 1,
      tokens_revoked_at: null,
      created_at: times(at),
      updated_at: times(at),
    }),
  );
  await inBatches(
    (to, rows) => to.insertInto('executions').values(rows).execute(),
    (at: number) => ({
      execution_id: newOrderedId('exe', times(at)),
      environment,
      at: times(at),
      request_id: `req ${at}`,
      caller: 'key:key_development',
      server_id: at % 3 === 0 ? serverId : null,
      // A few calls of this user among those of all others.
      user_id: at % 1000 === 0 ? userId : `usr_${String(at).padStart(22, '0')}`,
      connector_id: nth(['sandbox', 'github', 'shopify', 'hubspot'], at),
      action_id: nth(['list_orders', 'get_order', 'search', 'list_products'], at >> 2),
      credential_id: null,
      outcome: nth(['succeeded', 'succeeded', 'succeeded', 'failed', 'denied'] as const, at),
      rule: null,
      error_code: at % 5 === 3 ? 'upstream_failed' : null,
      upstream_status: 200,
      duration_ms: at % 900,
    }),
  );
  await inBatches(
    (to, rows) => to.insertInto('audit').values(rows).execute(),
    (at: number) => ({
      audit_id: newOrderedId('aud', times(at)),
      environment,
      at: times(at),
      request_id: `req ${at}`,
      caller: nth(['key:key_development', 'key:key_other', 'cli'], at),
      operation: nth(['updateServer', 'createUser', 'getServer', 'deleteUser'], at),
      target: at % 500 === 0 ? serverId : `usr_${at}`,
      status: 200,
      chain_id: null,
      sequence: null,
      previous_hash: null,
      hash: null,
    }),
  );
  const ids = (at: number) => ({
    event_id: `evt_${String(at).padStart(22, '0')}`,
    delivery_id: `msg_${String(at).padStart(22, '0')}`,
  });
  await inBatches(
    (to, rows) => to.insertInto('events').values(rows).execute(),
    (at: number) => ({
      event_id: ids(at).event_id,
      environment,
      source_id: null,
      scope: 'commerce/orders',
      event: 'created',
      record_id: `ord_${at}`,
      body: '{}',
      created_at: times(at),
    }),
  );
  await inBatches(
    (to, rows) => to.insertInto('deliveries').values(rows).execute(),
    (at: number) => ({
      ...ids(at),
      subscription_id: subscriptionId,
      sequence: at + 1,
      status: nth(['succeeded', 'succeeded', 'dead', 'succeeded', 'cancelled'] as const, at),
      next_at: end + 60 * MINUTE,
      lease_token: null,
      last_status: 200,
      last_error: null,
      marks: null,
      created_at: times(at),
      updated_at: times(at),
    }),
  );
}

/** Measures the answers of REST behind each filter. */
async function filters(): Promise<number[]> {
  const hourAgo = new Date(Date.now() - 60 * MINUTE).toISOString();
  const asked: [string, string][] = [
    ['overview', '/api/overview'],
    ['summary of a day', '/api/executions/summary?hours=24'],
    ['summary of a week', '/api/executions/summary?hours=168'],
    ['deliveries of a day', '/api/deliveries/summary?hours=24'],
    ['deliveries of a week', '/api/deliveries/summary?hours=168'],
    ['executions', '/api/executions?limit=50'],
    ['executions, outcome', '/api/executions?limit=50&outcome=denied'],
    ['executions, server', `/api/executions?limit=50&serverId=${serverId}`],
    ['executions, connector', '/api/executions?limit=50&connectorId=github'],
    ['executions, action', '/api/executions?limit=50&actionId=search'],
    ['executions, user', `/api/executions?limit=50&userId=${userId}`],
    ['executions, user and outcome', `/api/executions?limit=50&userId=${userId}&outcome=failed`],
    ['executions, action that nobody calls', '/api/executions?limit=50&actionId=absent'],
    [
      'executions, connector, action, outcome',
      '/api/executions?limit=50&connectorId=github&actionId=search&outcome=denied',
    ],
    ['executions, last hour', `/api/executions?limit=50&from=${hourAgo}`],
    ['users', '/users?limit=50'],
    ['users, name', '/users?limit=50&username=user%2050000'],
    ['accounts to reconnect', '/api/credentials?state=needs_reconnect&limit=50'],
    ['audit', '/api/audit?limit=50'],
    ['audit, caller', '/api/audit?limit=50&caller=cli'],
    ['audit, operation', '/api/audit?limit=50&operation=updateServer'],
    ['audit, target', `/api/audit?limit=50&target=${serverId}`],
    ['audit, operation and target', `/api/audit?limit=50&operation=deleteUser&target=${serverId}`],
    ['audit, since', `/api/audit?limit=50&since=${hourAgo}`],
    ['deliveries', `/webhooks/${subscriptionId}/deliveries?limit=25`],
    ...['waiting', 'succeeded', 'dead', 'cancelled'].map((status): [string, string] => [
      `deliveries, ${status}`,
      `/webhooks/${subscriptionId}/deliveries?limit=25&status=${status}`,
    ]),
  ];
  const medians: number[] = [];
  for (const [name, path] of asked) {
    const took = await median(async () => {
      const { status } = await service.call('GET', path);
      claim(status === 200, `${path} answers 200, and not ${status}`);
    });
    print(`filter  ${name}`, took);
    medians.push(took);
  }
  return medians;
}

/** Measures the time from the address of a page to its first row in Chromium. */
async function pages(): Promise<number[]> {
  const executablePath = EXECUTABLES.find((path) => existsSync(path));
  if (!executablePath) return [];
  const browser = await chromium.launch({ executablePath });
  const page = await browser.newPage();
  page.setDefaultTimeout(60 * SECOND);
  await page.goto(`${service.url}/console`);
  await page.getByRole('textbox', { name: 'API key' }).fill(service.developmentKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
  const shown: [string, string, (at: Page) => Promise<unknown>][] = [
    ['Start', '/', (at) => at.getByText('Half of them within').waitFor()],
    ...['executions', 'users', 'audit', 'servers', `webhooks/${subscriptionId}`, 'keys'].map(
      (path): [string, string, (at: Page) => Promise<unknown>] => [
        path.split('/')[0] ?? path,
        `/${path}`,
        (at) => at.locator('tbody tr').first().waitFor(),
      ],
    ),
    ['one user', `/users/${userId}`, (at) => at.locator('tbody tr').first().waitFor()],
    ['one server', `/servers/${serverId}`, (at) => at.getByText(/^about/).waitFor()],
    ['playground', '/playground', (at) => at.getByPlaceholder('Choose a user').waitFor()],
  ];
  const medians: number[] = [];
  for (const [name, path, first] of shown) {
    const took = await median(async () => {
      await page.goto(`${service.url}/console${path}`);
      await first(page);
    });
    print(`page    ${name}`, took);
    medians.push(took);
  }
  await browser.close();
  return medians;
}

async function median(run: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? 0;
}
