import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { openApiDocument } from '../../src/http/server/openapi.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';

const run = promisify(execFile);
/** The first line of data/api-types.ts, which changes with the routes, so that `npm test` sees outdated types. */
export function headOf(document = clientDocument()): string {
  const hash = createHash('sha256')
    .update(JSON.stringify({ ...document, info: {} }))
    .digest('hex');
  return `/* The types of the client, printed from the routes: npm run client:types. Do not edit. sha256 of the routes: ${hash} */`;
}

/** A header that the client sends on its own. */
const OWN_HEADER = 'x-api-version';

const operation = z.looseObject({
  parameters: z.array(z.looseObject({ name: z.string() })),
  responses: z.record(z.string(), z.unknown()),
});
const pathsShape = z.record(z.string(), z.record(z.string(), operation));

/** Returns the text of data/api-types.ts, made by openapi-typescript of the folder of clients. */
export async function apiTypes(packages: string): Promise<string> {
  const folder = mkdtempSync(join(packages, 'types-'));
  try {
    const document = clientDocument();
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
    const program = join(packages, 'node_modules/openapi-typescript/bin/cli.js');
    await run(process.execPath, [program, 'openapi.json', '--output', 'api.ts'], { cwd: folder });
    const types = readFileSync(join(folder, 'api.ts'), 'utf8').replace(/^\/\*\*[^]*?\*\/\s*/, '');
    return `${headOf(document)}\n\n${types}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the document of the REST routes, without examples and without errors, which the client throws. A header that the
 * client sends is optional for its callers.
 */
function clientDocument(): object {
  const { paths, ...document } = openApiDocument(ROUTES, 'http://127.0.0.1:3000');
  const rest = Object.entries(pathsShape.parse(paths)).filter(([path]) => !path.startsWith('/mcp/'));
  for (const { parameters, responses } of rest.flatMap(([, methods]) => Object.values(methods))) {
    for (const status of Object.keys(responses)) if (!/^[23]/.test(status)) delete responses[status];
    for (const one of parameters) if (one.name === OWN_HEADER) Object.assign(one, { required: false });
  }
  return withoutExamples({ ...document, paths: Object.fromEntries(rest) });
}

/** Returns a document without its examples. A property of this name is a schema, which stays. */
function withoutExamples(document: object): object {
  const isExample = (key: string, member: unknown): boolean =>
    (key === 'examples' && Array.isArray(member)) || (key === 'example' && !isSchema(member));
  return JSON.parse(JSON.stringify(document, (key, member) => (isExample(key, member) ? undefined : member)));
}

function isSchema(value: unknown): boolean {
  return z.looseObject({ type: z.string() }).safeParse(value).success;
}
