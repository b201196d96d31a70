import { z } from 'zod';
import type { Action, ConnectorActions } from '../../connectors/catalog.ts';
import type { JsonSchema } from '../../connectors/format/format.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import { nearestNames } from '../../lib/words.ts';
import { connectedTo, connectorOf, exampleIn, isConnected, lineOf } from './action-lines.ts';
import type { Connected } from '../../credentials/memory.ts';
import type { Hit } from '../../search/action-search.ts';
import { compactSchema } from '../answers/compact-schema.ts';
import { tool } from './define-tool.ts';
import { openExperience } from './search-experience.ts';
import type { ToolScope } from '../scope/tool.ts';
import { visibleConnector } from './visible-names.ts';

/** Hits that come with their input schema and an example, so that a model can call them at once. */
const FULL_HITS = 2;
/** Characters of a schema and of an example. The five hits of an answer then take about 1,500 tokens at most. */
const MAX_SCHEMA = 1200;
const MAX_EXAMPLE = 500;
/** Connectors that an answer without hits proposes. */
const NEAREST = 5;

const NO_HITS =
  'No action fits these words. These are the nearest apps: list their actions with get_connector_svc, or search with ' +
  'the action and the app in other words, such as "create an invoice in" and its name.';

export const searchActionsTool = tool({
  name: 'search_actions_svc',
  title: 'Search actions',
  description:
    'Finds the actions that fit what you want to do, best first, the first two with their parameters and an example. ' +
    'Describe it in plain words, with the app if you know it, in English, German, French, Spanish or Portuguese. ' +
    'A request of several steps finds an action for each.',
  input: z.strictObject({
    query: z.string().min(1).max(500).describe('What to do: "create a customer", "unpaid invoices in Xero".'),
    connectorId: z.string().optional().describe('Only actions of this app.'),
    effect: z.enum(['read', 'write', 'destructive']).optional().describe('Only actions with this effect.'),
    limit: z.int().min(1).max(10).optional().describe('Maximum number; default 5.'),
  }),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(scope, { query, connectorId, effect, limit = 5 }) {
    const { connectors } = scope.visible;
    const among = connectorId === undefined ? connectors : [visibleConnector(scope, connectorId)];
    const allowed = among
      .flatMap(({ actions }) => actions)
      .filter((action) => effect === undefined || action.effects.includes(effect));
    const connected = await connectedTo(scope);
    const experience = await openExperience(scope, query);
    const { hits, missing } = await scope.searchActions(scope.grant.environment, {
      query,
      allowed,
      limit,
      visible: connectors,
      connected,
      learned: experience?.learned,
    });
    await experience?.note(hits);
    const found =
      hits.length === 0
        ? { connectors: nearestConnectors(among, { query, connected }), next: NO_HITS }
        : nextFor(scope, hits, connected);
    return {
      actions: hits.map((hit, at) => hitOf(scope, hit, { connected, isFull: at < FULL_HITS })),
      ...found,
      ...missingFor(missing, found.next),
    };
  },
});

/** Returns one hit. A schema that cannot be read removes the parameters from this hit only. */
function hitOf(
  scope: ToolScope,
  { action, step }: Hit,
  { connected, isFull }: { connected: Connected; isFull: boolean },
): JsonObject {
  const hit = {
    connectorId: action.connectorId,
    ...lineOf(action),
    connected: isConnected(connectorOf(scope, action), connected),
    ...(step === undefined ? {} : { step }),
  };
  try {
    return { ...hit, required: requiredArguments(action), ...(isFull ? callOf(scope, action) : {}) };
  } catch (err) {
    const { connectorId, actionId } = action;
    scope.context.log.error(
      { requestId: scope.requestId, connectorId, actionId, err },
      'schema is unreadable',
    );
    return hit;
  }
}

/** Returns the input schema of an action, shortened to MAX_SCHEMA, and an example unless it is too long. */
function callOf(scope: ToolScope, action: Action): JsonObject {
  const { schema, isCut } = compactSchema(action.modelInput, MAX_SCHEMA);
  const { example } = exampleIn(scope, action);
  const isShort = example !== undefined && JSON.stringify(example).length <= MAX_EXAMPLE;
  return {
    inputSchema: asJson(schema),
    ...(isCut ? { inputSchemaCut: 'get_action_svc has all of it.' } : {}),
    ...(isShort ? { example } : {}),
  };
}

/** Returns `name: type` of each required argument. */
function requiredArguments({ modelInput }: Action): string[] {
  const { required = [], properties } = modelInput;
  const members = asSchema(properties);
  return z
    .array(z.string())
    .parse(required)
    .map((name) => `${name}: ${typeName(asSchema(members[name]))}`);
}

function typeName({ type, anyOf }: JsonSchema): string {
  if (typeof type === 'string') return type;
  const types = Array.isArray(anyOf) ? anyOf.map((branch) => typeName(asSchema(branch))) : [];
  return types.length === 0 ? 'any' : [...new Set(types)].join(' or ');
}

/** Returns advice where an account is missing. It creates no link, because the user may not need one. */
function nextFor(scope: ToolScope, hits: readonly Hit[], connected: Connected): { next?: string } {
  const missing = new Map(
    hits.flatMap(({ action }): [string, string][] => {
      const connector = connectorOf(scope, action);
      return isConnected(connector, connected)
        ? []
        : [[action.connectorId, connector?.name ?? action.connectorId]];
    }),
  );
  if (missing.size === 0) return {};
  if (scope.grant.userId === undefined) {
    return { next: 'This server was opened without a user, so it has no accounts to use.' };
  }
  const first = [...missing.keys()][0] ?? '';
  return {
    next:
      `The user has no account of ${[...missing.values()].join(', ')} here. create_credential_svc with a connectorId, ` +
      `such as ${first}, gives the link to connect one.`,
  };
}

/** Returns apps that the query names and the server does not offer, with advice before the other one. */
function missingFor(missing: readonly string[], next: string | undefined): JsonObject {
  if (missing.length === 0) return {};
  const advice = `This server has no actions of ${missing.join(', ')}. Ask the user before you use another app instead.`;
  return { missingApps: [...missing], next: next === undefined ? advice : `${advice} ${next}` };
}

/** Returns connectors for a query without hits: those with a similar name, then those of the user, then the others. */
function nearestConnectors(
  among: readonly ConnectorActions[],
  { query, connected }: { query: string; connected: Connected },
): JsonObject[] {
  const byName = new Map(among.map((one) => [one.connector.name, one]));
  const near = query.split(/\s+/).flatMap((word) => nearestNames(word, byName.keys()));
  const own = among.filter(({ connector }) => connected.has(connector.connectorId));
  const ordered = new Set([...near.flatMap((name) => byName.get(name) ?? []), ...own, ...among]);
  return [...ordered].slice(0, NEAREST).map(({ connector }) => ({
    connectorId: connector.connectorId,
    name: connector.name,
    connected: isConnected(connector, connected),
  }));
}
