import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pathsOf, projectedMembers } from '../../src/workflows/expression-names.ts';
import { compileExpression } from '../../src/upstream/expression.ts';
import { until } from '../support/until.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { manual, startWorkflows, type WorkflowService } from '../support/workflows.ts';

const SCOPE = {
  trigger: {
    type: 'manual',
    input: {
      n: 2,
      name: 'Bob',
      list: [
        { a: 1, b: { c: 'x' } },
        { a: 2, b: [{ c: 'y' }] },
      ],
    },
  },
  steps: {
    one: {
      data: [
        { id: 'i1', total: 5, tags: ['t'] },
        { id: 'i2', total: 7, tags: ['u', 'v'] },
      ],
      status: 200,
    },
    two: { data: { id: 'i1', 'odd name': 'odd', trigger: { input: 'inner' } } },
  },
  config: { key: 'k', other: 'not named' },
  user: { userId: 'usr_1', username: 'ada', metadata: { level: 3 } },
};

/** Expressions that read parts, and expressions that may read everything. */
const PARTIAL = [
  'trigger.input.n + 1',
  '"Hello " & trigger.input.name & user.username',
  'steps.one.data.total',
  'steps.one.data[total > 5].id',
  'steps.one.data[0]',
  'steps.one.data[id = $$.steps.two.data.id].total',
  'steps.one.data^(>total).id',
  'steps.one.data{id: $sum(total)}',
  'steps.one.(data.id)',
  'steps.one.data.{"id": id, "n": $count(tags)}',
  'steps.two.data."odd name"',
  '(steps.one).data[-1].tags[]',
  '($x := steps.two; $x.data.id)',
  '($f := function($v) { $v.total * trigger.input.n }; $map(steps.one.data, $f))',
  '$reduce(steps.one.data, function($a, $b) { $a + $b.total }, 0)',
  '$filter(steps.one.data, function($v) { $v.total > user.metadata.level })',
  '$lookup(steps, "one").status',
  '$lookup(steps.two, "data").id',
  '[trigger.input.n, steps.one.status]',
  '{"a": config.key, "b": trigger.input.list.b.c}',
  'trigger.input.n > 1 ? steps.one.status : config.key',
  'steps.two ~> |data|{"id": "new"}|',
  'steps.one.data.id ~> $join(",")',
  '$.trigger.input.n',
  'trigger.input.list.b.c',
  '$exists(steps.none.data) ? 1 : 2',
  '"i1" in steps.one.data.id',
  'steps.one.data.$string()',
  'steps.two.data.trigger.input',
  '$map(steps.one.data.id, $uppercase)',
  '-trigger.input.n',
  'steps.one.data.($ ~> $lookup("id"))',
];
const WHOLE = [
  '$$',
  '$',
  '*',
  '**.id',
  '$keys()',
  '$keys($)',
  '$lookup("steps")',
  '$eval("trigger.input.n")',
  '$string()',
  '($k := $keys; $k())',
  '$map([1], function($v) { $keys($$) })',
  'steps@$s.trigger.input.n',
  'steps.one.data#$i.{"i": $i, "id": id}',
  'steps.one.data.tags.%.id',
  '$each(function($v, $k) { $k })',
  '$spread($$)[0]',
  'steps.one.status ~> $string',
];

async function value(expression: string, scope: object): Promise<unknown> {
  const program = await compileExpression(expression, {});
  return JSON.parse(JSON.stringify({ value: (await program.evaluate(scope)) ?? null }));
}

describe('the named values of an expression', () => {
  test.each([...PARTIAL, ...WHOLE])(
    'the named values of an expression are enough for %s',
    async (expression) => {
      const paths = await pathsOf(expression);
      const carried = paths ? projectedMembers(SCOPE, paths) : SCOPE;
      expect(await value(expression, carried)).toEqual(await value(expression, SCOPE));
      expect(paths === undefined).toBe(WHOLE.includes(expression));
      expect(JSON.stringify(carried).includes('not named')).toBe(WHOLE.includes(expression));
    },
  );
});

