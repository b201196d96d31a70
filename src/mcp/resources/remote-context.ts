import { z } from 'zod';
import type { Action, Connector } from '../../connectors/catalog.ts';
import type { ActionDefinition } from '../../connectors/format/format.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { hiddenIn } from '../../lib/hidden-characters.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import { messagesOf } from '../answers/content.ts';
import { runAction } from '../tools/run-action.ts';
import { THIRD_PARTY } from '../answers/third-party.ts';
import type { ToolScope } from '../scope/tool.ts';

/*
 * Resources and prompts of remote MCP servers, read with the account of the caller's user. An action of the connector makes
 * each request, so restrictions, accounts, limits and records apply as for its tools.
 */

type Method = NonNullable<ActionDefinition['mcp']>['method'];

/** Time limit for the lists of all servers, which are read at the same time. A slower server is left out. */
const LIST_MS = 5 * SECOND;
/** Entries of one list of one server; further ones are left out. */
const MAX_ENTRIES = 1000;
const MAX_CONTENTS = 200;
const MAX_VALUES = 100;
const PREFIX = 'svc://remote/';

/** A text of a server that clients show. A text with hidden characters becomes empty. */
const shownText = (max: number) => z.string().transform((text) => (hiddenIn(text) ? '' : text.slice(0, max)));
const about = {
  title: shownText(200).optional().catch(undefined),
  description: shownText(1000).optional().catch(undefined),
};
const named = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => !hiddenIn(text));
const address = z
  .string()
  .min(1)
  .max(2000)
  .refine((text) => !hiddenIn(text));
const mimeType = z.string().max(200).optional().catch(undefined);
const resource = z.object({ uri: address, name: named, ...about, mimeType });
const template = z.object({ uriTemplate: address, name: named, ...about, mimeType });
const prompt = z.object({
  name: named,
  ...about,
  arguments: z
    .array(z.object({ name: named, description: about.description, required: z.boolean().default(false) }))
    .max(50)
    .catch([]),
});
const contents = z
  .array(
    z.union([
      z.object({ uri: z.string(), mimeType, text: z.string() }),
      z.object({ uri: z.string(), mimeType, blob: z.base64() }),
    ]),
  )
  .max(MAX_CONTENTS);

/** Returns the resources and templates of all remote servers, under addresses that begin with `svc://remote/`. */
export async function remoteResources(scope: ToolScope) {
  const lists = await listAll(scope, 'resources/list');
  return {
    resources: lists.flatMap(({ connectorId, answer }) =>
      valid(resource, answer['resources']).map(({ uri, ...rest }) => ({
        uri: remoteUri(connectorId, uri),
        ...rest,
        _meta: THIRD_PARTY,
      })),
    ),
    templates: lists.flatMap(({ connectorId, answer }) =>
      valid(template, answer['templates']).map(({ uriTemplate, ...rest }) => ({
        uriTemplate: remoteUri(connectorId, uriTemplate),
        ...rest,
        _meta: THIRD_PARTY,
      })),
    ),
  };
}

/** Returns the prompts of all remote servers as `<connectorId>_<prompt>`. */
export async function remotePrompts(scope: ToolScope) {
  const lists = await listAll(scope, 'prompts/list');
  return lists.flatMap(({ connectorId, answer }) =>
    valid(prompt, answer['prompts']).map(({ name, ...rest }) => ({
      name: `${connectorId}_${name}`,
      ...rest,
      _meta: THIRD_PARTY,
    })),
  );
}

/** Returns whether an address belongs to a remote server. */
export function isRemoteUri(uri: string): boolean {
  return uri.startsWith(PREFIX);
}

/** A resource of a remote server: the action that reads it, and its address there. */
interface RemoteResource {
  connector: Connector;
  action: Action;
  uri: string;
}

/** Returns the resource of an address; undefined when no visible connector has it. */
export function remoteResource(
  { connectors }: Pick<ToolScope['visible'], 'connectors'>,
  uri: string,
): RemoteResource | undefined {
  const place = placeOf(uri);
  const found = connectors.find(({ connector }) => connector.connectorId === place?.connectorId);
  const action = found?.actions.find(({ definition }) => definition.mcp?.method === 'resources/read');
  return place && found && action && { connector: found.connector, action, uri: place.uri };
}

/**
 * Reads a resource of a remote server; undefined when no visible connector has the address.
 * @throws GatehouseError as runAction(), `upstream_failed` for an answer that holds no content
 */
