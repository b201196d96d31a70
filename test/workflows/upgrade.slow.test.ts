import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

const FULL = process.env['PROOF'] === 'full';

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows();
});
afterAll(() => service.stop());

const upgrade = (workflowId: string, more = '', userId = service.userId) =>
  service.call('PUT', `/workflows/${workflowId}/upgrade?userId=${userId}${more}`);

const withFields = (configurableFields: object, steps: unknown[] = [message('a', 'x')]) => ({
  trigger: { type: 'manual' },
  steps,
  configurableFields,
});

describe('an upgrade', () => {
  test('an upgrade moves an installation to the newest version with the same fields', async () => {
    const workflowId = await service.define(
      withFields({ properties: { a: { type: 'string', title: 'A' } } }),
    );
    await service.install(workflowId);
    await service.publish(workflowId, withFields({ properties: { a: { type: 'string', title: 'Else' } } }));
    await service.publish(
      workflowId,
      withFields({ properties: { a: { type: 'string' } } }, [{ stepId: 'b', map: '1' }]),
    );
    const planned = await upgrade(workflowId, '&dryRun=true');
    expect([planned.status, planned.body]).toEqual([200, { upgraded: true, from: 1, to: 3 }]);
    expect((await upgrade(workflowId)).body).toEqual({ upgraded: true, from: 1, to: 3 });
    expect((await upgrade(workflowId)).body).toEqual({
      upgraded: false,
      from: 3,
      to: 3,
      reason: expect.any(String),
    });
    const run = await service.run(workflowId);
    expect(run.at('version')).toBe(3);
    const back = await service.call('POST', `/workflows/${workflowId}/rollback?userId=${service.userId}`);
    expect(back.body).toEqual({ rolledBack: true, from: 3, to: 1 });
    const again = await service.call('POST', `/workflows/${workflowId}/rollback?userId=${service.userId}`);
    expect(again.body).toMatchObject({ rolledBack: false, from: 1, to: 1 });
  });

  test('an upgrade reports the fields that prevent it', async () => {
    const workflowId = await service.define(
      withFields({ properties: { a: { type: 'string' }, b: { type: 'string' }, c: { enum: ['x'] } } }),
    );
    await service.install(workflowId);
    await service.publish(
      workflowId,
      withFields({ properties: { a: { type: 'integer' }, c: { enum: ['x'] }, d: { type: 'string' } } }),
    );
    const answer = await upgrade(workflowId);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        upgraded: false,
        from: 1,
        to: 2,
        reason: expect.stringContaining('added: d'),
        addedFields: ['d'],
        removedFields: ['b'],
        changedFields: ['a'],
      },
    ]);
  });

  test('an upgrade is 404 for an unknown workflow, user or installation', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    const codes = [
      await upgrade('wf_0000000000000000000000'),
      await upgrade(workflowId, '', 'usr_0000000000000000000000'),
      await upgrade(workflowId),
    ].map((answer) => [answer.status, answer.at('code')]);
    expect(codes).toEqual([
      [404, 'workflow_not_found'],
      [404, 'user_not_found'],
      [404, 'installation_not_found'],
    ]);
    const bare = await service.call('PUT', `/workflows/${workflowId}/upgrade`);
    expect([bare.status, bare.at('details.faults.0.field')]).toEqual([400, 'userId']);
    const versionless = await service.call('PUT', `/workflows/${workflowId}/upgrade?userId=x`, {
      headers: { 'x-api-version': '' },
    });
    expect([versionless.status, versionless.at('code')]).toEqual([400, 'api_version_missing']);
  });

  test('an upgrade leaves running runs on their version', async () => {
    const workflowId = await service.define(
      manual([
        { stepId: 'pause', wait: 'PT1S' },
        { stepId: 'old', map: '"one"' },
      ]),
    );
    await service.install(workflowId);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    await service.ended(workflowId, started.text('runId'), ['waiting']);
    await service.publish(workflowId, manual([{ stepId: 'new', map: '"two"' }]));
    expect((await upgrade(workflowId)).at('upgraded')).toBe(true);
    const run = await service.ended(workflowId, started.text('runId'));
    expect([run.at('version'), run.at('status'), run.at('steps.1.stepId')]).toEqual([1, 'succeeded', 'old']);
  });

  test('an upgrade starts the new source and releases the old one in one transaction', async () => {
    const on = (scope: string, text: string) => ({
      trigger: { type: 'event', connectorId: 'sandbox', scope },
      steps: [message('a', text)],
    });
    const scopes = async () =>
      (
        await service.context.db
          .selectFrom('sources')
          .select(['scope', 'status'])
          .where('status', '=', 'active')
          .execute()
      ).map(({ scope }) => scope);
    const workflowId = await service.define(on('commerce/orders', 'x'));
    const installed = await service.install(workflowId);
    expect(installed.at('trigger')).toEqual({ type: 'event', listening: true });
    expect(await scopes()).toEqual(['commerce/orders']);
    await service.publish(workflowId, on('commerce/products', 'y'));
    expect((await upgrade(workflowId)).at('upgraded')).toBe(true);
    expect(await scopes()).toEqual(['commerce/products']);
    await service.call('POST', `/workflows/${workflowId}/rollback?userId=${service.userId}`);
    expect(await scopes()).toEqual(['commerce/orders']);
    await service.call('DELETE', `/workflows/${workflowId}`);
    expect(await scopes()).toEqual([]);
  });

  test('an upgrade by percent selects a fixed part of the installations and reports', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    const users = [];
    for (let n = 0; n < 20; n++) {
      const { userId } = await service.newUser(`all ${n}`);
      users.push(userId);
      await service.install(workflowId, {}, userId);
    }
    await service.publish(workflowId, manual([message('b', 'x')]));
    const all = (body: JsonObject) => service.call('POST', `/workflows/${workflowId}/upgrade-all`, { body });
    const dry = await all({ percent: 40, dryRun: true });
    const part = await all({ percent: 40 });
    expect(part.at('upgraded')).toBe(dry.at('upgraded'));
    expect(Number(part.at('upgraded')) + Number(part.at('left'))).toBe(20);
    expect((await all({ percent: 40 })).body).toMatchObject({ upgraded: 0, current: part.at('upgraded') });
    expect((await all({})).body).toMatchObject({
      to: 2,
      installations: 20,
      upgraded: part.at('left'),
      left: 0,
    });
    await service.publish(workflowId, withFields({ properties: { z: { type: 'string' } } }));
    const refused = await all({});
    expect(refused.body).toMatchObject({ upgraded: 0, refusedCount: 20, failedCount: 0 });
  });
});

