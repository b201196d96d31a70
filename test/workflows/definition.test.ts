import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows();
});
afterAll(() => service.stop());

const define = (definition: unknown) =>
  service.call('POST', '/workflows', { body: { name: `w ${Math.random()}`, definition } });

describe('a definition is refused with each fault by its path', () => {
  test.each<[string, unknown, string]>([
    ['no trigger', { steps: [message('a', 'x')] }, 'definition.trigger'],
    [
      'an unknown trigger',
      { trigger: { type: 'mail' }, steps: [message('a', 'x')] },
      'definition.trigger.type',
    ],
    ['no step', manual([]), 'definition.steps'],
    ['a member that is not known', manual([message('a', 'x', { retries: 2 })]), 'definition.steps.0.retries'],
    [
      'an unknown connector',
      manual([{ stepId: 'a', connectorId: 'nowhere', actionId: 'x' }]),
      'definition.steps.0.connectorId',
    ],
    [
      'an unknown action',
      manual([{ stepId: 'a', connectorId: 'sandbox', actionId: 'nothing' }]),
      'definition.steps.0.actionId',
    ],
    [
      'a field that the action lacks',
      manual([message('a', 'x', { input: { to: 'a@b.c', text: 'x', cc: 'y' } })]),
      'definition.steps.0.input.cc',
    ],
    [
      'a field that is missing',
      manual([message('a', 'x', { input: { text: 'x' } })]),
      'definition.steps.0.input.to',
    ],
    ['an unknown step', manual([message('a', '=steps.b.data')]), 'definition.steps.0.input.text'],
    [
      'a step that comes later',
      manual([message('a', '=steps.b.data'), message('b', 'x')]),
      'definition.steps.0.input.text',
    ],
    [
      'a step that refers to itself',
      manual([message('a', '=steps.a.data')]),
      'definition.steps.0.input.text',
    ],
    [
      'a field that cannot be configured',
      manual([message('a', '=config.nothing')]),
      'definition.steps.0.input.text',
    ],
    ['a name that is not there', manual([message('a', '=secrets.key')]), 'definition.steps.0.input.text'],
    ['an item without forEach', manual([message('a', '=item.name')]), 'definition.steps.0.input.text'],
    ['an expression that does not parse', manual([message('a', '=1 +')]), 'definition.steps.0.input.text'],
    ['a when that does not parse', manual([message('a', 'x', { when: '(' })]), 'definition.steps.0.when'],
    ['two steps of one name', manual([message('a', 'x'), message('a', 'y')]), 'definition.steps.1.stepId'],
    ['a wait that is no duration', manual([{ stepId: 'a', wait: 'soon' }]), 'definition.steps.0.wait'],
    [
      'a host that is not allowed',
      manual([{ stepId: 'a', http: { method: 'GET', url: 'https://example.com/x' } }], {
        allowedHosts: ['example.org'],
      }),
      'definition.steps.0.http.url',
    ],
    [
      'a cron that is none',
      { trigger: { type: 'schedule', cron: '61 * * * *' }, steps: [message('a', 'x')] },
      'definition.trigger.cron',
    ],
    [
      'a time zone that is none',
      {
        trigger: { type: 'schedule', cron: '0 9 * * *', timeZone: 'Mars/Olympus' },
        steps: [message('a', 'x')],
      },
      'definition.trigger.timeZone',
    ],
    [
      'a model that the app has not',
      {
        trigger: { type: 'event', connectorId: 'nowhere', scope: 'commerce/orders' },
        steps: [message('a', 'x')],
      },
      'definition.trigger.connectorId',
    ],
    [
      'fields that are no JSON Schema',
      manual([message('a', 'x')], { configurableFields: { properties: { a: { type: 'nothing' } } } }),
      'definition.configurableFields',
    ],
    [
      'a field that no value fits',
      manual([message('a', 'x')], {
        configurableFields: { properties: { a: { type: 'string', enum: [1] } } },
      }),
      'definition.configurableFields.properties.a',
    ],
    [
      'a default of another type',
      manual([message('a', 'x')], {
        configurableFields: { properties: { a: { type: 'integer', default: '1' } } },
      }),
      'definition.configurableFields.properties.a.default',
    ],
    [
      'an input that no value fits',
      {
        trigger: {
          type: 'manual',
          inputSchema: { properties: { list: { type: 'array', items: { type: 'integer', const: 'a' } } } },
        },
        steps: [message('a', 'x')],
      },
      'definition.trigger.inputSchema.properties.list.items',
    ],
  ])('a faulty definition is refused with the path of the fault: %s', async (_, definition, field) => {
    const answer = await define(definition);
    expect(answer.status).toBe(400);
    expect(answer.at('details.faults')).toContainEqual({ field, rule: expect.any(String) });
  });

  test('several faults are reported at once', async () => {
    const answer = await define(manual([message('a', '=steps.b.data'), { stepId: 'c', wait: 'soon' }]));
    expect(answer.at('details.faults')).toHaveLength(2);
  });
});

