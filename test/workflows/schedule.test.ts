import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MINUTE, HOUR, DAY } from '../../src/lib/clock.ts';
import { durationMs, nextFiring } from '../../src/workflows/schedule.ts';
import { manualClock } from '../support/clock.ts';
import { until } from '../support/until.ts';
import { startWorkflows, type WorkflowService } from '../support/workflows.ts';
import { IS_FULL } from '../support/full.ts';

const iso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
const after = (schedule: { cron: string; timeZone?: string }, from: string, count: number) => {
  const found = [];
  let at: number | undefined = Date.parse(from);
  for (let n = 0; n < count && at !== undefined; n++) {
    at = nextFiring(schedule, at);
    found.push(iso(at));
  }
  return found;
};

describe('a schedule', () => {
  test('a schedule keeps its hour across a daylight saving change', () => {
    // Berlin changes from UTC+1 to UTC+2 on 29 March 2026, and back on 25 October.
    const nine = { cron: '0 9 * * *', timeZone: 'Europe/Berlin' };
    expect(after(nine, '2026-03-27T12:00:00Z', 3)).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
      '2026-03-30T07:00:00.000Z',
    ]);
    expect(after(nine, '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T08:00:00.000Z',
      '2026-10-26T08:00:00.000Z',
    ]);
  });

  test('a schedule matches croner across every daylight saving change', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'UTC'];
    const part = (least: number, most: number) =>
      fc.oneof(fc.constant('*'), fc.integer({ min: least, max: most }).map(String));
    fc.assert(
      fc.property(
        fc.tuple(part(0, 59), part(0, 4), part(1, 28), part(1, 12), part(0, 6)),
        fc.constantFrom(...zones),
        fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2028-01-01') }),
        (parts, timeZone, from) => {
          const cron = parts.join(' ');
          const job = new Cron(cron, { mode: '5-part', timezone: timeZone, paused: true });
          expect(iso(nextFiring({ cron, timeZone }, from))).toBe(job.nextRun(new Date(from))?.toISOString());
        },
      ),
      { numRuns: IS_FULL ? 300 : 100 },
    );
  });

  test.each([
    ['PT5M', 5 * MINUTE],
    ['P3D', 3 * DAY],
    ['P1W', 7 * DAY],
    ['P1DT2H', DAY + 2 * HOUR],
    ['PT0S', 0],
    ['P', undefined],
    ['PT', undefined],
    ['P1Y', undefined],
    ['5 minutes', undefined],
    ['P9999D', undefined],
  ])('the duration %s is %s ms', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});

test('a schedule fires once at each time across a daylight saving change', async () => {
  const clock = manualClock(Date.parse('2026-03-28T07:59:00Z'));
  const service: WorkflowService = await startWorkflows({ clock });
  try {
    const workflowId = await service.define({
      trigger: { type: 'schedule', cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
      steps: [{ stepId: 'at', map: 'trigger.scheduledAt' }],
    });
    const installed = await service.install(workflowId);
    expect(installed.at('trigger.nextAt')).toBe('2026-03-28T08:00:00.000Z');
    const fired = async (count: number) => {
      await until(async () => {
        const listed = await service.call('GET', `/workflows/${workflowId}/runs?status=succeeded`);
        const data = listed.at('data');
        return Array.isArray(data) && data.length === count;
      });
      return (
        await service.context.db.selectFrom('workflow_runs').select('trigger').orderBy('run_id').execute()
      ).map(({ trigger }) => JSON.parse(trigger).scheduledAt);
    };
    clock.advance(2 * MINUTE);
    await fired(1);
    clock.advance(23 * HOUR);
    expect(await fired(2)).toEqual(['2026-03-28T08:00:00.000Z', '2026-03-29T07:00:00.000Z']);
    // No process served for three days: that is one run, and the schedule continues from now.
    clock.advance(3 * DAY);
    expect(await fired(3)).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
      '2026-03-30T07:00:00.000Z',
    ]);
    const listed = await service.call('GET', `/workflows/${workflowId}/installations`);
    expect(listed.at('data.0.trigger.nextAt')).toBe('2026-04-02T07:00:00.000Z');
  } finally {
    await service.stop();
  }
});
