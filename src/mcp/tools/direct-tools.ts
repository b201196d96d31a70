import { hash } from 'node:crypto';
import type { Action } from '../../connectors/catalog.ts';
import type { McpServer } from '../../servers/server-records.ts';
import { sparseHints, type ToolDefinition } from '../scope/tool-definition.ts';

const MAX_DIRECT_ACTIONS = 30;
/** 8,000 tokens, at four bytes each. */
const MAX_DIRECT_BYTES = 32_000;
const MAX_TOOL_NAME = 64;

/** The names of the built-in tools. */
type BuiltIn = Pick<ReadonlySet<string>, 'has'>;

/** Returns a tool for each action, or none when agents search for the actions. `icons`: the icon of each connector, by id. */
export function directTools(
  toolMode: McpServer['toolMode'],
  actions: readonly Action[],
  { builtIn, icons }: { builtIn: BuiltIn; icons: ReadonlyMap<string, string> },
): ToolDefinition[] {
  if (toolMode === 'discovery' || (toolMode === 'auto' && actions.length > MAX_DIRECT_ACTIONS)) return [];
  const tools = [...namedActions(actions, builtIn)].map(([name, action]) =>
    toolOf(name, action, icons.get(action.connectorId) ?? ''),
  );
  const isTooLong = toolMode === 'auto' && Buffer.byteLength(JSON.stringify(tools)) > MAX_DIRECT_BYTES;
  return isTooLong ? [] : tools;
}

/**
 * Names direct tools `<connectorId>_<actionId>`. A name that is too long, or is the name of another tool, is shortened to
 * 55 characters and gets a hash.
 */
export function namedActions(actions: readonly Action[], builtIn: BuiltIn): Map<string, Action> {
  const named = new Map<string, Action>();
  for (const action of actions) {
    const { connectorId, actionId, toolName: plain } = action;
    const fits = plain.length <= MAX_TOOL_NAME && !named.has(plain) && !builtIn.has(plain);
    const name = fits
      ? plain
      : `${plain.slice(0, 55)}_${hash('sha256', `${connectorId}.${actionId}`).slice(0, 8)}`;
    named.set(name, action);
  }
  return named;
}

function toolOf(name: string, action: Action, icon: string): ToolDefinition {
  return {
    name,
    title: action.name,
    description: action.description,
    inputSchema: { type: 'object', ...action.modelInput },
    ...(action.definition.response.body === 'content'
      ? {}
      : { outputSchema: action.list ? PAGE_SHAPE : VALUE_SHAPE }),
    annotations: sparseHints({
      readOnlyHint: action.effect === 'read',
      destructiveHint: action.effect === 'destructive',
      idempotentHint: action.method === 'PUT',
      openWorldHint: true,
    }),
    icons: [{ src: icon, mimeType: 'image/svg+xml' }],
    _meta: { 'gatehouse/hash': action.hash },
  };
}

/*
 * These schemas are loose, because clients reject a whole answer whose structured content breaks its schema.
 * Third parties send null where their documents say string. get_action_svc returns the exact schema.
 */
/** The member `result`, which replaces the data of a result that is too large to be inlined. */
const LARGE = { type: 'object' };
const VALUE_SHAPE = { type: 'object' as const, properties: { data: {}, result: LARGE } };
const PAGE_SHAPE = {
  type: 'object' as const,
  properties: {
    data: { type: 'array', items: {} },
    pagination: {
      type: 'object',
      properties: { hasMore: { type: 'boolean' }, nextOffset: { type: 'integer' } },
    },
    result: LARGE,
  },
};
