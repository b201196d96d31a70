import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ConnectorFile, Parameter } from '../../src/connectors/format/format.ts';
import { parseConnector } from '../../src/connectors/parse.ts';
import { differencesOf } from './vendors/compare.ts';
import { type Extract, parseExtract } from './vendors/fields.ts';
import { judged, ledger } from './vendors/ledger.ts';

/*
 * The connectors next to reduced extracts of their vendors' documents (vendors/*.json, made by vendors/refresh.ts), with a
 * ledger of accepted differences, each with its reason. vendor-compare.test.ts shows that each kind of fault is found.
 */

const FOLDER = join(import.meta.dirname, '../../data/connectors');
const VENDORS = join(import.meta.dirname, 'vendors');
const SHIPPED = readdirSync(FOLDER);

function read(id: string): ConnectorFile {
  const file = join(FOLDER, id, 'connector.yaml');
  const { definition } = parseConnector(readFileSync(file, 'utf8'), file);
  if (!definition) throw new Error(`${file} has faults`);
  return definition;
}

const extracts = readdirSync(VENDORS)
  .filter((name) => name.endsWith('.json') && name !== 'ledger.json')
  .map((name): [string, Extract] => [
    name.replace('.json', ''),
    parseExtract(readFileSync(join(VENDORS, name), 'utf8')),
  ]);

describe('a connector next to the document of its vendor', () => {
  test.each(extracts)('the connector %s differs from its vendor only as the ledger accepts', (id, facts) => {
    expect(judged(id, differencesOf(read(id), facts))).toEqual({ open: [], stale: [] });
  });

  test('every shipped connector has an extract, or a reason for having none', () => {
    const known = [...extracts.map(([id]) => id), ...Object.keys(ledger.without)];
    expect(known.sort()).toEqual([...SHIPPED].sort());
  });

  test.each(readdirSync(VENDORS).filter((name) => name.endsWith('.json')))(
    'the extract %s is small',
    (name) => {
      expect(readFileSync(join(VENDORS, name)).length).toBeLessThan(60_000);
    },
  );
});

const DESTRUCTIVE =
  /^(void|voided|delete|deleted|trash|trashed|cancel|canceled|cancelled|archive|archived|remove|removed|purge|purged)$/i;

/** Returns values of a write that sound destructive, and have no effect of their own. */
function soundingOf(definition: ConnectorFile): string[] {
  return Object.entries(definition.actions).flatMap(([id, action]) => {
    const [method] = action.request.split(' ');
    const effect =
      action.effect ?? (method === 'GET' ? 'read' : method === 'DELETE' ? 'destructive' : 'write');
    if (effect !== 'write' || action.internal) return [];
    return Object.entries({ ...action.query, ...action.body }).flatMap(([name, parameter]) =>
      enumIn(parameter)
        .filter((value) => typeof value === 'string' && DESTRUCTIVE.test(value))
        .filter(
          (value) =>
            !action.effectWhen.some(
              (one) => one.parameter === name && (!one.in || one.in.includes(String(value))),
            ),
        )
        .map((value) => `${definition.id}.${id}.${name}=${String(value)}`),
    );
  });
}

function enumIn(parameter: Parameter): unknown[] {
  const own = z
    .object({
      enum: z.array(z.unknown()).optional(),
      items: z.object({ enum: z.array(z.unknown()).optional() }).optional(),
    })
    .safeParse(parameter);
  return own.success ? [...(own.data.enum ?? []), ...(own.data.items?.enum ?? [])] : [];
}

describe('a value of a write that sounds destructive', () => {
  test('a write value that sounds destructive has its own effect or a reason for none', () => {
    const found = SHIPPED.map(read).flatMap(soundingOf);
    expect(found.sort()).toEqual(Object.keys(ledger.harmless).sort());
  });

  test('a write value that sounds destructive is found where its effect is left out', () => {
    const planted = read('xero');
    const action = planted.actions['update_invoice'];
    if (!action) throw new Error('the action is gone');
    action.effectWhen = [];
    delete action.effect;
    expect(soundingOf(planted)).toContain('xero.update_invoice.Status=VOIDED');
  });
});

