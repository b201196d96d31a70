import type { FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';
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

  test('connects the app that it needs, takes the fields, and says so once', async () => {
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
    await button(modal, 'Done').click();

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

  test('shows what is wrong beside the field, ours and what the service says', async () => {
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

  test('that is installed already shows what stands there, and changes it', async () => {
    const { page, modal, workflowId } = await open(
      manual([{ stepId: 'm', map: '1' }], { configurableFields: fields }),
    );
    await modal.getByRole('textbox', { name: 'Send to' }).fill('boss@example.com');
    await button(modal, 'Set up').click();
    await button(modal, 'Done').click();
    await resultsOf(page);
    const again = await web.install(page, { workflowId });
    await again.getByRole('heading', { name: /^Set up/ }).waitFor();
    expect(await again.getByRole('textbox', { name: 'Send to' }).inputValue()).toBe('boss@example.com');
    await again.getByRole('textbox', { name: 'Send to' }).fill('other@example.com');
    await button(again, 'Save').click();
    await button(again, 'Done').click();
    await expect
      .poll(async () => (await installed(workflowId)).at('data.0.config.recipient'))
      .toBe('other@example.com');
  });

  test('closed or unknown, it says so once', async () => {
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

  test('needs a workflowId', async () => {
    const page = await web.visit();
    expect(
      await page.evaluate('try { Gatehouse.install({}); "ran" } catch (error) { error.message }'),
    ).toContain('workflowId is missing');
  });
});
