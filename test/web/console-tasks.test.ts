import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loaded, signInWithKey, startConsoleBrowser, type ConsoleBrowser } from '../support/console.ts';
import { seedConsole, type ConsoleSeed } from '../support/console-seed.ts';
import { rpc } from '../support/mcp.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { HAS_BROWSER } from '../support/web.ts';

/* The paths of "Ten tasks of an operator" in docs/console.md, click by click. */

const CONNECTOR = (description: string) => `id: notes
name: Notes
description: An app of the tests.
categories: [productivity]
website: https://notes.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: https://api.notes.example.com
authentication:
  - {type: bearer}
actions:
  list_notes: {description: ${description}, request: GET /notes}
`;

/** A row of the page: a step is a name of the page (bold) or a thing that the reader looks for (slanted). */
interface Task {
  question: string;
  steps: { name: string; isExact: boolean }[];
  clicks: number;
}

const TASKS: Task[] = tasksOf(readFileSync(new URL('../../docs/console.md', import.meta.url), 'utf8'));

function tasksOf(document: string): Task[] {
  const section = document.split('## Ten tasks of an operator')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| .* \| \d+ \|$/.test(line));
  return rows.map((line) => {
    const [question = '', path = '', clicks = ''] = line.slice(2, -2).split(' | ');
    const steps = path.split(' › ').map((step) => {
      const [, bold, slanted] = /\*\*(.+?)\*\*|\*(.+?)\*/.exec(step) ?? [];
      return { name: bold ?? slanted ?? '', isExact: bold !== undefined };
    });
    return { question, steps, clicks: Number(clicks) };
  });
}