test('required connectors are derived', async () => {
  const made = await define(manual([message('a', 'x'), { stepId: 'b', map: '1' }]));
  expect(made.status).toBe(201);
  expect(made.at('connectors')).toEqual(['sandbox']);
  expect(made.at('version')).toBe(1);
});

test('a name is unique without regard to case', async () => {
  const definition = manual([message('a', 'x')]);
  expect((await service.call('POST', '/workflows', { body: { name: 'Taken', definition } })).status).toBe(
    201,
  );
  const again = await service.call('POST', '/workflows', { body: { name: 'taken', definition } });
  expect([again.status, again.text('code')]).toEqual([409, 'workflow_exists']);
});

describe('versions', () => {
  const first = manual([message('a', 'one')]);
  const second = manual([message('b', 'new'), message('a', 'two')], {
    configurableFields: { properties: { tag: { type: 'string' } } },
  });

  test('a published version never changes, and the next version replaces a draft', async () => {
    const workflowId = await service.define(first);
    const draft = await service.call('POST', `/workflows/${workflowId}/versions`, {
      body: { definition: second, draft: true },
    });
    expect([draft.at('version'), draft.at('draft')]).toEqual([2, true]);
    expect((await service.call('GET', `/workflows/${workflowId}`)).at('version')).toBe(1);
    expect(await service.publish(workflowId, first)).toBe(2);
    expect(await service.publish(workflowId, second)).toBe(3);
    const one = await service.call('GET', `/workflows/${workflowId}/versions/1`);
    expect(one.at('definition.steps.0.input.text')).toBe('one');
    const listed = await service.call('GET', `/workflows/${workflowId}/versions`);
    expect(listed.at('data')).toMatchObject([{ version: 3 }, { version: 2 }, { version: 1 }]);
  });

  test('a draft is published as it is', async () => {
    const workflowId = await service.define(first);
    await service.call('POST', `/workflows/${workflowId}/versions`, {
      body: { definition: second, draft: true },
    });
    const published = await service.call('POST', `/workflows/${workflowId}/versions/2/publish`);
    expect([published.status, published.at('draft')]).toEqual([200, false]);
    const again = await service.call('POST', `/workflows/${workflowId}/versions/2/publish`);
    expect(again.status).toBe(400);
  });

  test('two versions published concurrently get different numbers', async () => {
    const workflowId = await service.define(first);
    const numbers = await Promise.all(Array.from({ length: 8 }, () => service.publish(workflowId, second)));
    expect(numbers.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('differences of two versions are listed by path', async () => {
    const workflowId = await service.define(first);
    await service.publish(workflowId, second);
    const diff = await service.call('GET', `/workflows/${workflowId}/versions/1/diff/2`);
    expect(diff.body).toMatchObject({ from: 1, to: 2, upgradable: false, addedFields: ['tag'] });
    expect(diff.at('changes')).toMatchObject([
      { path: 'configurableFields', kind: 'changed' },
      { path: 'steps.b', kind: 'added' },
      { path: 'steps.a.input', kind: 'changed' },
    ]);
    expect((await service.call('GET', `/workflows/${workflowId}/versions/1/diff/9`)).status).toBe(404);
  });
});