export async function readRemoteResource(scope: ToolScope, uri: string): Promise<JsonObject[] | undefined> {
  const found = remoteResource(scope.visible, uri);
  if (!found) return undefined;
  const answer = await ask(scope, found.action, { uri: found.uri });
  const read = contents.safeParse(answer['contents']);
  if (!read.success) throw new GatehouseError('upstream_failed', 'The MCP server gave no valid content.');
  return read.data.map((content) => ({
    ...(JSON.parse(JSON.stringify(content)) satisfies JsonObject),
    uri: remoteUri(found.connector.connectorId, content.uri),
    _meta: THIRD_PARTY,
  }));
}

/**
 * Returns the messages of a remote server's prompt; undefined when no visible connector has prompts under this name.
 * @throws GatehouseError as runAction()
 */
export async function getRemotePrompt(
  scope: ToolScope,
  name: string,
  values: Record<string, string>,
): Promise<JsonObject | undefined> {
  const found = promptNamed(scope, name, 'prompts/get');
  if (!found) return undefined;
  const answer = await ask(scope, found.action, { name: found.prompt, arguments: values });
  return { ...messagesOf(answer), _meta: THIRD_PARTY };
}

/** An argument of a prompt or a template of a remote server. */
interface RemoteArgument {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  argument: { name: string; value: string };
  /** The arguments that have values already. */
  chosen: Record<string, string>;
}

/** Returns values for an argument; undefined when its prompt or template belongs to no remote server. */
export async function completeRemote(
  scope: ToolScope,
  { ref, argument, chosen }: RemoteArgument,
): Promise<string[] | undefined> {
  const method = 'completion/complete';
  const place = ref.type === 'ref/resource' ? placeOf(ref.uri) : undefined;
  const named = ref.type === 'ref/prompt' ? promptNamed(scope, ref.name, method) : undefined;
  const action = place ? actionFor(scope, place.connectorId, method) : named?.action;
  if (!action) return undefined;
  const theirs: JsonObject = place
    ? { type: 'ref/resource', uri: place.uri }
    : { type: 'ref/prompt', name: named?.prompt ?? '' };
  const answer = await ask(scope, action, { ref: theirs, argument, context: { arguments: chosen } });
  return valid(z.string().max(1000), asObject(answer['completion'])['values']).slice(0, MAX_VALUES);
}

/** Returns an address of Gatehouse for an address, or a template, of a remote server. */
function remoteUri(connectorId: string, uri: string): string {
  return `${PREFIX}${connectorId}/${uri}`;
}

function placeOf(uri: string): { connectorId: string; uri: string } | undefined {
  const [, connectorId, rest] = /^svc:\/\/remote\/([a-z0-9-]{1,32})\/(.{1,2000})$/s.exec(uri) ?? [];
  return connectorId !== undefined && rest !== undefined ? { connectorId, uri: rest } : undefined;
}

function promptNamed(scope: ToolScope, name: string, method: Method) {
  const [, connectorId = '', prompt = ''] = /^([a-z0-9-]{1,32})_(.{1,200})$/s.exec(name) ?? [];
  const action = actionFor(scope, connectorId, method);
  return action && { action, prompt };
}

/** Returns the allowed action of a visible connector that sends a request. */
function actionFor({ visible }: ToolScope, connectorId: string, method: Method): Action | undefined {
  const found = visible.connectors.find(({ connector }) => connector.connectorId === connectorId);
  return found?.actions.find(({ definition }) => definition.mcp?.method === method);
}

/** Sends a list request to all visible remote servers at the same time. A server that fails is left out. */
async function listAll(
  scope: ToolScope,
  method: Method,
): Promise<{ connectorId: string; answer: JsonObject }[]> {
  const signal = AbortSignal.any([scope.signal, AbortSignal.timeout(LIST_MS)]);
  // Without `inputs` the user is not asked. A server whose account is missing is left out of the list.
  const quiet = { ...scope, signal, inputs: undefined };
  const lists = await Promise.all(
    scope.visible.connectors.map(async ({ connector: { connectorId } }) => {
      const action = actionFor(scope, connectorId, method);
      if (!action) return undefined;
      try {
        return { connectorId, answer: await ask(quiet, action, {}) };
      } catch (error) {
        if (error instanceof GatehouseError) return undefined;
        throw error;
      }
    }),
  );
  return lists.filter((list) => list !== undefined);
}

async function ask(
  scope: ToolScope,
  { connectorId, actionId }: Action,
  input: JsonObject,
): Promise<JsonObject> {
  const { data } = await runAction(scope, { connectorId, actionId, input });
  return asObject(data);
}

/** Returns the valid entries of a list of a server. */
function valid<S extends z.ZodType>(schema: S, list: unknown): z.output<S>[] {
  const entries: unknown[] = Array.isArray(list) ? list.slice(0, MAX_ENTRIES) : [];
  return entries.flatMap((entry) => {
    const read = schema.safeParse(entry);
    return read.success ? [read.data] : [];
  });
}