describe.skipIf(!HAS_BROWSER)('the tasks of an operator', () => {
  let service: Service;
  let receiver: Receiver;
  let browser: ConsoleBrowser;
  let seed: ConsoleSeed;
  let page: Page;

  beforeAll(async () => {
    receiver = await startReceiver();
    service = await startService({ env: { GATEHOUSE_RETRY_SCHEDULE: '0.05' } });
    seed = await seedConsole(service, receiver);
    await approvedByAnna();
    await callOfAgent();
    await until(async () => (await subscription()).at('deadDeliveries') === 1);
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

  const subscription = () => service.call('GET', `/webhooks/${seed.subscriptionId}`);
  const run = () => service.call('GET', `/workflows/${seed.workflowId}/runs/${seed.failedRunId}`);

  /** Changes a definition, which a key of its own approves. */
  async function approvedByAnna(): Promise<void> {
    await service.call('POST', '/api/connectors', { body: { definition: CONNECTOR('Lists the notes.') } });
    await service.call('GET', '/api/tools/changes');
    const anna = await service.call('POST', '/api/keys', {
      body: { name: 'anna', scopes: ['tools:read', 'tools:approve'] },
    });
    await service.call('PUT', '/api/connectors/notes', {
      body: { definition: CONNECTOR('Lists all notes of the account.') },
    });
    const changes = await service.call('GET', '/api/tools/changes?connectorId=notes');
    const tools = [
      { connectorId: 'notes', actionId: 'list_notes', hash: hashOf(changes.at('data'), 'list_notes') },
    ];
    const approved = await service.call('POST', '/api/tools/approve', {
      bearer: anna.text('key'),
      body: { tools },
    });
    expect(approved.status).toBe(200);
  }

  async function callOfAgent(): Promise<void> {
    const server = await service.call('GET', `/api/servers/${seed.serverId}`);
    await rpc(server.text('accessUrl'), 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId: 'list_customers', parameters: {} },
    });
  }

  /** Things that the paths name, as a reader finds them on the page. */
  const things: Record<string, () => Locator | Promise<Locator>> = {
    'the call': () => page.getByRole('link', { name: 'sandbox.fail' }).first(),
    'the switch': () =>
      // The track covers the input, and a person clicks it.
      page.getByRole('switch', { name: 'Support desk is switched on' }).locator('xpath=..'),
    'the connector': () => page.getByRole('link', { name: 'Notes' }),
    'Who approved it': () => page.getByRole('link', { name: 'Who approved list_notes' }),
    'the account': () =>
      page.getByRole('row', { name: /bob@northwind/ }).getByRole('link', { name: 'Sandbox' }),
    'the user': async () => {
      await page.getByRole('textbox', { name: 'Part of a username, or a user id' }).fill('Ada@north');
      return page.getByRole('link', { name: 'ada@northwind.example' });
    },
    'the server': () => page.getByRole('link', { name: 'Support desk' }),
    Tools: () => page.getByRole('link', { name: /^Tools: about [\d,]+ tokens$/ }),
    'the deliveries': () => page.getByRole('link', { name: '1 delivery' }),
    'the run': () => page.getByRole('link', { name: seed.failedRunId }),
    Rotate: () => page.getByRole('row', { name: /reporting/ }).getByRole('button', { name: 'Rotate' }),
  };

  /** Facts that the page or the service shows at the end of each path. */
  const ends: Record<string, () => Promise<unknown>> = {
    'Why did this call fail?': () => page.getByText(/Sandbox .*HTTP 422/).waitFor(),
    'Stop this agent at once': async () => {
      await page.getByText('Support desk is switched off.').waitFor();
      expect((await service.call('GET', `/api/servers/${seed.serverId}`)).at('enabled')).toBe(false);
      await service.call('PUT', `/api/servers/${seed.serverId}`, { body: { enabled: true } });
    },
    'Who approved this changed definition?': () =>
      page
        .getByRole('row', { name: /notes\.list_notes/ })
        .getByText('anna')
        .waitFor(),
    'This account stopped working': async () => {
      await page.getByText('The app refused the key: it was revoked.').waitFor();
      const link = await page.getByLabel('Link for the user', { exact: true }).innerText();
      expect(link).toContain(`${service.url}/connect/`);
    },
    'Restore yesterday': () =>
      page.getByLabel('Command of a restore').getByText('gatehouse restore gatehouse-').waitFor(),
    'What did the agent of a user do in the last hour?': () =>
      page
        .getByRole('row', { name: /sandbox\.list_customers/ })
        .getByText('Support desk')
        .waitFor(),
    'Which tools does this server show, and what do they cost?': () =>
      page
        .getByRole('region', { name: 'Tools' })
        .getByRole('button', { name: /execute_action_svc \d+ tokens/ })
        .waitFor(),
    'Why did no webhook arrive? Send it again': async () => {
      await receiver.arrived(3);
      await until(async () => (await subscription()).at('deadDeliveries') === 0);
    },
    'A run stopped: at which step, and why? Retry it': async () => {
      const before = firstEnd;
      await expect.poll(async () => (await run()).at('endedAt')).not.toBe(before);
    },
    'Replace a leaked key without an outage': async () => {
      const keys = await service.call('GET', '/api/keys');
      expect(keys.body).toMatchObject({
        data: expect.arrayContaining([
          expect.objectContaining({ name: 'reporting', previousExpiresAt: null }),
        ]),
      });
      await page.getByText('The earlier secret of reporting has ended.').waitFor();
    },
  };
  let firstEnd: unknown;

  test('the tasks of an operator are ten, and each has a count of its clicks', () => {
    expect(TASKS.map(({ question }) => question)).toEqual(Object.keys(ends));
    expect(TASKS.map(({ steps }) => steps.length)).toEqual(TASKS.map(({ clicks }) => clicks));
  });

  test.each(TASKS)('an operator finds the answer on the console: $question', async ({ question, steps }) => {
    receiver.answer = (_, res) => res.writeHead(200).end();
    firstEnd = (await run()).at('endedAt');
    await page.goto(`${service.url}/console`);
    for (const { name, isExact } of steps) {
      const target = isExact ? named(name) : await things[name]?.();
      if (!target) throw new Error(`The page has no ${name}`);
      await target.click();
    }
    await ends[question]?.();
    expect(browser.faults).toEqual([]);
  });

  /** Returns the link or button of this name: in the dialog, where one is open. */
  function named(name: string): Locator {
    const one = (within: Page | Locator) =>
      within.getByRole('link', { name, exact: true }).or(within.getByRole('button', { name, exact: true }));
    const dialog = one(page.getByRole('dialog'));
    return dialog.or(one(page.locator('body:not(:has([role=dialog]))'))).first();
  }
});

function hashOf(changes: unknown, actionId: string): unknown {
  const found = Array.isArray(changes) ? changes.find((one) => Object(one).actionId === actionId) : undefined;
  return Object(found).hash;
}