/** Returns the names of all members in all answers of a connector, in letters and digits alone. */
function answerNames(definition: ConnectorFile): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        found.add(plain(name));
        walk(member);
      }
    }
  };
  walk(definition.schemas);
  for (const { response } of Object.values(definition.actions)) {
    walk(response.schema);
    for (const [, name = ''] of response.map?.matchAll(/"(\w+)"\s*:/g) ?? []) found.add(plain(name));
  }
  return found;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Returns required ids that no action of the connector returns, and whose description names no source. */
function openIds(definition: ConnectorFile): string[] {
  const told = answerNames(definition);
  const readers = Object.entries(definition.actions)
    .filter(([id, { internal }]) => !internal && /^(list|search|get|create|find|query|read)_/.test(id))
    .map(([id]) => plain(id));
  return Object.entries(definition.actions).flatMap(([id, action]) => {
    if (action.internal) return [];
    const required = [
      ...Object.entries(action.path),
      ...Object.entries({ ...action.query, ...action.body }).filter(
        ([, { required: must }]) => must === true,
      ),
    ];
    return required
      .filter(([name, { description }]) => /(?:Id|_id)$/.test(name) && (description ?? '').length < 15)
      .map(([name]) => name)
      .filter((name) => {
        const noun = plain(name.replace(/_?id$/i, ''));
        return noun !== '' && !told.has(plain(name)) && !readers.some((reader) => reader.includes(noun));
      })
      .map((name) => `${definition.id}.${id}.${name}`);
  });
}

describe('a required id', () => {
  test('a required id is returned by an action of its connector, or names its source', () => {
    expect(SHIPPED.map(read).flatMap(openIds).sort()).toEqual(Object.keys(ledger.open).sort());
  });

  test('a required id that no action returns is found', () => {
    const planted = read('stripe');
    const action = Object.values(planted.actions).find(({ request }) => request.startsWith('POST'));
    if (!action) throw new Error('the action is gone');
    action.body['warehouse_id'] = { type: 'string', required: true };
    expect(openIds(planted)).toEqual([expect.stringMatching(/^stripe\.\w+\.warehouse_id$/)]);
  });
});

describe('the version of an API', () => {
  /** Versions by date in addresses and headers: 2026-07, v2026-07, 2026-07-29.dahlia. */
  const versionsIn = ({ id, baseUrl, headers, variables, actions }: ConnectorFile): string[] => {
    const texts = [
      baseUrl,
      ...Object.values(headers),
      ...Object.values(variables).map((one) => one.default ?? ''),
      ...Object.values(actions).map(({ request }) => request),
    ];
    const versions = texts.flatMap((text) => text.match(/20\d\d-\d\d(?:-\d\d)?/g) ?? []);
    return [...new Set(versions)].map((version) => `${id} ${version}`);
  };
  const monthsBetween = (older: string, newer: string): number => {
    const months = (text: string) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7));
    return months(newer) - months(older);
  };

  test('the API version that a connector sends is in the ledger and recent enough', () => {
    const sent = SHIPPED.map(read).flatMap(versionsIn);
    const old = sent.filter((one) => {
      const [id = '', version = ''] = one.split(' ');
      const known = ledger.versions[id];
      if (!known?.sends.includes(version)) throw new Error(`the ledger does not know ${one}`);
      return monthsBetween(version, known.newest) > known.months;
    });
    expect(old).toEqual([]);
  });

  test('the version of an API is found when it is six years old', () => {
    expect(monthsBetween('2020-08-27', '2026-07-29')).toBeGreaterThan(24);
    const planted = read('stripe');
    planted.headers['Stripe-Version'] = '2020-08-27';
    expect(versionsIn(planted)).toEqual(['stripe 2020-08-27']);
  });
});
