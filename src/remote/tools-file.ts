import { z } from 'zod';
import { valueFaults } from '../connectors/value-lists.ts';
import { schemaPatternFaults } from '../connectors/patterns.ts';
import { withAllTypedValues } from '../connectors/typed-values.ts';
import { schemaFaults } from '../connectors/validate.ts';
import { withoutHidden } from '../lib/hidden-characters.ts';
import { withPauses } from '../lib/pauses.ts';
import { asJson, asObject, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';
import type { OAuthServer } from '../upstream/remote/oauth-metadata.ts';
import { contextActions, type Offers } from './context-actions.ts';
import type { RemoteSettings } from './remote-settings.ts';

/** The internal action that lists the tools. It also shows whether a credential works. */
export const TOOLS_ACTION = 'tools_list';

const MAX_TOOLS = 2000;
const MAX_SCHEMA_CHARS = 64 * 1024;
const MAX_SCHEMA_DEPTH = 40;
const MAX_DESCRIPTION_CHARS = 1000;
const MAX_ID_CHARS = 64;
/** Keywords that would refer to a schema outside of the tool. */
const NAMING = new Set(['$id', '$schema', 'id']);

/** A tool in the list of a server. Its annotations are claims of the server. */
const tool = z.object({
  name: z.string().min(1).max(256),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.record(z.string(), z.json()).catch({ type: 'object' }),
  annotations: z
    .object({
      title: z.string().optional().catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
      destructiveHint: z.boolean().optional().catch(undefined),
      idempotentHint: z.boolean().optional().catch(undefined),
    })
    .catch({}),
});
type Tool = z.infer<typeof tool>;

/** The result of an import of tools. */
export interface Report {
  tools: number;
  /** Tools that have no action, with the reason. */
  leftOut: { name: string; reason: string }[];
  /** Tools that were changed to fit, with the change. */
  changed: { name: string; change: string }[];
}

const NOTHING: Offers = { resources: false, prompts: false, completions: false };

/** The parts that a server listed. */
interface Listed {
  tools: readonly unknown[];
  offers?: Offers;
  readOn: string;
}

/** Returns the connector file of a remote server, with an action for each of its tools. */
export async function fileOfTools(
  settings: RemoteSettings,
  { tools, offers = NOTHING, readOn }: Listed,
): Promise<{ file: JsonObject; report: Report }> {
  const report: Report = { tools: 0, leftOut: [], changed: [] };
  const actions: JsonObject = {};
  const taken = new Set([TOOLS_ACTION]);
  const add = (name: string, action: JsonObject): void => {
    const actionId = actionIdOf(name, taken);
    taken.add(actionId);
    actions[actionId] = action;
  };
  // The schemas of 2,000 tools take seconds.
  for await (const one of withPauses(readTools(tools, report))) {
    add(one.name, actionOf(one, report));
    report.tools += 1;
  }
  for (const [id, action] of contextActions(offers)) add(id, action);
  return { file: fileWith(settings, readOn, actions), report };
}

/** Returns the connector file of a remote server that can only list its tools, with further actions. */
export function fileWith(settings: RemoteSettings, readOn: string, actions: JsonObject = {}): JsonObject {
  const { connectorId, name = connectorId, url } = settings;
  const schemes = schemesOf(settings);
  return {
    id: connectorId,
    name,
    description: `The tools of the MCP server at ${new URL(url).host}.`,
    categories: ['mcp'],
    website: new URL(url).origin,
    sources: [{ title: 'The list of tools of the server', read: readOn }],
    protocol: 'mcp',
    baseUrl: url.replace(/\/+$/, ''),
    authentication: schemes,
    ...(settings.authentication.type === 'none' ? {} : { probe: TOOLS_ACTION }),
    errors: { message: ['error.message', 'error_description', 'message', 'error'] },
    actions: {
      [TOOLS_ACTION]: {
        description: 'Lists the tools of the server.',
        effect: 'read',
        internal: true,
        request: 'POST /',
        mcp: { method: 'tools/list' },
      },
      ...actions,
    },
  };
}

/** Returns the usable tools in the order of their names, so that equal lists make equal files. */
function readTools(tools: readonly unknown[], report: Report): Tool[] {
  const seen = new Set<string>();
  const usable = tools.slice(0, MAX_TOOLS).flatMap((given, index) => {
    const read = tool.safeParse(given);
    const name = read.success ? read.data.name : `tool ${index + 1}`;
    const reason = !read.success ? 'has no valid name' : seen.has(name) ? 'is listed twice' : undefined;
    seen.add(name);
    if (reason !== undefined) report.leftOut.push({ name: shown(name), reason });
    return read.success && reason === undefined ? [read.data] : [];
  });
  for (const left of tools.slice(MAX_TOOLS, MAX_TOOLS + 10))
    report.leftOut.push({
      name: shown(isJsonObject(left) ? String(left['name']) : 'tool'),
      reason: `is beyond the limit of ${MAX_TOOLS} tools`,
    });
  return usable.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function actionOf(given: Tool, report: Report): JsonObject {
  const { name, title, description, annotations, inputSchema } = given;
  const { input, change } = inputOf(inputSchema);
  if (change !== undefined) report.changed.push({ name: shown(name), change });
  const label = shown(title ?? annotations.title ?? '').slice(0, 80);
  return {
    ...(label === '' ? {} : { name: label }),
    description: shown(description ?? '').slice(0, MAX_DESCRIPTION_CHARS) || label || shown(name),
    effect: effectOf(annotations),
    ...(annotations.idempotentHint === true && annotations.readOnlyHint !== true ? { idempotent: true } : {}),
    request: 'POST /',
    mcp: { method: 'tools/call', name },
    input,
    response: { body: 'content' },
  };
}

/** Returns the effect that a server claims. Without a claim, a tool counts as destructive. */
function effectOf({ readOnlyHint, destructiveHint }: Tool['annotations']): string {
  if (readOnlyHint === true) return 'read';
  return destructiveHint === false ? 'write' : 'destructive';
}

/** Returns the schema of a tool's input. If it cannot be used, returns a schema that accepts every object. */
function inputOf(given: JsonObject): { input: JsonObject; change?: string } {
  const open: JsonObject = { type: 'object' };
  if (JSON.stringify(given).length > MAX_SCHEMA_CHARS)
    return { input: open, change: 'its schema is too large, so every object is accepted' };
  const cleaned = cleanedSchema(given, 0);
  if (!isJsonObject(cleaned)) return { input: open, change: 'its schema is nested too deep' };
  const notes: string[] = [];
  const typed = asObject(asJson(withAllTypedValues(cleaned, (what) => notes.push(what))));
  const input: JsonObject = { ...typed, type: 'object' };
  const [pattern] = schemaPatternFaults(input, 'input');
  if (pattern)
    return { input: open, change: `${pattern.field} ${pattern.rule}, so every object is accepted` };
  const [fault] = schemaFaults(input, 'input');
  if (fault) return { input: open, change: `its schema is not valid (${shown(fault.rule).slice(0, 200)})` };
  const [impossible] = valueFaults(input).filter(({ place }) => place !== undefined);
  if (impossible)
    return {
      input: open,
      change: `input.${impossible.path.join('.')} ${impossible.fault}, so every object is accepted`.slice(
        0,
        300,
      ),
    };
  return notes.length === 0 ? { input } : { input, change: [...new Set(notes)].join('; ').slice(0, 300) };
}

/** Returns a schema with cleaned texts and without the keywords of NAMING; undefined when it is nested too deep. */
function cleanedSchema(value: Json, depth: number): Json | undefined {
  if (depth > MAX_SCHEMA_DEPTH) return undefined;
  if (typeof value === 'string') return shown(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => cleanedSchema(item, depth + 1));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  if (!isJsonObject(value)) return value;
  const cleaned: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    if (NAMING.has(key) && typeof member === 'string') continue;
    const clean = cleanedSchema(member, depth + 1);
    if (clean === undefined) return undefined;
    cleaned[shown(key)] = clean;
  }
  return cleaned;
}

/** Returns a text of the server as people and models may see it. */
function shown(text: string): string {
  return withoutHidden(text.toWellFormed()).replaceAll('<!--', '<! --').trim();
}

/** Returns the id of a tool's action: `addNumbers` and `add-numbers` become `add_numbers`. */
function actionIdOf(name: string, taken: ReadonlySet<string>): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  const id = (words === '' ? 'tool' : words).slice(0, MAX_ID_CHARS);
  // `_svc` at the end marks built-in tools.
  const own = id.endsWith('_svc') ? `${id.slice(0, MAX_ID_CHARS - 5)}_tool` : id;
  return taken.has(own) ? `${own.slice(0, MAX_ID_CHARS - 9)}_${sha256(name).slice(0, 8)}` : own;
}

