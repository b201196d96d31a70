import type { FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endSuccess, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';
import { manual, message } from '../support/workflows.ts';

describe.skipIf(!HAS_BROWSER)('installing a workflow', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  const fields = {
    properties: {
      recipient: { type: 'string', title: 'Send to', format: 'email', description: 'Who hears of it.' },
      days: { type: 'integer', title: 'Days', minimum: 1, maximum: 30, default: 7 },
      tone: { enum: ['warm', 'cool'], title: 'Tone', default: 'warm' },
      weekends: { type: 'boolean', title: 'Weekends too' },
      tags: { type: 'array', items: { type: 'string' }, title: 'Tags' },
      key: { type: 'string', title: 'Key', writeOnly: true },
    },
    required: ['recipient'],
  };
  const open = async (
    definition: unknown,
  ): Promise<{ page: Page; modal: FrameLocator; workflowId: string }> => {
    const name = `Digest ${Math.random().toString(36).slice(2, 7)}`;
    const made = await web.service.call('POST', '/workflows', { body: { name, definition } });
    const workflowId = made.text('workflowId');
    const page = await web.visit();
    return { page, modal: await web.install(page, { workflowId }), workflowId };
  };
  const installed = (workflowId: string) => web.service.call('GET', `/workflows/${workflowId}/installations`);
  const button = (modal: FrameLocator, name: string) => modal.getByRole('button', { name, exact: true });

  test('an installation connects the app it needs, reads the fields and reports once', async () => {
    const { page, modal, workflowId } = await open(
      manual([message('a', 'x')], { configurableFields: fields }),
    );
    await modal.getByRole('heading', { name: /^Set up “Digest/ }).waitFor();
    await modal.getByRole('textbox', { name: 'Send to' }).fill('boss@example.com');
    await button(modal, 'Set up').click();
    await modal.getByText('Please connect an account of Sandbox first.').waitFor();

    await button(modal, 'Connect Sandbox').click();
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_ada');
    await button(modal, 'Connect Sandbox').click();

    await modal.getByRole('heading', { name: /^Set up “Digest/ }).waitFor();
    expect(await modal.getByRole('textbox', { name: 'Send to' }).inputValue()).toBe('boss@example.com');
    expect(await modal.getByRole('textbox', { name: 'Days' }).inputValue()).toBe('7');
    await modal.getByRole('textbox', { name: 'Days' }).fill('14');
    await modal.getByRole('combobox', { name: 'Tone' }).selectOption('cool');
    await modal.getByRole('combobox', { name: 'Weekends too' }).selectOption('Yes');
    await modal.getByRole('textbox', { name: 'Tags' }).fill('["a", "b"]');
    await modal.getByLabel('Key', { exact: false }).first().fill('canary-5513');
    await button(modal, 'Set up').click();
    await modal.getByRole('heading', { name: /is set up$/ }).waitFor();
    await endSuccess(page, modal);

    const { called, promised } = await resultsOf(page);
    expect(called).toEqual([
      { success: true, workflowId, installationId: expect.stringMatching(/^ins_/), version: 1 },
    ]);
    expect(promised).toEqual(called);
    expect((await installed(workflowId)).at('data.0')).toMatchObject({
      userId: web.userId,
      config: {
        recipient: 'boss@example.com',
        days: 14,
        tone: 'cool',
        weekends: true,
        tags: ['a', 'b'],
        key: '[secret]',
      },
    });
  });

  test('an installation shows faults next to the field, both ours and the service’s', async () => {
    const { modal } = await open(manual([{ stepId: 'm', map: '1' }], { configurableFields: fields }));
    await modal.getByRole('textbox', { name: 'Days' }).fill('many');
    await button(modal, 'Set up').click();
    await modal.getByText('Please fill in: Send to.').waitFor();
    await modal.getByText('This does not look right. It looks like this: 3').waitFor();
    await modal.getByRole('textbox', { name: 'Send to' }).fill('boss@example.com');
    await modal.getByRole('textbox', { name: 'Days' }).fill('99');
    await button(modal, 'Set up').click();
    const fault = modal.getByText('Must be <= 30.');
    await fault.waitFor();
    expect(await modal.getByRole('textbox', { name: 'Days' }).getAttribute('aria-invalid')).toBe('true');
  });

  test('an installed workflow shows the stored values, and changes them', async () => {
    const { page, modal, workflowId } = await open(
      manual([{ stepId: 'm', map: '1' }], { configurableFields: fields }),
    );
    await modal.getByRole('textbox', { name: 'Send to' }).fill('boss@example.com');
    await button(modal, 'Set up').click();
    await endSuccess(page, modal);
    await resultsOf(page);
    const again = await web.install(page, { workflowId });
    await again.getByRole('heading', { name: /^Set up/ }).waitFor();
    expect(await again.getByRole('textbox', { name: 'Send to' }).inputValue()).toBe('boss@example.com');
    await again.getByRole('textbox', { name: 'Send to' }).fill('other@example.com');
    await button(again, 'Save').click();
    await endSuccess(page, again);
    await expect
      .poll(async () => (await installed(workflowId)).at('data.0.config.recipient'))
      .toBe('other@example.com');
  });

  test('an installation that is closed or of an unknown workflow reports it once', async () => {
    const { page, modal } = await open(manual([{ stepId: 'm', map: '1' }]));
    await modal.getByRole('heading', { name: /^Set up/ }).waitFor();
    await page.keyboard.press('Escape');
    expect((await resultsOf(page)).called).toMatchObject([{ success: false, error: 'closed' }]);
    const other = await web.visit();
    const unknown = await web.install(other, { workflowId: 'wf_0000000000000000000000' });
    await unknown.getByText('There is no workflow').waitFor();
    await button(unknown, 'Close').last().click();
    expect((await resultsOf(other)).called).toMatchObject([{ success: false, error: 'workflow_not_found' }]);
  });

  /** Fills in a form in a browser that opens no windows, up to the choice of how to connect the sandbox. */
  const blocked = async (script = ''): Promise<{ page: Page; modal: FrameLocator; workflowId: string }> => {
    const made = await web.service.call('POST', '/workflows', {
      body: {
        name: `Blocked ${Math.random().toString(36).slice(2, 7)}`,
        definition: manual([message('a', 'x')], { configurableFields: fields }),
      },
    });
    const workflowId = made.text('workflowId');
    const context = await web.context();
    await context.addInitScript(`window.open = () => null; ${script}`);
    const page = await web.visit(context, '/?tab=flows');
    const modal = await web.install(page, { workflowId });
    await modal.getByRole('textbox', { name: 'Send to' }).fill('boss@example.com');
    await modal.getByRole('textbox', { name: 'Days' }).fill('');
    await modal.getByRole('combobox', { name: 'Weekends too' }).selectOption('Yes');
    await modal.getByRole('textbox', { name: 'Tags' }).fill('["a"');
    await modal.getByLabel('Key', { exact: false }).first().fill('canary-7021');
    await modal.getByRole('button', { name: /^Connect (another )?Sandbox/ }).click();
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    await button(modal, 'Continue to Sandbox').click();
    await modal.getByRole('heading', { name: 'Your browser blocked the window' }).waitFor();
    return { page, modal, workflowId };
  };
  /** Goes to the sandbox with the whole page, answers there, and returns. */
  const thereAndBack = async (page: Page, modal: FrameLocator, answer: string): Promise<void> => {
    await button(modal, 'Go to Sandbox and come back').click();
    await page.getByRole('button', { name: 'Continue to Sandbox' }).click();
    await page.getByRole('button', { name: answer }).click();
    await page.waitForURL(`${web.host}/**`);
    // The page gets its token a while after it asked for the result of the redirect.
    expect(page.url()).toBe(`${web.host}/?tab=flows`);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await page.evaluate(`Gatehouse.setToken(${JSON.stringify(web.token)})`);
    await modal.getByRole('heading', { name: /^Set up “Blocked/ }).waitFor();
  };
  const standing = async (modal: FrameLocator) => ({
    recipient: await modal.getByRole('textbox', { name: 'Send to' }).inputValue(),
    days: await modal.getByRole('textbox', { name: 'Days' }).inputValue(),
    weekends: await modal.getByRole('combobox', { name: 'Weekends too' }).inputValue(),
    tags: await modal.getByRole('textbox', { name: 'Tags' }).inputValue(),
    key: await modal.getByLabel('Key', { exact: false }).first().inputValue(),
  });
  const typed = {
    recipient: 'boss@example.com',
    days: '',
    weekends: 'Yes',
    tags: '["a"',
    key: 'canary-7021',
  };

  test('an installation with blocked windows goes on after the page was at the app', async () => {
    const { page, modal, workflowId } = await blocked();
    await thereAndBack(page, modal, 'Allow');
    expect(await standing(modal)).toEqual(typed);
    const accounts = await web.service.call('GET', `/users/${web.userId}/credentials`, {
      headers: { 'x-svc-userid': web.userId },
    });
    const newest = [accounts.at('data')].flat().find((one) => Object(one).type === 'oauth2');
    const { credentialId } = Object(newest);
    expect(await modal.getByRole('combobox', { name: 'Sandbox account' }).inputValue()).toBe(credentialId);
    // The draft is removed from this tab.
    expect(await modal.locator(':root').evaluate(() => sessionStorage.length)).toBe(0);

    await modal.getByRole('textbox', { name: 'Tags' }).fill('["a"]');
    await button(modal, 'Set up').click();
    await endSuccess(page, modal);
    const { called, promised } = await resultsOf(page);
    expect(called).toMatchObject([{ success: true, workflowId, version: 1 }]);
    expect(promised).toEqual(called);
    expect((await installed(workflowId)).at('data.0')).toMatchObject({
      config: { recipient: 'boss@example.com', weekends: true, tags: ['a'], key: '[secret]' },
      credentials: { sandbox: credentialId },
    });
    await page.reload();
    expect(await page.evaluate('resumed')).toBeUndefined();
  });

  test('an installation with blocked windows shows a denial above the typed values', async () => {
    const { page, modal } = await blocked();
    await thereAndBack(page, modal, 'Deny');
    await modal.getByRole('alert').getByText('You did not give Gatehouse access to Sandbox').waitFor();
    expect(await standing(modal)).toEqual(typed);
    expect(await page.evaluate('called')).toEqual([]);
    await page.keyboard.press('Escape');
    const { called, promised } = await resultsOf(page);
    expect(called).toMatchObject([{ success: false, error: 'closed' }]);
    expect(promised).toEqual(called);
  });

  test('an installation with blocked windows and no storage opens a tab', async () => {
    const { page, modal } = await blocked(
      `if (top !== window) Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('denied'); } });`,
    );
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      modal.getByRole('link', { name: 'Open Sandbox in a new tab' }).click(),
    ]);
    await tab.getByRole('button', { name: 'Allow' }).click();
    await modal.getByRole('heading', { name: /^Set up “Blocked/ }).waitFor();
    expect(await standing(modal)).toEqual(typed);
  });

  test('an installation in the modal needs a workflowId', async () => {
    const page = await web.visit();
    expect(
      await page.evaluate('try { Gatehouse.install({}); "ran" } catch (error) { error.message }'),
    ).toContain('workflowId is missing');
  });
});
