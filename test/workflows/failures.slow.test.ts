import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { until } from '../support/until.ts';
import { startLedger, type Ledger } from '../support/ledger.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { manual } from '../support/workflows.ts';

describe.each(STORE_KINDS)('failures on %s', (kind) => {
  let ledger: Ledger;
  let service: Service;
  let userId: string;
  let aheadMs = 0;
  beforeAll(async () => {
    ledger = await startLedger();
    service = await startService({
      kind,
      catalogFolder: ledger.catalogFolder,
      clock: { now: () => Date.now() + aheadMs },
    });
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  beforeEach(() => {
    ledger.calls.clear();
    ledger.answer = () => undefined;
  });
  afterAll(async () => {
    await service.stop();
    await ledger[Symbol.asyncDispose]();
  });

  async function runOf(definition: unknown, input: unknown = {}) {
    const made = await service.call('POST', '/workflows', {
      body: { name: `w ${Math.random()}`, definition },
    });
    expect([made.status, made.at('details')]).toEqual([201, undefined]);
    const workflowId = made.text('workflowId');
    await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: {} });
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`, {
      body: { input },
    });
    const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
    let run = await service.call('GET', path);
    const waited = new Set<unknown>();
    await until(async () => {
      run = await service.call('GET', path);
      // It waits for a retry, at most this long. A clock that moves during the retry would end its lease.
      const attempts = run.at('steps.0.attempts');
      if (run.at('status') === 'waiting' && !waited.has(attempts)) {
        waited.add(attempts);
        aheadMs += MINUTE;
      }
      return ['succeeded', 'failed'].includes(run.text('status'));
    });
    return { run, path };
  }
  const entry = { stepId: 'one', connectorId: 'ledger', actionId: 'post_entry', input: { n: 1 } };
  /** Rejects the first call of each key with this status. */
  const firstIs = (status: number, headers?: Record<string, string>) => {
    ledger.answer = (key) =>
      ledger.calls.get(key) === 1 ? { status, ...(headers ? { headers } : {}) } : undefined;
  };

  test('failures that may have taken effect are retried under the same key', async () => {
    firstIs(500);
    const { run } = await runOf(manual([{ ...entry, onError: { retry: 2 } }]));
    expect([run.at('status'), run.at('steps.0.attempts')]).toEqual(['succeeded', 2]);
    expect([...ledger.calls.values()]).toEqual([2]);
  });

  test('failures without effect are retried under a new key', async () => {
    let refused = false;
    ledger.answer = () => {
      if (refused) return undefined;
      refused = true;
      return { status: 422 };
    };
    const { run } = await runOf(manual([{ ...entry, onError: { retry: 1 } }]));
    expect(run.at('status')).toBe('succeeded');
    expect([...ledger.calls.keys()]).toEqual([
      expect.stringMatching(/^run_\w+\.0$/),
      expect.stringMatching(/^run_\w+\.0\.r1$/),
    ]);
  });

  test('failures that cannot change are not retried', async () => {
    const { host } = new URL(ledger.origin);
    const get = (more: object) => ({
      ...manual([
        {
          stepId: 'one',
          http: { method: 'GET', url: `${ledger.origin}/entries`, ...more },
          onError: { retry: 3 },
        },
      ]),
      allowedHosts: [host],
    });
    const missing = await runOf(manual([{ ...entry, input: { n: '="no number"' }, onError: { retry: 3 } }]));
    expect(missing.run.at('error.code')).toBe('invalid_request');
    const broken = await runOf(get({ headers: { 'X-Note': '=trigger.input.note' } }), { note: 'a\r\nb: c' });
    expect(broken.run.at('error.code')).toBe('invalid_request');
    expect(broken.run.text('error.error')).toContain('"x-note" holds a line break (CR or LF)');
    expect(ledger.calls.size).toBe(0);
    ledger.answer = () => ({ status: 403 });
    const refused = await runOf(get({}));
    expect(refused.run.at('error.details.status')).toBe(403);
    expect(ledger.calls.size).toBe(1);
    for (const { run } of [missing, broken, refused])
      expect([run.at('status'), run.at('steps.0.attempts')]).toEqual(['failed', 1]);
  });

  test('a failing step stops after its retries', async () => {
    ledger.answer = () => ({ status: 500 });
    const { run, path } = await runOf(manual([{ ...entry, onError: { retry: 1 } }]));
    expect([run.at('status'), run.at('steps.0.attempts')]).toEqual(['failed', 2]);
    ledger.answer = () => undefined;
    expect((await service.call('POST', `${path}/retry`)).status).toBe(202);
    await until(async () => (await service.call('GET', path)).at('status') === 'succeeded');
    expect((await service.call('GET', path)).at('steps.0.output.data.key')).toMatch(/\.r1$/);
  });

  test('a rate limited step waits, whatever it configures', async () => {
    let refusals = 0;
    // Gatehouse itself repeats a call fewer times than this.
    ledger.answer = () => (++refusals <= 4 ? { status: 429, headers: { 'retry-after': '1' } } : undefined);
    const { run } = await runOf(manual([entry]));
    expect(run.at('status')).toBe('succeeded');
    expect(run.at('steps.0.attempts')).toBeGreaterThan(1);
    expect(ledger.calls.size).toBe(1);
  });

  test('an http step calls allowed hosts only and carries a key', async () => {
    const { host } = new URL(ledger.origin);
    const http = (url: string) => ({
      stepId: 'call',
      http: { method: 'POST', url, body: { n: '=trigger.input.n' } },
    });
    const definition = { ...manual([http('=trigger.input.url')]), allowedHosts: [host] };
    const { run } = await runOf(definition, { url: `${ledger.origin}/entries`, n: 3 });
    expect(run.at('steps.0')).toMatchObject({ status: 'succeeded', output: { status: 200 } });
    expect([...ledger.calls.keys()]).toEqual([expect.stringMatching(/^run_\w+\.0$/)]);
    const elsewhere = await runOf(definition, { url: 'http://127.0.0.1:1/', n: 3 });
    expect(elsewhere.run.at('error.code')).toBe('invalid_request');
    ledger.answer = () => ({ status: 404 });
    const refused = await runOf(definition, { url: `${ledger.origin}/nothing`, n: 3 });
    expect(refused.run.at('error')).toMatchObject({ code: 'upstream_rejected', details: { status: 404 } });
  });

  test('no step runs after cancellation, uninstallation or deletion', async () => {
    const made = await service.call('POST', '/workflows', {
      body: { name: `w ${Math.random()}`, definition: manual([{ stepId: 'long', wait: 'P1D' }, entry]) },
    });
    const workflowId = made.text('workflowId');
    await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: {} });
    for (let n = 0; n < 3; n++)
      await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`, { body: {} });
    await until(async () => {
      const waiting = await service.call('GET', `/workflows/${workflowId}/runs?status=waiting`);
      return JSON.stringify(waiting.body).split('"runId"').length === 4;
    });
    const page = await service.call('GET', `/workflows/${workflowId}/runs?limit=2`);
    expect(page.at('data')).toHaveLength(2);
    const cursor = page.text('pagination.nextCursor');
    const next = await service.call('GET', `/workflows/${workflowId}/runs?limit=2&cursor=${cursor}`);
    expect([next.at('data.length') ?? 1, next.at('pagination.hasMore')]).toEqual([1, false]);
    await service.call('DELETE', `/users/${userId}`);
    const left = await service.context.db
      .selectFrom('workflow_runs')
      .select('run_id')
      .where('workflow_id', '=', workflowId)
      .execute();
    expect(left).toEqual([]);
    userId = (await service.call('POST', '/users', { body: { username: 'bob' } })).text('userId');
  });
});
