import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { hostingOf } from '../../src/connectors/catalog.ts';
import { compileConnector } from '../../src/connectors/compile.ts';
import { parseConnector } from '../../src/connectors/parse.ts';
import { parseJson } from '../../src/lib/json.ts';
import { Secret } from '../../src/lib/secret.ts';
import { callUpstream } from '../../src/upstream/call.ts';
import { interpretAnswer } from '../../src/upstream/response.ts';
import { json, openUpstream, startUpstream, type Upstream } from '../support/upstream.ts';

/* The table vendors/errors.yaml: a real server gives each row's answer to a real call of its connector. */

const FOLDER = join(import.meta.dirname, '../../data/connectors');
const row = z.strictObject({
  connector: z.string(),
  /** The action of the call; default: the probe. */
  action: z.string().optional(),
  status: z.int(),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.json(),
  /** The code that the caller gets; `permission` is upstream_rejected with that reason. */
  means: z.enum([
    'credential_invalid',
    'permission',
    'upstream_rate_limited',
    'upstream_rejected',
    'upstream_failed',
  ]),
  source: z.string().min(5),
});
const ROWS = z
  .array(row)
  .parse(parse(readFileSync(join(import.meta.dirname, 'vendors/errors.yaml'), 'utf8')));

let calls = 0;
let upstream: Upstream;
let context: ReturnType<typeof openUpstream>;
beforeAll(async () => {
  upstream = await startUpstream();
  const opened = openUpstream();
  // Retries are off, because the first answer counts.
  context = { ...opened, throttle: { ...opened.throttle, mayRetry: () => false } };
});
afterAll(async () => {
  await context.close();
  await upstream[Symbol.asyncDispose]();
});

/** Returns the result of a call of the row's action. `change` alters the text of the connector file. */
async function meaningOf(
  { connector: id, action: named, status, headers, body }: z.infer<typeof row>,
  change = (text: string) => text,
): Promise<string> {
  const file = join(FOLDER, id, 'connector.yaml');
  const { definition } = parseConnector(change(readFileSync(file, 'utf8')), file);
  if (!definition) throw new Error(`${file} has faults`);
  const moved = { ...definition, baseUrl: upstream.origin };
  const connector = compileConnector(moved, hostingOf(definition, false));
  const action = connector.actions.get(named ?? definition.probe ?? '');
  const scheme = definition.authentication.find(({ type }) => type !== 'none');
  if (!action || !scheme) throw new Error(`${id} has no action ${named}, or no scheme`);
  const local = { ...action, definition: { ...action.definition, baseUrl: undefined } };
  const fields = ['token', 'apiKey', 'accessToken', 'username', 'password', 'consumerKey', 'consumerSecret'];
  const open = [...Object.keys(definition.variables), 'realmId', 'tenantId', 'instanceUrl'];
  const values = Object.fromEntries(
    [...fields, ...open].map((name): [string, Secret] => [name, new Secret(`value-of-${name}`)]),
  );
  const call = {
    connector,
    action: local,
    credential: { credentialId: `cred_${id}_${++calls}`, connectorId: id, scheme, values },
    input: Object.fromEntries(
      Object.keys({ ...action.definition.path, ...action.definition.body }).map((name) => [name, 'x']),
    ),
  };
  upstream.handler = (_req, res) => json(res, status, parseJson(JSON.stringify(body)), headers);
  try {
    await interpretAnswer(call, await callUpstream(context, call));
    return 'success';
  } catch (error) {
    const { code, details } = z
      .object({ code: z.string(), details: z.object({ reason: z.string().optional() }).optional() })
      .parse(error);
    return details?.reason === 'permission' ? 'permission' : code;
  }
}

describe('the answer of a vendor', () => {
  test.each(
    ROWS.map((one): [string, z.infer<typeof row>] => [
      `${one.connector} ${one.status} ${JSON.stringify(one.body).slice(0, 60)}`,
      one,
    ]),
  )('the error answer %s means what its source says', async (_name, one) => {
    const found = await meaningOf(one);
    // A missing right is a refusal. The rule may name the reason, and the code is the same.
    const wanted = one.means === 'upstream_rejected' ? ['upstream_rejected', 'permission'] : [one.means];
    expect(wanted).toContain(found);
  });

  test('an error answer of a vendor that a connector misreads is found', async () => {
    const one = ROWS.find(({ connector, means }) => connector === 'xero' && means === 'credential_invalid');
    if (!one) throw new Error('the row is gone');
    expect(await meaningOf(one)).toBe('credential_invalid');
    const without = (text: string) => text.replaceAll('AuthenticationUnsuccessful', 'SomethingElse');
    expect(await meaningOf(one, without)).not.toBe('credential_invalid');
  });

  test('an error answer is listed for every connector except self-hosted apps', () => {
    const told = new Set(ROWS.map(({ connector }) => connector));
    const others = readdirSync(FOLDER).filter((id) => !told.has(id));
    expect(others).toEqual(['medusa', 'parse-server', 'sandbox']);
  });
});