describe.each(STORE_KINDS)('concurrent upgrades on %s', (kind: StoreKind) => {
  test('concurrent upgrades move one installation exactly once', async () => {
    await using own = await startWorkflows({ kind });
    const workflowId = await own.define(manual([message('a', 'x')]));
    const installs = await Promise.all(Array.from({ length: 6 }, () => own.install(workflowId)));
    expect(installs.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
    await own.publish(workflowId, manual([message('b', 'x')]));
    const path = `/workflows/${workflowId}/upgrade?userId=${own.userId}`;
    const upgrades = await Promise.all([
      ...Array.from({ length: 8 }, () => own.call('PUT', path)),
      own.publish(workflowId, manual([message('c', 'x')])).then(() => own.call('PUT', path)),
    ]);
    expect(upgrades.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 200));
    const moves = upgrades.map(({ body }) => body).filter((body) => JSON.stringify(body).includes('true'));
    const steps = moves.map((body) => JSON.stringify(body));
    expect(new Set(steps).size).toBe(steps.length);
    const listed = await own.call('GET', `/workflows/${workflowId}/installations`);
    expect(listed.at('data.0.version')).toBe(3);
  });
});

/** Fields of two versions that are often equal. Names, types, formats, enums and required fields count. */
const field = fc
  .record(
    {
      type: fc.constantFrom('string', 'integer', 'boolean', ['string', 'null'], ['null', 'string']),
      format: fc.constantFrom('email', 'uri'),
      enum: fc.constantFrom(['a', 'b'], ['b', 'a'], ['a']),
      title: fc.constantFrom('One', 'Two'),
      description: fc.constantFrom('x', 'y'),
      maxLength: fc.constantFrom(10, 20),
      default: fc.constantFrom('a', 'b'),
    },
    { requiredKeys: ['type'] },
  )
  // A field whose values have another type is refused.
  .map(({ enum: values, ...rest }) =>
    values && rest.type.includes('string') ? { ...rest, enum: values } : rest,
  )
  // A default that violates its own field would fail the installation.
  .map(({ default: value, ...rest }) =>
    rest.type === 'string' && !rest.format && !('enum' in rest) && value ? { ...rest, default: value } : rest,
  );