/** Returns the schemes of credentials in the form of a connector file. */
export function schemesOf({ authentication }: Pick<RemoteSettings, 'authentication'>): Json[] {
  if (authentication.type === 'oauth2') return [signIn(authentication.server)];
  if (authentication.type !== 'headers') return [{ type: authentication.type }];
  const fields = authentication.names.map((name, index): [string, string] => [`header${index + 1}`, name]);
  return [
    {
      type: 'custom',
      fields: Object.fromEntries(fields.map(([field, label]) => [field, { title: label, secret: true }])),
      apply: { headers: Object.fromEntries(fields.map(([field, name]) => [name, `{${field}}`])) },
    },
  ];
}

/** Returns the scheme of a sign-in. Each request for tokens names the resource (RFC 8707). */
function signIn(server: OAuthServer): Json {
  const { authorizeUrl, tokenUrl, revocationUrl, resource, scopes, clientAuthentication } = server;
  return {
    type: 'oauth2',
    authorizeUrl,
    tokenUrl,
    scopes,
    clientAuthentication,
    authorizeParams: { resource },
    tokenParams: { resource },
    ...(server.namesIssuer ? { issuer: server.issuer } : {}),
    ...(revocationUrl === undefined ? {} : { revocation: { url: revocationUrl } }),
  };
}
