import manifest from '../../../package.json' with { type: 'json' };
import { isErrorCode } from '../../../src/lib/errors.ts';
import { slugOf } from '../../../src/docs/slugs.ts';
import { ROUTES } from '../../../src/http/routes/routes.ts';
import { resolved } from '../../../src/http/server/openapi-schemas.ts';
import {
  endpointsByTag,
  readOpenApi,
  type Endpoint,
  type OpenApi,
  type Operation,
} from './openapi-shapes.ts';
import { requestExamples } from './request-examples.ts';
import { fieldTable, modelName, typeOf } from './schema-fields.ts';
import { fence, prose, table } from './tables.ts';

/* docs/api.md and docs/api/: the API, printed from the OpenAPI document. */

const OVERVIEW = `# The API

Gatehouse has one API over HTTPS and JSON. The console, the command line and your code use it alike. This reference is printed from
the OpenAPI document, which a running service has at \`/openapi.json\`.

## Requests

| Part | Value |
| --- | --- |
| Authentication | \`Authorization: Bearer\` with an API key of the environment, or with a JWT of one user where the operation accepts it |
| \`x-api-version\` | \`2025-09\`, on connectors, users and credentials |
| \`x-svc-userid\` | the user on whose behalf a key calls |
| \`Idempotency-Key\` | makes the repetition of a call safe; see [Actions](api/actions.md) |
| Bodies | JSON with \`Content-Type: application/json\`, 1 MiB at most unless the operation says otherwise |
| Values | 200,000 in a body, of which 20,000 outside of \`input\`, \`parameters\`, \`arguments\`, \`metadata\`, \`data\`, \`definition\` and \`openapi\`; there an object has at most 1,000 members |
| Without a credential | 16 KiB, and 30 faulty requests a minute for an address |

The examples take their values from variables:

\`\`\`sh curl
export GATEHOUSE_URL=http://127.0.0.1:3000
export GATEHOUSE_KEY='gh_dev_…'
curl -s "$GATEHOUSE_URL/api/servers" -H "Authorization: Bearer $GATEHOUSE_KEY"
\`\`\`

\`\`\`ts TypeScript
import { createClient } from '${manifest.name}/client';

const gatehouse = createClient({
  baseUrl: process.env.GATEHOUSE_URL ?? '',
  token: process.env.GATEHOUSE_KEY ?? '',
});
console.log(await gatehouse.get('/api/servers'));
\`\`\`

The client is described in [The TypeScript client](clients.md). For operations of a user, its \`token\` is a JWT of that user.

### Bytes of a body

Gatehouse reads bodies of callers, apps and webhooks, and files of the command line, by the same rules:

| Part | Rule |
| --- | --- |
| charset | that of the \`Content-Type\`, UTF-8 by default; a byte order mark is removed |
| \`Content-Encoding\` | gzip, br and deflate; the limit of the body counts its unpacked bytes |
| unknown charset or encoding | 415 \`unsupported_media_type\` |
| a request that is no text of its charset | 400 \`invalid_request\`; in answers of apps such bytes become U+FFFD |
| U+0000 and halves of surrogate pairs | U+FFFD in everything that is stored |

### Large numbers

Most clients round integers beyond 2^53. Answers, events and workflows have them as texts of their digits:
\`{"id": "9007199254740993"}\`. The output schema of an action then says \`integer\` or \`string\`. It says so unless a bound or a format
of 32 bits excludes such numbers. The same holds for numbers with a fraction beyond 2^53, and for numbers beyond the range of a double.

Where the schema of an input says \`integer\` or \`number\`, the number and the text of its digits are both taken. The app gets the number
with all digits. Where a schema takes any value, a number stays a number and a text stays a text.

## Answers

Times are ISO 8601 in UTC. A list has \`data\` and \`pagination\`: \`{"hasMore": true, "nextOffset": 50}\`. The query sets \`limit\` (1 to
50) and \`offset\`. An answer may gain members with a release, so ignore members that you do not know.

Every error has one form. \`code\` is one of [the error codes](errors.md), and \`requestId\` is in the log and in the header
\`X-Request-Id\`:

\`\`\`json
{
  "error": "The request is invalid. name: is required.",
  "code": "invalid_request",
  "requestId": "7d0c0c52-6b52-4c62-a1cb-6d1c2e6d1f7a",
  "details": { "faults": [{ "field": "name", "rule": "is required" }] }
}
\`\`\`

A user's JWTs, MCP endpoints and addresses with many refused requests have rate limits. Then the answer is 429 with \`Retry-After\` and
the headers \`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\`.
`;

/** Returns the pages by path from the root of the repository. */
export function apiPages(openApi: unknown): Map<string, string> {
  const document = readOpenApi(openApi);
  const groups = endpointsByTag(document);
  const pages = new Map([
    ['docs/api.md', overview(document, groups)],
    ['docs/api/models.md', modelsPage(document)],
  ]);
  for (const [tag, endpoints] of groups) pages.set(fileOf(tag), tagPage(document, tag, endpoints));
  return pages;
}

function fileOf(tag: string): string {
  return `docs/api/${slugOf(tag)}.md`;
}