describe('expressions of a run', () => {
  let service: WorkflowService;
  let host: Receiver;
  beforeAll(async () => {
    service = await startWorkflows();
    host = await startReceiver();
    host.answer = (_, res) => res.end(JSON.stringify({ text: 'x'.repeat(3_000_000), id: 7 }));
  });
  afterAll(async () => {
    await service.stop();
    await host[Symbol.asyncDispose]();
  });

  async function runOf(steps: unknown[], more = {}) {
    const workflowId = await service.define(manual(steps, more));
    await service.install(workflowId);
    const path = `/workflows/${workflowId}/run?userId=${service.userId}`;
    const runId = (await service.call('POST', path, { body: {} })).text('runId');
    // The list is short even if the log of a run is long.
    const listed = () => service.call('GET', `/runs?workflowId=${workflowId}`);
    await until(async () => (await listed()).at('data.0.endedAt') !== null);
    return service.call('GET', `/workflows/${workflowId}/runs/${runId}`);
  }

  test('expressions carry named parts of large results, and are rejected over the limit', async () => {
    const large = (stepId: string) => ({ stepId, http: { method: 'GET', url: host.url } });
    const run = await runOf(
      [
        large('a'),
        large('b'),
        large('c'),
        { stepId: 'ids', map: '$sum([steps.a.data.id, steps.b.data.id, steps.c.data.id])' },
        { stepId: 'two', map: '$contains(steps.a.data.text & steps.b.data.text, "y")' },
        { stepId: 'three', map: '$contains(steps.a.data.text & steps.b.data.text & steps.c.data.text, "y")' },
      ],
      { allowedHosts: [new URL(host.url).host] },
    );
    expect(run.at('steps.3.output.data')).toBe(21);
    expect(run.at('steps.4.output.data')).toBe(false);
    expect(run.at('error')).toMatchObject({ stepId: 'three', code: 'expression_failed' });
    expect(run.text('error.error')).toMatch(/names are 9\d{6} bytes together; the limit is 8388608 bytes/);
  });

  test.each([
    ['1/0', 'not a finite number'],
    ['0/0', 'not a finite number'],
    ['{"a": [1, 1/0]}', 'not a finite number'],
    ['function($x) { $x }', 'a function'],
    ['$sum', 'a function'],
    ['{"f": function($x) { $x + trigger.input.n }}', 'a function'],
  ])('an expression whose value %s is no JSON fails in words', async (expression, words) => {
    const run = await runOf([{ stepId: 'bad', map: expression }]);
    expect(run.at('error.code')).toBe('expression_failed');
    expect(run.text('error.error')).toContain(words);
  });

  test('expressions for one user delay those for another for about one turn', async () => {
    const { userId } = await service.newUser('greedy');
    const endless = { stepId: 'endless', map: '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /(a+)+$/)' };
    const greedy = await service.define(manual([endless], { concurrency: 20 }));
    await service.install(greedy, {}, userId);
    const ended = async () => {
      const failed = await service.call('GET', `/runs?userId=${userId}&status=failed`);
      return String(JSON.stringify(failed.body)).split('"runId"').length - 1;
    };
    for (let n = 0; n < 20; n++)
      await service.call('POST', `/workflows/${greedy}/run?userId=${userId}`, { body: {} });
    await until(async () => (await ended()) > 0);

    const before = await ended();
    const run = await runOf([{ stepId: 'sum', map: '1 + 1' }]);
    expect(run.at('steps.0.output.data')).toBe(2);
    // Two processes evaluate. Each finishes its current evaluation, and perhaps one more.
    expect((await ended()) - before).toBeLessThanOrEqual(4);
    await service.call('DELETE', `/workflows/${greedy}`);
    // Without this, the stop of the service waits for each of them.
    await service.context.expressions.close();
  });
});
