import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startService } from '../support/service.ts';
import { installClients } from './install.ts';

/*
 * Checks the OpenAPI document with the tools of client authors: Redocly's linter, openapi-typescript's types, and a
 * call of every operation through openapi-fetch that TypeScript compiles.
 */

const run = promisify(execFile);
const parameter = z.looseObject({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  required: z.boolean(),
  schema: z.looseObject({
    type: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    examples: z.array(z.unknown()).optional(),
  }),
});
const documentShape = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        operationId: z.string(),
        parameters: z.array(parameter),
        requestBody: z
          .looseObject({ content: z.record(z.string(), z.looseObject({ example: z.unknown() })) })
          .optional(),
      }),
    ),
  ),
});
type Operation = z.infer<typeof documentShape>['paths'][string][string];

let packages: string;
let folder: string;
let document: z.infer<typeof documentShape>;
beforeAll(async () => {
  packages = await installClients();
  folder = mkdtempSync(join(packages, 'openapi-'));
  await using service = await startService();
  const { body } = await service.call('GET', '/openapi.json', { bearer: null });
  document = documentShape.parse(body);
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(body));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of the packages in the folder of the document. */
function program(name: string, ...args: string[]) {
  return run(process.execPath, [join(packages, 'node_modules', name), ...args], {
    cwd: folder,
    maxBuffer: 1e8,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
    throw new Error(`${name} failed:\n${stdout}\n${stderr}`);
  });
}

test('Redocly finds no error and no warning', async () => {
  // Two addresses only redirect: the root, and the return address of apps.
  writeFileSync(
    join(folder, 'redocly.yaml'),
    'extends: [recommended]\nrules:\n  operation-2xx-response: off\n',
  );
  const { stdout } = await program('@redocly/cli/bin/cli.js', 'lint', 'openapi.json', '--format=json');
  const { problems } = z
    .looseObject({ problems: z.array(z.looseObject({ message: z.string() })) })
    .parse(JSON.parse(stdout));
  expect(problems).toEqual([]);
});

test('a typed client compiles with a call of every operation', async () => {
  await program('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.d.ts');
  const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => callOf(method, path, operation)),
  );
  expect(calls.length).toBeGreaterThan(100);
  writeFileSync(
    join(folder, 'calls.ts'),
    [
      "import createClient from 'openapi-fetch';",
      "import type { components, paths } from './api.d.ts';",
      "const client = createClient<paths>({ baseUrl: 'http://127.0.0.1:3000' });",
      // A model has its members, and a free object accepts any.
      "export const nameOf = (server: components['schemas']['Server']): string => server.name;",
      "export const input: components['schemas']['WorkflowDefinition']['configurableFields'] = { type: 'object' };",
      ...calls,
    ].join('\n'),
  );
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'dom'],
    types: [],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['calls.ts'] }));
  await program('typescript/bin/tsc', '--project', '.');
});

/** Returns a call as a program would write it: all required parts, and the documented example as body. */
function callOf(method: string, path: string, { parameters, requestBody }: Operation): string {
  const params = Object.groupBy(
    parameters.filter(({ required }) => required),
    (one) => one.in,
  );
  const named = Object.entries(params).map(([place, list]) => [
    place,
    Object.fromEntries(list.map(({ name, schema }) => [name, exampleOf(schema)])),
  ]);
  const [[type, content] = [undefined, undefined]] = Object.entries(requestBody?.content ?? {});
  const body = type === 'application/json' ? `, body: ${JSON.stringify(content?.example)}` : '';
  return `await client.${method.toUpperCase()}(${JSON.stringify(path)}, { params: ${JSON.stringify(Object.fromEntries(named))}${body} });`;
}

function exampleOf({ examples, enum: values, type }: z.infer<typeof parameter>['schema']): unknown {
  return examples?.[0] ?? values?.[0] ?? (type === 'integer' ? 1 : 'text');
}
