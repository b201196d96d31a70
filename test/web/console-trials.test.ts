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
import { seedConsole, type ConsoleSeed } from '../support/console-seed.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { HAS_BROWSER } from '../support/web.ts';

/* The playground with tools of a server, and the test of one step of a workflow. */

const SERVER = {
  name: 'Back office',
  toolMode: 'direct',
  restrictions: { connectors: { allowedIds: ['sandbox', 'everything'] }, confirm: ['destructive'] },
};

/** A workflow whose second step reads the first one. */
const WORKFLOW = {
  trigger: { type: 'manual' },
  configurableFields: {
    type: 'object',
    properties: { recipient: { type: 'string', format: 'email', description: 'Who gets the message.' } },
    required: ['recipient'],
  },
  steps: [
    { stepId: 'products', connectorId: 'sandbox', actionId: 'list_products', input: { limit: 2 } },
    {
      stepId: 'notify',
      connectorId: 'sandbox',
      actionId: 'send_message',
      input: { to: '=config.recipient', text: "='First: ' & steps.products.data[0].name" },
    },
    { stepId: 'pause', wait: 'P3D' },
    {
      stepId: 'each',
      connectorId: 'sandbox',
      actionId: 'get_product',
      forEach: 'steps.products.data.id',
      input: { productId: '=item' },
    },
  ],
};

