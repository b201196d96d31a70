import { z } from 'zod';
import { checkDefinition } from '../connectors/parse.ts';
import { withNumericKeywords } from '../connectors/schemas/schema-numbers.ts';
import { withPauses } from '../lib/pauses.ts';
import { asObject, isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { TOO_DEEP } from '../upstream/remote/listed.ts';
import type { OAuthServer } from '../upstream/remote/oauth-metadata.ts';
import { contextActions, type Offers } from './context-actions.ts';
import type { RemoteSettings } from './remote-settings.ts';
import { byCodeUnits, toolIds, type ToolIds } from './tool-ids.ts';
import { inputOf, shown } from './tool-schema.ts';

/** The internal action that lists the tools. It also shows whether a credential works. */
export const TOOLS_ACTION = 'tools_list';

const MAX_TOOLS = 2000;
const MAX_DESCRIPTION_CHARS = 1000;
const MAX_LEFT_OUT = 10;
const MAX_LABEL_CHARS = 80;

/** A tool in the list of a server. Its annotations are claims of the server. */
const tool = z.object({
  name: z.string().min(1).max(256),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z
    .record(z.string(), z.json())
    .transform((schema) => asObject(withNumericKeywords(schema)))
    .catch({ type: 'object' }),
  annotations: z
    .object({
      title: z.string().optional().catch(undefined),
      readOnlyHint: z.boolean().optional().catch(undefined),
      destructiveHint: z.boolean().optional().catch(undefined),
      idempotentHint: z.boolean().optional().catch(undefined),
    })
    .catch({}),
  [TOO_DEEP]: z.boolean().optional().catch(undefined),
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
  /** The ids in the version before. */
  before?: ToolIds;
}

/** Returns the connector file of a remote server, with an action for each of its tools. */
export async function fileOfTools(
  settings: RemoteSettings,
  { tools, offers = NOTHING, readOn, before = new Map() }: Listed,
): Promise<{ file: JsonObject; report: Report }> {
  const report: Report = { tools: 0, leftOut: [], changed: [] };
  const actions: JsonObject = {};
  const further = contextActions(offers);
  const usable = readTools(tools, report);
  const names = usable.map(({ name }) => name);
  const ids = toolIds(names, { before, reserved: [TOOLS_ACTION, ...further.map(([id]) => id)] });
  // The schemas of 2,000 tools take seconds.
  for await (const one of withPauses(usable)) {
    const id = ids.get(one.name) ?? '';
    const { action, change } = actionOf(one);
    // The format of connector files has more rules than schemas, and one tool must not keep the others out.
    const [fault] = checkDefinition(fileWith(settings, readOn, { [id]: action }), id).faults;
    if (fault) {
      const reason = `is not valid (${shown(fault.rule).slice(0, 200)})`;
      report.leftOut.push({ name: shown(one.name), reason });
      continue;
    }
    if (change !== undefined) report.changed.push({ name: shown(one.name), change });
    actions[id] = action;
    report.tools += 1;
  }
  for (const [id, action] of further) actions[id] = action;
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
    const reason = !read.success ? 'has no valid name' : unusable(read.data, seen);
    seen.add(name);
    if (reason !== undefined) report.leftOut.push({ name: shown(name), reason });
    return read.success && reason === undefined ? [read.data] : [];
  });
  for (const left of tools.slice(MAX_TOOLS, MAX_TOOLS + MAX_LEFT_OUT))
    report.leftOut.push({
      name: shown(isJsonObject(left) ? String(left['name']) : 'tool'),
      reason: `is beyond the limit of ${MAX_TOOLS} tools`,
    });
  return usable.toSorted((a, b) => byCodeUnits(a.name, b.name));
}

/** Returns why a tool gets no action; undefined for a usable one. */
function unusable({ name, [TOO_DEEP]: isTooDeep }: Tool, seen: ReadonlySet<string>): string | undefined {
  if (isTooDeep) return 'is nested too deep';
  return seen.has(name) ? 'is listed twice' : undefined;
}

function actionOf(given: Tool): { action: JsonObject; change: string | undefined } {
  const { name, title, description, annotations, inputSchema } = given;
  const { input, change } = inputOf(inputSchema);
  const label = shown(title ?? annotations.title ?? '').slice(0, MAX_LABEL_CHARS);
  const action = {
    ...(label === '' ? {} : { name: label }),
    description: shown(description ?? '').slice(0, MAX_DESCRIPTION_CHARS) || label || shown(name),
    effect: effectOf(annotations),
    ...(annotations.idempotentHint === true && annotations.readOnlyHint !== true ? { idempotent: true } : {}),
    request: 'POST /',
    mcp: { method: 'tools/call', name },
    input,
    response: { body: 'content' },
  };
  return { action, change };
}

/** Returns the effect that a server claims. Without a claim, a tool counts as destructive. */
function effectOf({ readOnlyHint, destructiveHint }: Tool['annotations']): string {
  if (readOnlyHint === true) return 'read';
  return destructiveHint === false ? 'write' : 'destructive';
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
