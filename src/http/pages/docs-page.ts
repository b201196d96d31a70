import { z } from 'zod';
import { resolved, type SchemaObject } from '../server/openapi-schemas.ts';
import { escapeHtml } from '../../lib/html.ts';

/*
 * The reference page, rendered from the OpenAPI document. It is one file without scripts: it opens behind any
 * firewall, prints, and can be searched in the browser.
 */

const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.unknown())).optional(),
  'x-scope': z.string().optional(),
  parameters: z.array(
    z.looseObject({
      name: z.string(),
      in: z.string(),
      required: z.boolean(),
      description: z.string().optional(),
      schema: z.looseObject({}),
    }),
  ),
  requestBody: z
    .looseObject({
      content: z.record(
        z.string(),
        z.looseObject({ schema: z.looseObject({}), example: z.unknown().optional() }),
      ),
    })
    .optional(),
  responses: z.record(
    z.string(),
    z.looseObject({
      description: z.string(),
      content: z
        .record(z.string(), z.looseObject({ schema: z.looseObject({}), example: z.unknown().optional() }))
        .optional(),
    }),
  ),
});
type Operation = z.infer<typeof operation>;

const document = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
  'x-scopes': z.record(z.string(), z.string()),
});

interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** Returns the HTML of our OpenAPI document. */
export function referencePage(openApi: unknown): string {
  const { info, servers, paths, components, 'x-scopes': scopes } = document.parse(openApi);
  const groups = new Map<string, Endpoint[]>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, value] of Object.entries(methods)) {
      const tag = value.tags[0] ?? 'Other';
      groups.set(tag, [...(groups.get(tag) ?? []), { method: method.toUpperCase(), path, operation: value }]);
    }
  }
  const sections = [...groups].map(([tag, endpoints]) => section(tag, endpoints, components.schemas));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)} API reference</title>
<style>${STYLE}</style>
</head>
<body>
<nav aria-label="Endpoints">
<p class="brand">${escapeHtml(info.title)}</p>
<a href="#start">Getting started</a>
${[...groups].map(([tag, endpoints]) => navigation(tag, endpoints)).join('\n')}
<p class="tag">Reference</p>
<a href="#scopes">Scopes</a>
<a href="/openapi.json">OpenAPI document</a>
</nav>
<main>
<header id="start">
<h1>API reference</h1>
<p>${inline(info.description)}</p>
<dl class="facts">
<dt>Address</dt><dd><code>${escapeHtml(servers[0]?.url ?? '')}</code></dd>
<dt>Authentication</dt><dd><code>Authorization: Bearer &lt;API key&gt;</code></dd>
<dt>Version header</dt><dd><code>x-api-version: 2025-09</code> on connectors, users and credentials</dd>
<dt>User header</dt><dd><code>x-svc-userid: &lt;userId&gt;</code> for operations on behalf of an end user</dd>
<dt>Errors</dt><dd>One body everywhere: <code>{"error", "code", "requestId", "details"?}</code></dd>
<dt>Lists</dt><dd><code>{"data", "pagination": {"hasMore", "nextOffset"?}}</code>, with <code>limit</code> (1–50) and <code>offset</code></dd>
</dl>
</header>
${sections.join('\n')}
<section id="scopes"><h2>Scopes</h2>
<table><tbody>${Object.entries(scopes)
    .map(
      ([name, meaning]) =>
        `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(meaning)}</td></tr>`,
    )
    .join('')}</tbody></table></section>
</main>
</body>
</html>
`;
}

function navigation(tag: string, endpoints: Endpoint[]): string {
  const links = endpoints.map(
    ({ method, operation: { operationId, summary } }) =>
      `<a href="#${escapeHtml(operationId)}"><span class="method ${method}">${method}</span>${escapeHtml(summary)}</a>`,
  );
  return `<p class="tag">${escapeHtml(tag)}</p>\n${links.join('\n')}`;
}

function section(tag: string, endpoints: Endpoint[], schemas: Schemas): string {
  return `<section><h2>${escapeHtml(tag)}</h2>\n${endpoints.map((one) => endpoint(one, schemas)).join('\n')}</section>`;
}

function endpoint({ method, path, operation: op }: Endpoint, schemas: Schemas): string {
  const body = op.requestBody?.content['application/json'];
  const access =
    op.security?.length === 0
      ? 'open to all'
      : (op.security ?? []).map((s) => (Object.keys(s)[0] === 'jwt' ? 'user JWT' : 'API key')).join(' or ');
  return `<article id="${escapeHtml(op.operationId)}">