describe.skipIf(!HAS_BROWSER)('trials in the console', () => {
  let service: Service;
  let receiver: Receiver;
  let browser: ConsoleBrowser;
  let seed: ConsoleSeed;
  let serverId: string;
  let workflowId: string;
  let page: Page;

  beforeAll(async () => {
    receiver = await startReceiver();
    service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
    seed = await seedConsole(service, receiver);
    const headers = { 'x-svc-userid': seed.userId };
    serverId = (await service.call('POST', '/api/servers', { headers, body: SERVER })).text('serverId');
    const made = await service.call('POST', '/workflows', {
      body: { name: 'Product news', definition: WORKFLOW },
    });
    workflowId = made.text('workflowId');
    browser = await startConsoleBrowser();
    page = await signedIn(service.developmentKey);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await service?.stop();
    await receiver?.[Symbol.asyncDispose]();
  });

  const signedIn = async (key: string): Promise<Page> => {
    const opened = await browser.open(`${service.url}/console`, { viewport: { width: 1280, height: 900 } });
    await signInWithKey(opened, key);
    await loaded(opened);
    return opened;
  };
  const go = async (path: string, at = page) => {
    await at.goto(`${service.url}/console${path}`);
    await loaded(at);
  };
  const button = (name: string | RegExp, at = page) => at.getByRole('button', { name, exact: true });
  const choose = async (label: string, option: string | RegExp, at = page) => {
    await at.getByLabel(label, { exact: true }).first().click();
    await at.getByRole('option', { name: option }).first().click();
  };
  const result = () => page.getByRole('region', { name: 'Result', exact: true });
  const tool = (name: string) =>
    `/playground?kind=tool&serverId=${serverId}&userId=${seed.userId}&tool=${name}`;
  /** Returns no fault when the page is accessible and nothing sticks out. */
  const faults = async (at = page) => [...(await violations(at)), ...(await overflow(at))];

  test('a tool is chosen among those that the agent of a user sees, and called', async () => {
    await go('/playground');
    await page.getByText('Call a tool', { exact: true }).click();
    await choose('MCP server', 'Back office');
    await expect.poll(() => page.getByLabel('User', { exact: true }).first().inputValue()).toContain('ada@');
    await choose('Tool', /sandbox_list_products/);
    await page.getByLabel('limit', { exact: true }).fill('2');
    await button('Run').click();
    await result().getByText('succeeded', { exact: true }).waitFor();
    expect(await result().getByLabel('Structured content', { exact: true }).innerText()).toContain('prd_101');
    await result().getByText('JSON', { exact: true }).click();
    expect(await result().getByLabel('Result as JSON', { exact: true }).innerText()).toContain('"content"');
    await result().getByRole('link', { name: 'Show the execution' }).click();
    await page.getByRole('heading', { level: 1, name: 'sandbox.list_products' }).waitFor();
    await page.getByRole('link', { name: 'Back office' }).first().waitFor();
  });

  test('an agreement is shown to the operator, who declines it or gives it', async () => {
    await go(tool('sandbox_delete_customer'));
    const ask = async () => {
      await page.getByLabel('customerId').first().fill('cus_1003');
      await button('Run').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Call sandbox_delete_customer' }).click();
      await page.getByRole('group', { name: 'Question to the user' }).getByText('cus_1003').waitFor();
    };
    await ask();
    expect(await faults()).toEqual([]);
    await button('Decline').click();
    await result().getByText('The tool answered with an error').waitFor();
    await ask();
    await button('Agree').click();
    await result().getByText('succeeded', { exact: true }).waitFor();
    const read = await service.call('POST', '/connectors/sandbox/actions/get_customer/execute', {
      headers: { 'x-svc-userid': seed.userId },
      body: { input: { customerId: 'cus_1003' } },
    });
    expect(read.status).toBe(422);
  });

  test('a question of an app is answered by its form, and the call goes on', async () => {
    await go(tool('test_elicitation'));
    await page.getByLabel('message').first().fill('Which colour has the door?');
    await button('Run').click();
    const question = page.getByRole('group', { name: 'Question to the user' });
    await question.getByText('Which colour has the door?').waitFor();
    await question.getByLabel('response').fill('green');
    await button('Send the answer').click();
    await result().getByText('green').waitFor();
    expect(await result().getByText('failed').count()).toBe(0);
  });

  test('images and other content of a tool are shown', async () => {
    await go(tool('test_multiple_content_types'));
    await button('Run').click();
    const image = result().getByRole('img', { name: /^Image of the result/ });
    await image.waitFor();
    expect(Number(await image.evaluate('document.querySelector("figure img").naturalWidth'))).toBeGreaterThan(
      0,
    );
    expect(await faults()).toEqual([]);
  });

  test('a call that the restrictions deny says so', async () => {
    await service.call('PUT', `/api/servers/${serverId}`, {
      body: { restrictions: { ...SERVER.restrictions, effects: { allowed: ['read'] } } },
    });
    await go(tool('execute_action_svc'));
    await page.getByLabel('connectorId').first().fill('sandbox');
    await page.getByLabel('actionId').first().fill('send_message');
    await button('Run').click();
    await result().getByText('failed', { exact: true }).waitFor();
    await result().getByText('effects.allowed').first().waitFor();
    expect(await result().getByLabel('Structured content', { exact: true }).textContent()).toContain(
      'restricted',
    );
    await service.call('PUT', `/api/servers/${serverId}`, { body: { restrictions: SERVER.restrictions } });
  });

  test('a key that may only look sees the tools and why it cannot call them', async () => {
    const scopes = ['servers:read', 'users:read', 'executions:read', 'connectors:read', 'workflows:read'];
    const made = await service.call('POST', '/api/keys', { body: { name: 'looks on', scopes } });
    const other = await signedIn(made.text('key'));
    await go(tool('list_connectors_svc'), other);
    await other.getByText('You may only look at the tools').waitFor();
    expect(await button('Run', other).isDisabled()).toBe(true);
    const refused = await service.call('POST', `/api/servers/${serverId}/call-tool`, {
      bearer: made.text('key'),
      body: { name: 'list_connectors_svc' },
    });
    expect([refused.status, refused.at('details.scope')]).toEqual([403, 'mcp:use']);
    await go(`/workflows/${workflowId}/edit`, other);
    await other.getByText('the scope workflows:run is missing', { exact: false }).waitFor();
    await other.context().close();
  });

  const openStep = async (stepId: string) => {
    await go(`/workflows/${workflowId}/edit`);
    await page.getByText('One step', { exact: true }).click();
    await choose('User', /ada@northwind/);
    await page.getByLabel('recipient').fill('ada@northwind.example');
    await choose('Step', new RegExp(`^${stepId} `));
  };
  const stepResult = () => page.getByRole('region', { name: 'Result of the step' });

  test('one step runs with a typed result, after a word about its effect', async () => {
    await openStep('notify');
    expect(await button('Run the step').isDisabled()).toBe(true);
    await page.getByText('Enter the result of products', { exact: false }).waitFor();
    await page.getByLabel('Result of products').fill('{"data": [{"name": "Typed lamp"}]}');
    await page.getByText('The effect of this step is real', { exact: false }).waitFor();
    await button('Run the step').click();
    await page.getByRole('dialog').getByText('Its effect is real: write.', { exact: false }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Run it' }).click();
    await stepResult().getByText('succeeded', { exact: true }).waitFor();
    expect(await stepResult().getByLabel('Input', { exact: true }).innerText()).toContain(
      'First: Typed lamp',
    );
    expect(await stepResult().getByLabel('Output', { exact: true }).innerText()).toContain('msg_');
    expect(await faults()).toEqual([]);
    await stepResult().getByRole('link', { name: 'Show the run' }).click();
    await page.getByText('none: a test of the step notify').waitFor();
    await page.getByText('given', { exact: true }).waitFor();
  });

  test('one step uses the results of the last test run', async () => {
    await openStep('products');
    await button('Run the step').click();
    await stepResult().getByText('succeeded', { exact: true }).waitFor();
    await choose('Step', /^each /);
    await page.getByText('Only the first item runs', { exact: false }).waitFor();
    await expect.poll(() => page.getByLabel('Result of products').inputValue()).toContain('"id": "prd_101"');
    await button('Run the step').click();
    await stepResult().getByText('Item 1:').waitFor();
    expect(await stepResult().getByText('Item 2:').count()).toBe(0);
    await choose('Step', /^pause /);
    await page.getByText('The wait does not pass', { exact: false }).waitFor();
    await button('Run the step').click();
    await stepResult().getByText('"until"', { exact: false }).waitFor();
  });

  test('a wrong input is explained by the schema of the action', async () => {
    await openStep('notify');
    await page.getByLabel('Result of products').fill('{"data": []}');
    await page.getByLabel('recipient').fill('not an address');
    await button('Run the step').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run it' }).click();
    await page.getByRole('dialog').getByText('config.recipient', { exact: false }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it as it is' }).click();
    await page.getByLabel('recipient').fill('ada@northwind.example');
    await page.getByRole('textbox', { name: 'Trigger and steps, as JSON' }).fill(
      JSON.stringify({
        ...WORKFLOW,
        steps: [{ ...WORKFLOW.steps[1], input: { to: '=config.recipient', text: '=steps.none' } }],
      }).replace('steps.none', 'trigger.input.none'),
    );
    await button('Run the step').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run it' }).click();
    await stepResult().getByText('failed', { exact: true }).waitFor();
    await stepResult().getByText('The schema of Send message says').waitFor();
    await stepResult().getByText('Text of the message.', { exact: false }).first().waitFor();
    expect(await faults()).toEqual([]);
  });

  test('no page had an error or broke its policy', () => {
    expect(browser.faults).toEqual([]);
  });
});
