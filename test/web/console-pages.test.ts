import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  loaded,
  overflow,
  signInWithKey,
  startConsoleBrowser,
  violations,
  type ConsoleBrowser,
} from '../support/console.ts';
import { connectedUser, seedConsole, type ConsoleSeed } from '../support/console-seed.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { HAS_BROWSER } from '../support/web.ts';

/* The main task of each page of the console, in one browser over one service with data. */

const NOTES = `id: notes
name: Notes
description: An app of the tests.
categories: [productivity]
website: https://notes.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: https://api.notes.example.com
authentication:
  - {type: bearer}
actions:
  list_notes: {description: Lists the notes., request: GET /notes}
`;
const SHOP = JSON.stringify({
  openapi: '3.0.3',
  info: { title: 'Corner shop', version: '1' },
  servers: [{ url: 'https://api.shop.example.com' }],
  paths: {
    '/items': {
      get: { operationId: 'listItems', summary: 'Lists items.', responses: { 200: { description: 'ok' } } },
    },
  },
});

describe.skipIf(!HAS_BROWSER)('the pages of the console', () => {
  let service: Service;
  let receiver: Receiver;
  let browser: ConsoleBrowser;
  let seed: ConsoleSeed;
  let page: Page;

  beforeAll(async () => {
    receiver = await startReceiver();
    service = await startService({ env: { GATEHOUSE_RETRY_SCHEDULE: '3600' } });
    seed = await seedConsole(service, receiver);
    browser = await startConsoleBrowser();
    page = await browser.open(`${service.url}/console`, { viewport: { width: 1280, height: 900 } });
    await signInWithKey(page, service.developmentKey);
    await loaded(page);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await service?.stop();
    await receiver?.[Symbol.asyncDispose]();
  });

  const go = async (path: string, at = page) => {
    await at.goto(`${service.url}/console${path}`);
    await loaded(at);
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const agree = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
  const choose = async (label: string, option: string | RegExp, within = page.getByRole('main')) => {
    await within.getByLabel(label, { exact: true }).first().click();
    await page.getByRole('option', { name: option }).first().click();
  };

  test('Servers: the wizard makes a server, whose tools and their tokens are shown', async () => {
    await go('/servers');
    await page.getByRole('link', { name: 'New server' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Order agent');
    await button('Next').click();
    await choose('Apps', /Sandbox/);
    await page.keyboard.press('Escape');
    await button('Next').click();
    await choose('Owner', /ada@northwind/);
    await button('Create the server').click();
    await page.getByRole('heading', { level: 1, name: 'Order agent' }).waitFor();
    await page.getByText(/^about [\d,. ]+ tokens$/).waitFor();
    await button('Show the access URL').click();
    const url = await page.getByLabel('Access URL', { exact: true }).innerText();
    expect(url).toContain(`${service.url}/mcp/`);
    await page.getByRole('tab', { name: 'Cursor' }).click();
    expect(await page.getByLabel('For Cursor', { exact: true }).innerText()).toContain(url.trim());
    await button('Rotate the token').click();
    await agree('Rotate the token');
    await expect.poll(() => page.getByLabel('Access URL', { exact: true }).innerText()).not.toBe(url);
  });

  test('Servers: new restrictions are compared with recorded calls, and narrowed', async () => {
    const { accessUrl, serverId } = await shop(service);
    await rpc(accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: {
        connectorId: 'sandbox',
        actionId: 'create_customer',
        parameters: { name: 'Ada', email: 'ada@example.com', country: 'FR' },
      },
    });
    await service.context.executions.flush();
    await go(`/servers/${serverId}`);
    await page.getByRole('region', { name: 'Restrictions' }).getByRole('button', { name: 'Change' }).click();
    await page.getByRole('checkbox', { name: 'Write' }).first().uncheck();
    await button('Compare with recorded calls').click();
    const recorded = page.getByRole('table', { name: 'Recorded calls' });
    await recorded.getByText('sandbox.create_customer').waitFor();
    await recorded.getByText('denied').waitFor();
    await page.getByRole('checkbox', { name: 'Write' }).first().check();
    await expect.poll(() => recorded.count()).toBe(0);
    await button('Compare with recorded calls').click();
    await button('Allow only the actions in use').click();
    await page.getByRole('region', { name: 'Restrictions' }).getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () =>
        (await service.call('GET', `/api/servers/${serverId}`)).at('restrictions.actions.allowedActions'),
      )
      .toEqual(['sandbox.create_customer']);
  });

  test('Servers: restrictions are edited, simulated, and an agent is stopped', async () => {
    await go(`/servers/${seed.serverId}`);
    const section = page.getByRole('region', { name: 'Restrictions' });
    await section.getByRole('button', { name: 'Change' }).click();
    await section
      .getByRole('group', { name: 'Allowed effects' })
      .getByRole('checkbox', { name: 'Write' })
      .uncheck();
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('only read and destructive').waitFor();
    const simulation = page.getByRole('region', { name: 'Simulate a call' });
    await choose('Connector', /Sandbox/, simulation);
    await choose('Action', /send_message/, simulation);
    await simulation.getByRole('button', { name: 'Simulate' }).click();
    await simulation.getByText('A rule would deny the call').waitFor();
    await page.getByRole('switch').first().press('Space');
    await page.getByRole('dialog').getByRole('button').last().click();
    await page.getByText('The server is switched off.').waitFor();
    const { body } = await service.call('GET', `/api/servers/${seed.serverId}`);
    expect(body).toMatchObject({
      enabled: false,
      restrictions: { effects: { allowed: ['read', 'destructive'] } },
    });
  });

  test('Servers: a budget is added in the form and read as a sentence', async () => {
    await go(`/servers/${seed.serverId}`);
    const section = page.getByRole('region', { name: 'Budgets' });
    await section.getByText('Calls are not limited.').waitFor();
    await section.getByRole('button', { name: 'Change' }).click();
    await section.getByRole('button', { name: 'Add a budget' }).click();
    await section.getByLabel('Calls').fill('20');
    await choose('Effect', /write/, section);
    await choose('Of', /each action/, section);
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('At most 20 write calls of each action within a day').waitFor();
    const { body } = await service.call('GET', `/api/servers/${seed.serverId}`);
    expect(body).toMatchObject({ budgets: [{ per: 'action', effect: 'write', limit: 20, window: '1d' }] });
    await page
      .getByText('after 10 failed calls in a row, an action of an account is stopped for 60 s')
      .waitFor();
  });

  test('Feedback: reports of agents stand next to searches that led to no call', async () => {
    const { body } = await service.call('GET', `/api/servers/${seed.serverId}`);
    await service.call('PUT', `/api/servers/${seed.serverId}`, { body: { enabled: true } });
    const accessUrl = String(Object(body).accessUrl);
    await rpc(accessUrl, 'tools/call', {
      name: 'report_problem_svc',
      arguments: { message: 'The order was not found.', tool: 'sandbox.get_order' },
    });
    await go('/feedback');
    await page.getByText('The order was not found.').waitFor();
    await page.getByText('No such search').waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'sandbox.get_order' }).count()).toBe(1);
  });

  test('Executions: a failed call leads to its account, its server and who decided', async () => {
    await go('/executions?outcome=failed');
    await page.getByRole('link', { name: 'sandbox.fail' }).last().click();
    await page.getByText('The app failed').waitFor();
    await page.getByText(/^Sandbox .*HTTP 503/).waitFor();
    await page.getByRole('link', { name: 'Who approved this definition' }).click();
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    await page.getByText('No person or key approved this definition.').waitFor();
    await button('Remove the filters').click();
    await button('Who changed a server?').click();
    await page
      .getByRole('button', { name: `Only the target ${seed.serverId}` })
      .first()
      .waitFor();
    expect(page.url()).toContain('operation=updateServer');
  });

  test('Executions: what the settings store of calls is shown, and nothing else', async () => {
    const call = async (payloads: string) => {
      await service.call('PUT', '/api/settings', { body: { payloads } });
      await expect
        .poll(async () => {
          await service.call('POST', '/connectors/sandbox/actions/list_products/execute', {
            headers: { 'x-svc-userid': seed.userId },
            body: { input: { limit: 3 } },
          });
          await service.context.executions.flush();
          const list = await service.call('GET', '/api/executions?limit=1');
          const id = list.text('data.0.executionId');
          const one = await service.call('GET', `/api/executions/${id}`);
          return one.at('input') === undefined ? 'messages' : 'all';
        })
        .toBe(payloads);
      await go('/executions');
      await page.getByRole('link', { name: 'sandbox.list_products' }).first().click();
      await page.getByRole('region', { name: 'Facts' }).waitFor();
    };
    await call('all');
    await page.getByLabel('Input', { exact: true }).getByText('"limit": 3').waitFor();
    await call('messages');
    expect(await page.getByRole('region', { name: 'Input and output' }).count()).toBe(0);
  });

  test('Executions: a call is undone by a button that asks first', async () => {
    const made = await service.call('POST', '/connectors/sandbox/actions/create_customer/execute', {
      headers: { 'x-svc-userid': seed.userId },
      body: { input: { name: 'Grace', email: 'grace@northwind.example' } },
    });
    const customerId = made.text('data.id');
    const list = await service.call('GET', '/api/executions?actionId=create_customer&limit=1');
    await go(`/executions/${list.text('data.0.executionId')}`);
    const undo = page.getByRole('region', { name: 'Undo' });
    await undo.getByText('It can be undone until').waitFor();
    await undo.getByRole('button', { name: 'Undo this call' }).click();
    const dialog = page.getByRole('dialog', { name: 'Undo sandbox.create_customer?' });
    await dialog.getByRole('button', { name: 'Undo this call' }).click();
    await undo.getByText('This call was undone by').waitFor();
    expect(await undo.getByRole('button').count()).toBe(0);
    const read = await service.call('POST', '/connectors/sandbox/actions/get_customer/execute', {
      headers: { 'x-svc-userid': seed.userId },
      body: { input: { customerId } },
    });
    expect(read.status).toBe(422);
    await undo.getByRole('link', { name: 'a later call' }).click();
    await undo.getByText('This call undid').waitFor();
  });

  test('Accounts: one that stopped working gets a link to reconnect', async () => {
    await go('/');
    await page.getByRole('link', { name: 'Accounts to reconnect' }).click();
    await page.getByText('The app refused the key: it was revoked.').waitFor();
    await page.getByRole('link', { name: 'Sandbox' }).first().click();
    await button('Reconnect link').click();
    expect(await page.getByLabel('Link for the user', { exact: true }).innerText()).toContain(
      `${service.url}/connect/`,
    );
    await agree('Close');
    await button('Check now').click();
    await page.getByText('The app accepts the account.').waitFor();
  });

  test('Users: one is found by a part of the name, and gets a link to connect', async () => {
    await go('/users');
    await page.getByRole('textbox', { name: 'Part of a username, or a user id' }).fill('Ada@north');
    await expect.poll(() => page.getByRole('table', { name: 'Users' }).getByRole('link').count()).toBe(1);
    await page.getByRole('link', { name: 'ada@northwind.example' }).click();
    await button('Connect link').click();
    await agree('Make the link');
    expect(await page.getByLabel('Link for the user', { exact: true }).innerText()).toContain(
      `${service.url}/connect/`,
    );
    await agree('Close');
  });

  test('Connectors: a file and an OpenAPI document are added, and the changes approved', async () => {
    await go('/connectors');
    await page.getByRole('link', { name: 'Add a connector' }).click();
    await page.getByText('Connector file', { exact: true }).click();
    await page
      .getByRole('textbox', { name: 'Content' })
      .fill(NOTES.replace('description: An', 'descriptio: An'));
    await button('Add the connector').click();
    await page.getByText('Nothing was stored').waitFor();
    await page.getByRole('textbox', { name: 'Content' }).fill(NOTES);
    await button('Add the connector').click();
    await expect.poll(async () => (await service.call('GET', '/connectors/notes')).status).toBe(200);
    // The first comparison takes what is installed as approved.
    await service.call('GET', '/api/tools/changes');
    await go('/add-connector');
    await page.getByRole('textbox', { name: 'Content' }).fill(SHOP);
    await button('Only check it').click();
    await page.getByText('Checked. Nothing was stored').waitFor();
    await page.getByText('of 1 operation became').waitFor();
    await page.getByText('Connector file', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Content' }).fill(NOTES.replaceAll('notes', 'memos'));
    await button('Only check it').click();
    await page.getByText('It would be the connector memos').waitFor();
    for (const id of ['memos', 'corner-shop'])
      expect((await service.call('GET', `/connectors/${id}`)).status).toBe(404);
    await service.call('PUT', '/api/connectors/notes', {
      body: { definition: NOTES.replace('Lists the notes.', 'Lists all notes of the account.') },
    });
    await go('/definition-changes?connectorId=notes');
    await button('Select all').click();
    await button(/^Approve \d+ definition/).click();
    await page.getByText('Nothing to approve').waitFor();
  });

  test('Playground: an action runs by a form of its schema, also in a slow browser', async () => {
    await go('/playground');
    const browserProtocol = await page.context().newCDPSession(page);
    await browserProtocol.send('Emulation.setCPUThrottlingRate', { rate: 6 });
    await choose('User', /ada@northwind/);
    await choose('Connector', /Sandbox/);
    await choose('Action', /list_products/);
    await page.getByText('Ctrl+Enter runs it too.').waitFor();
    await button('Run').click();
    await page.getByRole('region', { name: 'Result' }).getByText('200').first().waitFor();
    const last = async () => (await service.call('GET', '/api/executions?limit=1')).at('data.0.actionId');
    await expect.poll(last).toBe('list_products');
    await browserProtocol.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  });

  test('Webhooks: attempts of a delivery are read, and it is sent again', async () => {
    await go('/webhooks');
    await page.getByRole('figure', { name: 'Deliveries by state' }).getByText('Arrived').waitFor();
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('button', { name: '1 attempt' }).click();
    await page.getByRole('dialog').getByText('the database of the receiver is down').waitFor();
    await page.keyboard.press('Escape');
    receiver.answer = (_, res) => res.writeHead(200).end();
    await button('Replay').click();
    await agree('Replay');
    await receiver.arrived(2);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('succeeded').waitFor();
    expect(receiver.received).toHaveLength(2);
  });

  test('Executions: an unknown outcome in the address shows all calls', async () => {
    await go('/executions?outcome=nonsense');
    expect(await page.getByRole('radio', { name: 'All', exact: true }).isChecked()).toBe(true);
    const rows = page.getByRole('table', { name: 'Executions' }).locator('tbody tr');
    expect(await rows.count()).toBeGreaterThan(1);
  });

  test('Workflows: a failed run shows its steps and is retried', async () => {
    await go('/workflows?status=failed');
    await go(`/workflows/${seed.workflowId}/runs/${seed.failedRunId}`);
    await page.getByText('The step broken failed').waitFor();
    await page.getByText('sandbox.fail', { exact: true }).waitFor();
    const endOf = async () =>
      (await service.call('GET', `/workflows/${seed.workflowId}/runs/${seed.failedRunId}`)).at('endedAt');
    const before = await endOf();
    await button('Retry').click();
    await agree('Retry');
    await expect.poll(endOf).not.toBe(before);
  });

  test('Workflows: installations are shown in pages', async () => {
    const steps = [{ stepId: 'fixed', connectorId: 'sandbox', actionId: 'fail', input: { status: 422 } }];
    const made = await service.call('POST', '/workflows', {
      body: { name: 'Reminder', definition: { trigger: { type: 'manual' }, steps } },
    });
    const workflowId = made.text('workflowId');
    for (let reader = 1; reader <= 26; reader++) {
      const userId = await connectedUser(service, `reader-${reader}`);
      const path = `/workflows/${workflowId}/install?userId=${userId}`;
      const { status } = await service.call('POST', path, { body: {} });
      expect([reader, status]).toEqual([reader, 201]);
    }
    await go(`/workflows/${workflowId}`);
    const rows = page.getByRole('table', { name: 'Installations' }).locator('tbody tr');
    expect(await rows.count()).toBe(25);
    await page.getByText('Oldest installations').waitFor();
    await button('Later').click();
    await page.getByText('Later installations').waitFor();
    await rows.getByText('reader-26').waitFor();
    expect(await rows.count()).toBe(1);
    await page.goBack();
    await page.getByText('Oldest installations').waitFor();
    expect(await rows.count()).toBe(25);
  });

  test('Workflows: a new version gets a step, and its draft runs for a user', async () => {
    await go(`/workflows/${seed.workflowId}`);
    await page.getByRole('link', { name: 'Edit' }).click();
    await choose('Connector', /Sandbox/);
    await choose('Action', /list_customers/);
    await button('Add the step').click();
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Trigger and steps, as JSON' }).inputValue())
      .toContain('"actionId": "list_customers"');
    await choose('User', /ada@northwind/);
    await button('Run a draft').click();
    await page.getByRole('heading', { level: 1, name: 'Run of Nightly report' }).waitFor();
    await page.getByText('The step broken failed').waitFor();
    await page.getByText('sandbox.fail', { exact: true }).waitFor();
  });

  test('API keys: one is created, shown once, and revoked', async () => {
    await go('/keys');
    await button('Create a key').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('dashboard');
    await dialog.getByRole('button', { name: 'All that read' }).click();
    await dialog.getByRole('button', { name: 'Create the key' }).click();
    await page.getByText(/gh_dev_\w{49}/).waitFor();
    await agree('I have copied it');
    const row = page.getByRole('row', { name: /dashboard/ });
    await row.getByText('never').first().waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await agree('Revoke');
    await expect.poll(() => row.count()).toBe(0);
  });

  test('Settings: a change is saved, and the way back to yesterday is named', async () => {
    await go('/settings');
    await page.getByText('gatehouse restore', { exact: false }).first().waitFor();
    await page.getByRole('textbox', { name: /^Origins/ }).fill('https://app.northwind.example');
    await button('Save the settings').click();
    await page.getByText('The settings are saved.').waitFor();
    const settings = await service.call('GET', '/api/settings');
    expect(settings.at('origins')).toEqual(['https://app.northwind.example']);
  });

  test.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('every page is accessible and fits in %s at %i px', async (colorScheme, width) => {
    const other = await browser.open(`${service.url}/console`, {
      colorScheme,
      viewport: { width, height: 800 },
    });
    await signInWithKey(other, service.developmentKey);
    await loaded(other);
    const found: unknown[] = [];
    for (const path of PATHS.map((one) => one(seed))) {
      await go(path, other);
      const faults = [...(await violations(other)), ...(await overflow(other))];
      if (faults.length > 0) found.push({ path, faults });
    }
    expect(found).toEqual([]);
    await other.context().close();
  });

  test('no page had an error or broke its policy', () => {
    expect(browser.faults).toEqual([]);
  });
});

const PATHS: ((seed: ConsoleSeed) => string)[] = [
  () => '/servers',
  () => '/servers/new',
  ({ serverId }) => `/servers/${serverId}`,
  () => '/users',
  ({ brokenUserId }) => `/users/${brokenUserId}`,
  () => '/accounts',
  () => '/connectors?category=sandbox',
  () => '/connectors/sandbox',
  () => '/add-connector',
  () => '/definition-changes',
  ({ userId }) => `/playground?userId=${userId}&connectorId=sandbox&actionId=list_orders`,
  ({ userId, serverId }) =>
    `/playground?kind=tool&serverId=${serverId}&userId=${userId}&tool=read_result_svc`,
  () => '/webhooks',
  ({ subscriptionId }) => `/webhooks/${subscriptionId}`,
  () => '/workflows',
  () => '/workflows/runs?status=failed',
  ({ workflowId }) => `/workflows/${workflowId}`,
  ({ workflowId }) => `/workflows/${workflowId}/edit`,
  ({ workflowId, failedRunId }) => `/workflows/${workflowId}/runs/${failedRunId}`,
  ({ failedExecutionId }) => `/executions/${failedExecutionId}`,
  () => '/feedback',
  () => '/keys',
  () => '/audit',
  () => '/settings',
];