function overview({ tags, 'x-scopes': scopes }: OpenApi, groups: Map<string, Endpoint[]>): string {
  const rows = tags.map(({ name, description }) => [
    `[${name}](api/${slugOf(name)}.md)`,
    String(groups.get(name)?.length ?? 0),
    prose(description),
  ]);
  const scopeRows = Object.entries(scopes).map(([name, meaning]) => [`\`${name}\``, prose(meaning)]);
  return [
    OVERVIEW,
    '## Operations\n',
    table(['Group', 'Operations', 'About'], rows),
    '[Models](api/models.md) lists the objects of requests and answers with every field.\n',
    '## Scopes\n',
    'A named key has some of these scopes, and the key of an environment has all of them.\n',
    table(['Scope', 'Allows'], scopeRows),
  ].join('\n');
}

function tagPage(document: OpenApi, tag: string, endpoints: Endpoint[]): string {
  const { description = '' } = document.tags.find(({ name }) => name === tag) ?? {};
  const rows = endpoints.map(({ method, path, operation: { summary } }) => [
    `[${prose(summary)}](#${slugOf(summary)})`,
    `\`${method} ${path}\``,
  ]);
  return [
    `# ${tag}\n`,
    `${prose(description)} The [overview](../api.md) explains the variables of the examples.\n`,
    table(['Operation', 'Request'], rows),
    ...endpoints.map((one) => endpointSection(document, one)),
  ].join('\n');
}

/** Returns whether the client has this operation: not MCP, and not the pages and files of browsers. */
function isTyped({ method, path }: Endpoint): boolean {
  return ROUTES.some((route) => route.method === method && route.path === path);
}

const link = (name: string) => `models.md#${slugOf(name)}`;

function endpointSection(document: OpenApi, endpoint: Endpoint): string {
  const { method, path, operation } = endpoint;
  const { summary, description, parameters, 'x-scope': scope } = operation;
  const { curl, typescript } = requestExamples(endpoint);
  const rows = parameters.map(({ name, in: place, required, description: meaning, schema }) => [
    `\`${name}\``,
    place,
    `${typeOf(schema, link)}${required ? ', required' : ''}`,
    prose(meaning),
  ]);
  return [
    `## ${prose(summary)}\n`,
    `\`${method} ${path}\` · ${accessOf(operation)}${scope === undefined ? '' : ` · scope \`${scope}\``}\n`,
    ...(description === undefined ? [] : [`${prose(description)}\n`]),
    ...(rows.length === 0 ? [] : [table(['Parameter', 'In', 'Type', 'Meaning'], rows)]),
    ...bodyOf(document, operation),
    fence('sh curl', curl),
    ...(isTyped(endpoint) ? [fence('ts TypeScript', typescript)] : []),
    ...answersOf(operation),
    errorsOf(operation),
  ].join('\n');
}

function accessOf({ security }: Operation): string {
  const names: Record<string, string> = {
    apiKey: 'API key',
    jwt: 'JWT of a user',
    browser: 'cookie of a connect link',
  };
  const schemes = security.flatMap((one) => Object.keys(one));
  return schemes.length === 0 ? 'open to all' : schemes.map((one) => names[one] ?? one).join(' or ');
}

function bodyOf({ components }: OpenApi, { requestBody }: Operation): string[] {
  if (!requestBody) return [];
  const json = requestBody.content['application/json'];
  if (!json) return [`**Body**: ${prose(requestBody.description ?? 'the content.')}\n`];
  const schema = resolved(json.schema, components.schemas);
  const fields = fieldTable(schema, link);
  if (fields === '') return [`**Body**: ${typeOf(json.schema, link)}\n`];
  return ['**Body**\n', fields];
}

function answersOf({ responses }: Operation): string[] {
  return Object.entries(responses)
    .filter(([status]) => /^[23]/.test(status))
    .flatMap(([status, { description, content }]) => {
      const json = content?.['application/json'];
      const model = json ? (modelName(json.schema) ?? modelName(Object(json.schema).items ?? {})) : undefined;
      const fields = model === undefined ? '' : ` Fields: [${model}](${link(model)}).`;
      return [
        `**Answer ${status}**: ${prose(description)}${fields}\n`,
        ...(json ? [fence('json', JSON.stringify(json.example, null, 2))] : []),
      ];
    });
}

function errorsOf({ responses }: Operation): string {
  const codes = Object.entries(responses)
    .filter(([status]) => /^[45]/.test(status))
    .flatMap(([, { description }]) => [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code))
    .filter(isErrorCode);
  if (codes.length === 0) return '';
  return `**Errors**: ${codes.map((code) => `[\`${code}\`](../errors.md#${code})`).join(', ')}\n`;
}

function modelsPage({ components: { schemas } }: OpenApi): string {
  const sections = Object.entries(schemas)
    .toSorted(([one], [other]) => one.localeCompare(other, 'en'))
    .map(([name, schema]) => {
      const own = (model: string) => `#${slugOf(model)}`;
      const { description } = schema;
      const fields = fieldTable(schema, own);
      const about = typeof description === 'string' ? `${prose(description)}\n\n` : '';
      return `## ${name}\n\n${about}${fields === '' ? `${typeOf({ ...schema, description: undefined }, own)}\n` : fields}`;
    });
  return [
    '# Models\n',
    'The objects of requests and answers, with every field. An answer may gain fields with a release.\n',
    ...sections,
  ].join('\n');
}
