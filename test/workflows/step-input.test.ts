import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inputOfExpressions } from '../../src/connectors/expression-input.ts';
import { manual, startWorkflows, type WorkflowService } from '../support/workflows.ts';

/* Values of expressions as the input of a step: single matches, and no match. */

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows();
});
afterAll(() => service.stop());

async function runOf(steps: object[], input: object) {
  const workflowId = await service.define(manual(steps));
  await service.install(workflowId);
  return service.run(workflowId, JSON.parse(JSON.stringify(input)));
}
const contact = (input: object, more: object = {}) => ({
  stepId: 'contact',
  connectorId: 'sandbox',
  actionId: 'upsert_contact',
  input: { email: 'bob@example.com', ...input },
  ...more,
});
const items = (...prices: number[]) => prices.map((price) => ({ price, id: `i${price}` }));
const TAGS = '=trigger.input.items[price > 5].id';

test.each([
  ['two matches', items(6, 7), ['i6', 'i7']],
  ['one match', items(1, 6), ['i6']],
])('%s become the list that the action takes', async (_, given, tags) => {
  const run = await runOf([contact({ tags: TAGS })], { items: given });
  expect(run.at('steps.0')).toMatchObject({ status: 'succeeded', output: { data: { tags } } });
});

test('an expression without a value leaves optional members out', async () => {
  const run = await runOf([contact({ tags: TAGS, name: '=trigger.input.nothing' })], { items: [] });
  expect(run.at('steps.0')).toMatchObject({ status: 'succeeded', input: { email: 'bob@example.com' } });
  expect(run.at('steps.0.input')).toEqual({ email: 'bob@example.com' });
});

test('an expression without a value for a required member fails its step and is named', async () => {
  const run = await runOf([contact({ email: '=trigger.input.nothing' })], {});
  expect(run.at('error')).toMatchObject({
    code: 'expression_failed',
    error: expect.stringContaining('"=trigger.input.nothing" gave no value for email'),
  });
});

test('items without a value for a required member fail alone', async () => {
  const step = contact({ email: '=item.email' }, { forEach: 'trigger.input.all', onError: 'continue' });
  const run = await runOf([step], { all: [{ email: 'a@example.com' }, {}, { email: 'c@example.com' }] });
  expect(run.at('steps.0.output')).toMatchObject({
    succeeded: 2,
    failed: 1,
    errors: [{ item: 1, error: { code: 'expression_failed' } }],
  });
});

test('a single record of an expression becomes a list, also inside of its value', async () => {
  const order = {
    stepId: 'order',
    connectorId: 'sandbox',
    actionId: 'create_order',
    input: {
      customerId: 'cus_1001',
      lines: '=trigger.input.lines[wanted].{"productId": productId, "quantity": quantity}',
    },
  };
  const lines = [
    { productId: 'prd_1001', quantity: 2, wanted: true },
    { productId: 'prd_1002', quantity: 1, wanted: false },
  ];
  const run = await runOf([order], { lines });
  expect(run.at('steps.0.input.lines')).toEqual([{ productId: 'prd_1001', quantity: 2 }]);
});

describe('a schema', () => {
  const list = { type: 'array', items: { type: 'string' } };
  test.each<[string, object, object, object]>([
    [
      'that takes a text or a list keeps the text',
      { a: { anyOf: [{ type: 'string' }, list] } },
      { a: 'x' },
      { a: 'x' },
    ],
    ['that takes null keeps it', { a: { type: ['string', 'null'] } }, { a: null }, { a: null }],
    [
      'of nested members makes a list',
      { a: { type: 'object', properties: { b: list } } },
      { a: { b: 'x' } },
      { a: { b: ['x'] } },
    ],
    [
      'of items makes lists in them',
      { a: { type: 'array', items: { type: 'object', properties: { b: list } } } },
      { a: { b: 'x' } },
      { a: [{ b: ['x'] }] },
    ],
  ])('a schema %s', (_, properties, input, expected) => {
    const schema = { type: 'object', properties };
    expect(inputOfExpressions(schema, JSON.parse(JSON.stringify(input)))).toEqual(expected);
  });

  test('a schema that requires a list gets an empty one for no match', () => {
    const schema = { type: 'object', properties: { a: list }, required: ['a'] };
    expect(inputOfExpressions(schema, { a: null })).toEqual({ a: [] });
  });
});