const names = ['alpha', 'beta', 'gamma'];
const schema = fc
  .record({
    properties: fc.dictionary(fc.constantFrom(...names), field, { maxKeys: 3 }),
    required: fc.subarray(names),
  })
  .map(({ properties, required }) => ({
    type: 'object',
    properties,
    required: required.filter((name) => Object.hasOwn(properties, name)),
  }));
/** Equal fields in another notation. */
const alike = schema.chain((one) =>
  fc
    .record({
      title: fc.constantFrom('A', 'B'),
      order: fc.shuffledSubarray(Object.keys(one.properties), {
        minLength: Object.keys(one.properties).length,
      }),
      required: fc.shuffledSubarray(one.required, { minLength: one.required.length }),
    })
    .map(({ title, order, required }) => ({
      one,
      other: {
        type: 'object',
        required,
        properties: Object.fromEntries(
          order.map((name) => [name, { ...one.properties[name], title, description: title }]),
        ),
      },
    })),
);
const pairs = fc.oneof(fc.record({ one: schema, other: schema }), alike);

/** The relevant parts of the fields, computed differently from the code. */
function essence(one: { properties: Record<string, Record<string, unknown>>; required: string[] }): string {
  const fields = Object.keys(one.properties)
    .toSorted()
    .map((name) => {
      const { type, format, enum: values } = one.properties[name] ?? {};
      const set = (value: unknown) => [value].flat().map(String).toSorted();
      return [
        name,
        set(type),
        format ?? null,
        values === undefined ? null : set(values),
        one.required.includes(name),
      ];
    });
  return JSON.stringify(fields);
}

test('upgraded is true exactly when the configurable fields are equal', { timeout: 1_200_000 }, async () => {
  let upgraded = 0;
  await fc.assert(
    fc.asyncProperty(pairs, async ({ one, other }) => {
      const { workflow_id: workflowId } = await installedWith(one);
      await service.publish(workflowId, withFields(other, [{ stepId: 'm', map: '2' }]));
      const answer = await upgrade(workflowId);
      const equal = essence(one) === essence(other);
      if (equal) upgraded += 1;
      expect([answer.status, answer.at('upgraded')]).toEqual([200, equal]);
      const listed = await service.call('GET', `/workflows/${workflowId}/installations`);
      expect(listed.at('data.0.version')).toBe(equal ? 2 : 1);
      await service.call('DELETE', `/workflows/${workflowId}`);
    }),
    { numRuns: FULL ? 2000 : 60 },
  );
  expect(upgraded).toBeGreaterThan(5);
});

/** Returns an installation on version 1 with these fields, whatever they require. */
async function installedWith(fields: { properties: object; required: string[] }) {
  const optional = { ...fields, required: [] };
  const workflowId = await service.define(
    withFields(JSON.parse(JSON.stringify(optional)), [{ stepId: 'm', map: '1' }]),
  );
  const installed = await service.install(workflowId);
  expect(installed.status).toBe(201);
  // Version 1 gets the generated fields directly, because this test does not concern the configuration.
  await service.context.db
    .updateTable('workflow_versions')
    .set({
      definition: JSON.stringify(withFields(JSON.parse(JSON.stringify(fields)), [{ stepId: 'm', map: '1' }])),
    })
    .where('workflow_id', '=', workflowId)
    .execute();
  return { workflow_id: workflowId };
}
