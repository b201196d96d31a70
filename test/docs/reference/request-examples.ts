import { EXAMPLE_BODIES, NAMES_USER } from './example-bodies.ts';
import type { Endpoint } from './openapi-shapes.ts';

/* An example of a request, as curl and as TypeScript with the client of the package. Both send the same. */

interface Example {
  method: string;
  /** Path with `{names}` in place of its values. */
  path: string;
  /** Names in the path. */
  names: string[];
  /** Values of required members of the query, by name. */
  query: [name: string, value: unknown][];
  /** The token of the request, as a variable; undefined where none is needed. */
  token: 'gatehouseKey' | 'userToken' | undefined;
  /** Required headers but the version of the API, by name. `{names}` stand for variables. */
  headers: [name: string, value: string][];
  hasVersion: boolean;
  /** A JSON value. */
  json?: unknown;
  /** A file whose content is the body. */
  file?: string;
  /** Whether the answer is no JSON. */
  isText: boolean;
}

/** Returns the request of an operation as blocks that follow each other. Some operations are for browsers alone. */
export function requestExamples(endpoint: Endpoint): { curl: string; typescript: string } {
  const example = exampleRequest(endpoint);
  return { curl: asCurl(example), typescript: asTypeScript(example) };
}

function exampleRequest({ method, path, operation }: Endpoint): Example {
  const { security, parameters, requestBody } = operation;
  const json = requestBody?.content['application/json'];
  const needed = parameters.filter(({ required }) => required);
  const place = NAMES_USER[operation.operationId];
  const schemes = new Set(security.flatMap((one) => Object.keys(one)));
  return {
    method,
    path,
    names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    // A JWT names its user, so the parameter is optional. A key needs it.
    query: parameters
      .filter(
        (one) =>
          one.in === 'query' &&
          (one.required || (one.name === 'userId' && (schemes.has('jwt') || place === 'query'))),
      )
      .map(({ name, schema }) => [name, exampleOf(name, schema)]),
    token: schemes.has('apiKey') ? 'gatehouseKey' : schemes.has('jwt') ? 'userToken' : undefined,
    headers:
      place === 'header' || needed.some(({ name }) => name === 'x-svc-userid')
        ? [['x-svc-userid', '{userId}']]
        : [],
    hasVersion: needed.some(({ name }) => name === 'x-api-version'),
    ...(json
      ? { json: EXAMPLE_BODIES[operation.operationId] ?? json.example }
      : requestBody
        ? { file: 'notes.txt' }
        : {}),
    isText: Object.entries(operation.responses).some(
      ([status, { content }]) => status.startsWith('2') && content && !content['application/json'],
    ),
  };
}

function exampleOf(name: string, schema: { examples?: unknown; enum?: unknown }): unknown {
  if (name.endsWith('Id')) return `{${name}}`;
  const [first] = [schema.examples, schema.enum].find((one) => Array.isArray(one)) ?? [];
  return first ?? `{${name}}`;
}

/** Returns the name of a value as a variable of the shell: `serverId` is `SERVER_ID`. */
export function shellName(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
}

function asCurl({ method, path, query, token, headers, hasVersion, json, file }: Example): string {
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`);
  const search = query.map(([name, value]) => `${name}=${fill(encoded(value))}`).join('&');
  const address = `"$GATEHOUSE_URL${fill(path)}${search === '' ? '' : `?${search}`}"`;
  const hasBody = json !== undefined || file !== undefined;
  const verb = method === 'GET' || (method === 'POST' && hasBody) ? '' : `-X ${method} `;
  const sent = [
    ...(token === undefined ? [] : [['Authorization', `Bearer {${token}}`]]),
    ...(hasVersion ? [['x-api-version', '2025-09']] : []),
    ...headers,
    ...(json === undefined ? [] : [['Content-Type', 'application/json']]),
    ...(file === undefined ? [] : [['Content-Type', 'text/plain']]),
  ];
  const lines = [
    `curl -s ${verb}${address}`,
    ...sent.map(([name = '', value = '']) => {
      const text = `${name}: ${fill(value)}`;
      return `-H ${text.includes('$') ? `"${text}"` : `'${text}'`}`;
    }),
    ...(json === undefined ? [] : [`-d '${JSON.stringify(json).replaceAll("'", String.raw`'\''`)}'`]),
    ...(file === undefined ? [] : [`--data-binary @${file}`]),
  ];
  return lines.join(' \\\n  ');
}

function encoded(value: unknown): string {
  const text = String(value);
  return /^\{\w+\}$/.test(text) ? text : encodeURIComponent(text).replaceAll('%2F', '/');
}

function asTypeScript({ method, path, names, query, headers, json, file, isText }: Example): string {
  const params = {
    ...(names.length === 0 ? {} : { path: Object.fromEntries(names.map((name) => [name, `{${name}}`])) }),
    ...(query.length === 0 ? {} : { query: Object.fromEntries(query) }),
    ...(headers.length === 0 ? {} : { header: Object.fromEntries(headers) }),
  };
  const options = {
    ...(Object.keys(params).length === 0 ? {} : { params }),
    ...(json === undefined ? {} : { body: json }),
    ...(file === undefined ? {} : { body: '{content}' }),
    ...(isText ? { parseAs: 'text' } : {}),
  };
  const call = `await gatehouse.${method.toLowerCase()}('${path}'`;
  return Object.keys(options).length === 0 ? `${call});` : `${call}, ${literal(options)});`;
}

const MAX_LINE = 90;

/** Returns a JSON value as TypeScript writes it, short objects on one line. `{name}` is the variable of that name. */
function literal(value: unknown): string {
  let text = unquoted(JSON.stringify(value, null, 2));
  for (let before = ''; before !== text;) {
    before = text;
    text = text.replaceAll(/([{[])\n\s+([^\n]+)\n\s*[}\]]/g, (whole, open: string, inner: string) => {
      const line = open === '{' ? `{ ${inner} }` : `[${inner}]`;
      return line.length > MAX_LINE ? whole : line;
    });
  }
  return text;
}

function unquoted(json: string): string {
  return json
    .replaceAll(/"([A-Za-z_$][\w$]*)":/g, '$1:')
    .replaceAll(/(\w+): "\{\1\}"/g, '$1')
    .replaceAll(/"\{(\w+)\}"/g, '$1')
    .replaceAll(/"([^"'\\]*)"/g, "'$1'");
}
