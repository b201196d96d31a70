import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows();
});
afterAll(() => service.stop());

const steps = [message('a', 'hello')];
const withFields = (configurableFields: JsonObject) => ({
  trigger: { type: 'manual' },
  steps,
  configurableFields,
});
const withInput = (inputSchema: JsonObject) => ({ trigger: { type: 'manual', inputSchema }, steps });
const define = (definition: unknown) =>
  service.call('POST', '/workflows', { body: { name: `w ${Math.random()}`, definition } });
/** V8 needs twice the time for each additional character. */
const ENDLESS = '^(a+)+$';
const TEXT = `${'a'.repeat(60)}!`;

describe('a pattern that RE2 rejects is reported by its path', () => {
  test.each<[string, unknown, string]>([
    [
      'look-ahead in a configurable field',
      withFields({ properties: { x: { type: 'string', pattern: '^(?=a)' } } }),
      'configurableFields.properties.x.pattern',
    ],
    [
      'a back-reference in the input of a manual trigger',
      withInput({ properties: { x: { type: 'array', items: { type: 'string', pattern: '(a)\\1' } } } }),
      'trigger.inputSchema.properties.x.items.pattern',
    ],
    [
      'a name of patternProperties',
      withInput({ patternProperties: { '(?!x)y': {} } }),
      'trigger.inputSchema.patternProperties.(?!x)y',
    ],
    [
      'a branch, and a property that is named pattern',
      withInput({
        properties: { pattern: { type: 'string' } },
        anyOf: [{ propertyNames: { pattern: '(?<=a)b' } }],
      }),
      'trigger.inputSchema.anyOf.0.propertyNames.pattern',
    ],
    [
      'more repetitions than 1,000',
      withInput({ properties: { x: { type: 'string', pattern: '^.{1,2000}$' } } }),
      'trigger.inputSchema.properties.x.pattern',
    ],
  ])('a pattern that RE2 rejects is reported by its path: %s', async (_, definition, path) => {
    const refused = await define(definition);
    expect([refused.status, refused.text('code')]).toEqual([400, 'invalid_request']);
    expect(refused.at('details.faults')).toEqual([
      { field: `definition.${path}`, rule: expect.stringContaining('must be a pattern of RE2') },
    ]);
  });

  test.each([
    ['no regular expression', '[', 'must be a regular expression'],
    ['over 1,000 characters', 'a'.repeat(1001), 'must have at most 1000 characters'],
    ['too many alternatives', '(?:[ab]{900}|[bc]{900}|[cd]{900})', 'must be a simpler pattern'],
  ])('a pattern that is no valid one is reported by its path: %s', async (_, pattern, rule) => {
    const refused = await define(withFields({ properties: { x: { type: 'string', pattern } } }));
    expect(refused.at('details.faults')).toEqual([
      { field: 'definition.configurableFields.properties.x.pattern', rule: expect.stringContaining(rule) },
    ]);
  });

  test('data of a schema is not read as a pattern', async () => {
    const properties = { x: { type: 'object', default: { pattern: '(?=a)' }, enum: [{ pattern: '(?=a)' }] } };
    expect((await define(withFields({ properties }))).status).toBe(201);
  });
});

describe('a pattern that hangs V8', () => {
  const x = { type: 'string', pattern: ENDLESS };

  test('a pattern that hangs V8 does not delay an installation or its change', async () => {
    const workflowId = await service.define(withFields({ properties: { x } }));
    const refused = await service.install(workflowId, { x: TEXT });
    expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, 'config.x']);
    expect((await service.install(workflowId, { x: 'aaa' })).status).toBe(201);
    const changed = await service.call('PUT', `/workflows/${workflowId}/install?userId=${service.userId}`, {
      headers: { 'x-api-version': '2025-09' },
      body: { config: { x: TEXT } },
    });
    expect(changed.status).toBe(400);
  });

  test('a pattern that hangs V8 does not delay a run, for values and for names', async () => {
    const workflowId = await service.define(
      withInput({
        properties: { x },
        patternProperties: { [ENDLESS]: { type: 'integer' } },
        additionalProperties: true,
      }),
    );
    await service.install(workflowId);
    const run = (input: JsonObject) =>
      service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`, {
        headers: { 'x-api-version': '2025-09' },
        body: { input },
      });
    expect((await run({ x: TEXT })).at('details.faults.0')).toEqual({
      field: 'input.x',
      rule: `must match pattern "${ENDLESS}"`,
    });
    expect((await run({ [TEXT]: 'no integer, and no name of the pattern' })).status).toBe(202);
    expect((await run({ aaa: 'no integer' })).status).toBe(400);
  });

  test('a pattern that hangs V8 is stored without delay next to a matching property', async () => {
    const schema = { patternProperties: { [ENDLESS]: {} }, properties: { [TEXT]: { type: 'string' } } };
    expect((await define(withFields(schema))).status).toBe(201);
  });

  test('a pattern that hangs V8 in the format url is harmless too', async () => {
    const workflowId = await service.define(
      withFields({ properties: { x: { type: 'string', format: 'url' } } }),
    );
    const refused = await service.install(workflowId, { x: `http://[${'::'.repeat(200_000)}\n` });
    expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, 'config.x']);
    expect((await service.install(workflowId, { x: 'https://example.com/a?b=c' })).status).toBe(201);
  });
});

test('text beyond the limit of a costly pattern is rejected without matching', async () => {
  const workflowId = await service.define(
    withFields({
      properties: { x: { type: 'array', items: { type: 'string', pattern: '^[ab]*a[ab]{990}[cd]$' } } },
    }),
  );
  const refused = await service.install(workflowId, { x: ['ab'.repeat(1000), 'ab'.repeat(5000)] });
  expect(refused.at('details.faults')).toEqual([
    { field: 'config', rule: 'holds too much text for the patterns of its schema' },
  ]);
});