<h3>${escapeHtml(op.summary)}</h3>
<p class="line"><span class="method ${method}">${method}</span><code>${escapeHtml(path)}</code></p>
${op.description ? `<p>${inline(op.description)}</p>` : ''}
<p class="access">${escapeHtml(access)}${op['x-scope'] ? ` · scope <code>${escapeHtml(op['x-scope'])}</code>` : ''}</p>
${op.parameters.length ? `<h4>Parameters</h4><table><tbody>${op.parameters.map(parameterRow).join('')}</tbody></table>` : ''}
${body ? `<h4>Body</h4>${fields(body.schema, schemas)}${example(body.example)}` : ''}
<h4>Answers</h4>
${Object.entries(op.responses)
  .map((one) => answer(one, schemas))
  .join('\n')}
</article>`;
}

function parameterRow({
  name,
  in: place,
  required,
  description,
  schema,
}: Operation['parameters'][number]): string {
  return row(name, { required, type: `${place} · ${typeOf(schema)}`, description: description ?? '' });
}

function answer(
  [status, { description, content }]: [string, Operation['responses'][string]],
  schemas: Schemas,
): string {
  const json = content?.['application/json'];
  const shown = status.startsWith('2') && json ? fields(json.schema, schemas) + example(json.example) : '';
  return `<div class="answer"><p><span class="status s${status[0]}">${status}</span> ${inline(description)}</p>${shown}</div>`;
}

function example(value: unknown): string {
  return `<details><summary>Example</summary><pre><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre></details>`;
}

type Schemas = Record<string, SchemaObject>;
const MAX_DEPTH = 4;

const schemaShape = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
  items: z.looseObject({}).optional(),
  anyOf: z.array(z.unknown()).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  $ref: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
});

/** Returns the members of an object schema as a table, nested members below their parent. */
function fields(schema: SchemaObject, schemas: Schemas): string {
  const rows = memberRows({ schema, prefix: '', depth: 0 }, schemas);
  return rows.length
    ? `<table><tbody>${rows.join('')}</tbody></table>`
    : `<p class="type">${escapeHtml(typeOf(schema))}</p>`;
}

interface Member {
  schema: SchemaObject;
  prefix: string;
  depth: number;
}

function memberRows({ schema, prefix, depth }: Member, schemas: Schemas): string[] {
  if (depth > MAX_DEPTH) return [];
  const { properties = {}, required = [] } = schemaShape.parse(resolved(schema, schemas));
  return Object.entries(properties).flatMap(([name, member]) => {
    const { description = '', items } = schemaShape.parse(resolved(member, schemas));
    const path = `${prefix}${name}${items === undefined ? '' : '[]'}`;
    return [
      row(path, { required: required.includes(name), type: typeOf(member), description }),
      ...memberRows({ schema: items ?? member, prefix: `${path}.`, depth: depth + 1 }, schemas),
    ];
  });
}

function row(
  name: string,
  { required, type, description }: { required: boolean; type: string; description: string },
): string {
  const mark = required ? '<span class="required">required</span>' : '';
  return `<tr><td><code>${escapeHtml(name)}</code>${mark}</td><td><span class="type">${escapeHtml(type)}</span>${description ? `<br>${inline(description)}` : ''}</td></tr>`;
}

function typeOf(schema: unknown): string {
  const { type, enum: values, const: constant, anyOf, items, $ref, ...rest } = schemaShape.parse(schema);
  if ($ref) return $ref.split('/').at(-1) ?? 'object';
  if (constant !== undefined) return JSON.stringify(constant);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  const name = Array.isArray(type) ? type.join(' | ') : (type ?? 'any');
  if (name === 'array') return `array of ${typeOf(items ?? {})}`;
  const { minimum, maximum, minLength, maxLength } = rest;
  const bounds =
    minLength !== undefined || maxLength !== undefined
      ? ` (${minLength ?? 0} to ${maxLength ?? '…'} characters)`
      : minimum !== undefined && maximum !== undefined && Math.abs(maximum) < Number.MAX_SAFE_INTEGER
        ? ` (${minimum} to ${maximum})`
        : '';
  return name + bounds;
}

/** Returns escaped text with `code` between backticks marked up. */
function inline(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

const STYLE = `
:root{--ink:#1d2733;--soft:#5b6876;--line:#e3e8ee;--paper:#fff;--side:#f6f8fa;--accent:#1f6f5c;--code:#f1f4f7;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--soft:#96a3b1;--line:#2b3541;--paper:#12181f;--side:#171f28;--accent:#5cc4a8;--code:#1d2731}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1.5rem}
body{margin:0;display:grid;grid-template-columns:17rem minmax(0,1fr);font:15px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem;background:var(--side);border-right:1px solid var(--line);font-size:13px}
nav a{display:flex;gap:.5rem;align-items:baseline;padding:.2rem .5rem;border-radius:6px;color:inherit;text-decoration:none}
nav a:hover,nav a:focus-visible{background:var(--line)}
nav .method{font-size:9px;width:3.2rem;text-align:center;flex:none;padding:1px 0}
.brand{margin:0 .5rem 1rem;font-weight:700;font-size:17px;letter-spacing:-.01em}
.tag{margin:1.25rem .5rem .25rem;font-weight:600;color:var(--soft);text-transform:uppercase;font-size:11px;letter-spacing:.06em}
main{max-width:58rem;padding:2.5rem clamp(1rem,4vw,3.5rem) 6rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .5rem;letter-spacing:-.02em}
h2{margin:3.5rem 0 0;padding-bottom:.5rem;border-bottom:1px solid var(--line);font-size:1.35rem}
h3{margin:0;font-size:1.08rem}
h4{margin:1.25rem 0 .35rem;font-size:12px;color:var(--soft);text-transform:uppercase;letter-spacing:.05em}
article{padding:1.75rem 0;border-bottom:1px solid var(--line)}
article p{margin:.5rem 0}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
.line{display:flex;gap:.6rem;align-items:center}
.access{color:var(--soft);font-size:13px}
.method{font:700 11px/1.6 ui-monospace,monospace;padding:0 .45rem;border-radius:4px;color:#fff;background:#475569}
.GET{background:#1f6f5c}.POST{background:#2456a6}.PUT{background:#96590c}.DELETE{background:#a32b38}
table{border-collapse:collapse;width:100%}
td{padding:.4rem .75rem .4rem 0;vertical-align:top;border-top:1px solid var(--line)}
td:first-child{width:38%}
.type{color:var(--soft);font-size:13px;overflow-wrap:anywhere}
.required{margin-left:.4rem;font-size:11px;color:#b4501e}
@media(prefers-color-scheme:dark){.required{color:#f0a375}}
.status{font:700 12px ui-monospace,monospace;margin-right:.35rem}
.s2{color:var(--accent)}.s4,.s5{color:#b4501e}
.answer{margin:.25rem 0}
details{margin:.35rem 0}summary{cursor:pointer;color:var(--soft);font-size:13px}
pre{overflow:auto;padding:.75rem 1rem;background:var(--code);border-radius:6px}pre code{padding:0;background:none}
.facts{display:grid;grid-template-columns:9rem 1fr;gap:.4rem 1rem;margin:1.5rem 0 0}
.facts dt{color:var(--soft)}.facts dd{margin:0}
@media(max-width:800px){body{display:block}nav{position:static;height:auto;max-height:40vh;border-right:0;border-bottom:1px solid var(--line)}.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.6rem}}
@media print{nav{display:none}body{display:block}}
`;
