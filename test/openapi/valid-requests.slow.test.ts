import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Action, Connector } from '../../src/connectors/catalog.ts';
import { hostingOf } from '../../src/connectors/catalog.ts';
import { compileConnector } from '../../src/connectors/compile.ts';
import { compileSchema } from '../../src/connectors/schemas/validate.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { buildRequest } from '../../src/upstream/request.ts';
import { valuesFor } from './arbitrary.ts';
import { faultOf, operationsOf, PARAMETER } from './judge.ts';
import { openOriginal } from './original.ts';
import { DOCUMENTS, importedFrom, MISSING } from './public-documents.ts';

/*
 * Requests of imported operations, judged by the original document. Each `npm test` tries a part of the operations.
 * `npm run proof:openapi` tries all of them, and 100 inputs for each operation of five documents.
 */
const IS_FULL = process.env['PROOF'] === 'full';
const MANY = /^(adyen|notion|slack|stripe|zoom)/;
const SAMPLE = 25;
const PATIENCE = IS_FULL ? 3_600_000 : 120_000;

describe('each request of an imported document is valid by the document', () => {
  test('the folder of imported documents is not empty', ({ skip }) => {
    skip(DOCUMENTS.length === 0, MISSING);
    expect(DOCUMENTS.length).toBeGreaterThan(5);
  });

  test.each(DOCUMENTS.filter((document) => !document.includes('webhook')))(
    'each request of an imported document is valid by %s',
    async (document) => {
      const { definition } = importedFrom(document);
      const { server } = definition.variables;
      if (server) server.default = 'https://x.example';
      const connector = compileConnector(definition, hostingOf(definition, false));
      const original = openOriginal(document);
      const operations = operationsOf(original);
      const actions = [...connector.actions.values()];
      const step = IS_FULL ? 1 : Math.max(1, Math.floor(actions.length / SAMPLE));
      const runs = !IS_FULL ? 3 : MANY.test(document) ? 100 : 3;
      const faults: string[] = [];
      let tried = 0;
      for (const action of actions.filter((_, index) => index % step === 0)) {
        const candidates = operations.get(
          `${action.method} ${action.path.replaceAll(/\{\w+\}/g, PARAMETER)}`,
        );
        if (!candidates) {
          faults.push(`${action.actionId}: no operation ${action.method} ${action.path}`);
          continue;
        }
        for (const input of inputsOf(action, runs)) {
          const request = await requestOf(connector, action, input);
          if (!request) continue;
          tried++;
          const called = {
            request,
            basePath: new URL(baseOf(connector, action)).pathname.replace(/\/$/, ''),
            ignored: hiddenOf(action),
          };
          // Some documents describe a path twice, with another fragment.
          const found = candidates.map((one) => faultOf(original, one, called));
          const fault = found.includes(undefined) ? undefined : found[0];
          if (fault !== undefined)
            faults.push(`${action.actionId}: ${fault} (${request.method} ${request.url})`.slice(0, 1500));
        }
      }
      expect(faults).toEqual([]);
      expect(tried).toBeGreaterThan(0);
    },
    PATIENCE,
  );
});

/** Returns valid inputs, the same each time. */
function inputsOf(action: Action, runs: number): JsonObject[] {
  const check = compileSchema(action.inputSchema);
  const { limit: _l, offset: _o, ...properties } = Object(action.inputSchema['properties']);
  const schema = action.list ? { ...action.inputSchema, properties } : action.inputSchema;
  const inputs = fc.sample(valuesFor(schema), { numRuns: runs * 2, seed: 7 });
  return inputs.filter((input): input is JsonObject => check(input).length === 0).slice(0, runs);
}

async function requestOf(connector: Connector, action: Action, input: JsonObject) {
  const values: Json = input;
  const page = action.paging && pageOf(action);
  try {
    return await buildRequest(
      { connector, action, input: Object(values), credential: undefined, ...(page ? { page } : {}) },
      0,
    );
  } catch (error) {
    // A text such as `.` in a path is refused, because no request can carry it.
    if (error instanceof GatehouseError && /credential_invalid|invalid_request/.test(error.code))
      return undefined;
    throw error;
  }
}

function pageOf({ paging }: Action) {
  if (!paging || !('limitParam' in paging) || paging.limitParam === undefined) return undefined;
  return { params: { [paging.limitParam]: 1 } };
}

function baseOf(connector: Connector, action: Action): string {
  const base = action.definition.baseUrl ?? connector.definition.baseUrl;
  return base.replace(/^\{server\}/, 'https://x.example').replaceAll(/\{\w+\}/g, 'x');
}

/** Parameters that the service itself sends: those of paging, and tokens that a credential supplies. */
function hiddenOf({ paging }: Action): ReadonlySet<string> {
  const names = paging
    ? Object.entries(paging).flatMap(([key, value]) => (key.endsWith('Param') ? [String(value)] : []))
    : [];
  return new Set([...names, 'token', 'access_token', 'page', 'ending_before']);
}
