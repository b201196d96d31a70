import type { Action, Connector, Hosting } from './catalog.ts';
import { effectsIn, mostSevereOf } from './effects.ts';
import type { ActionDefinition, ConnectorFile, JsonSchema } from './format/format.ts';
import { actionHash } from './definition-hashes.ts';
import { allAliases } from './schemas/forgive.ts';
import { modelSchema } from './schemas/model-schema.ts';
import { RAW_ACTION, rawDefinition, rawDefinitionFor } from './raw-action.ts';
import { inputSchemaOf, outputSchemaOf, pagingOf } from './schemas/action-schemas.ts';
import type { JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';

/** Returns the runtime form of a checked connector file. Schemas are built at their first use. */
export function compileConnector(definition: ConnectorFile, hosting: Hosting): Connector {
  const compiled = Object.entries(definition.actions).map(([actionId, action]): [string, Action] => [
    actionId,
    compileAction(definition, { actionId, definition: action }),
  ]);
  const actions = compiled.filter(([, action]) => !action.definition.internal);
  const internal = compiled.filter(([, action]) => action.definition.internal);
  let fingerprint: string | undefined;
  let raw: Action | undefined;
  return {
    connectorId: definition.id,
    name: definition.name,
    description: definition.description,
    categories: definition.categories,
    definition,
    actions: new Map(actions),
    internal: new Map(internal),
    get raw() {
      const own = raw ? undefined : rawDefinition(definition);
      if (own) raw = compileAction(definition, { actionId: RAW_ACTION, definition: own, raw: true });
      return raw;
    },
    ...hosting,
    get fingerprint() {
      return (fingerprint ??= sha256(JSON.stringify(definition)));
    },
  };
}

/** The facts of a connector that are known before its definition is opened. */
export type ConnectorHead = Pick<ConnectorFile, 'id' | 'name' | 'description' | 'categories'>;

/**
 * Returns a connector whose definition is opened and compiled at its first use, because most processes use few of the
 * installed ones.
 */
export function lazyConnector(
  { id, name, description, categories }: ConnectorHead,
  hosting: Hosting,
  text: () => string,
): Connector {
  let opened: Connector | undefined;
  const whole = () => (opened ??= compileConnector(JSON.parse(text()), hosting));
  let fingerprint: string | undefined;
  return {
    connectorId: id,
    name,
    description,
    categories,
    ...hosting,
    get definition() {
      return whole().definition;
    },
    get actions() {
      return whole().actions;
    },
    get internal() {
      return whole().internal;
    },
    get raw() {
      return whole().raw;
    },
    get fingerprint() {
      return (fingerprint ??= sha256(text()));
    },
  };
}

/** Returns the action of one call. That of a raw call has the method of its input, and the effect of that method. */
export function actionOfCall({ definition }: Connector, action: Action, { method }: JsonObject): Action {
  const own = action.raw ? rawDefinitionFor(definition, String(method)) : undefined;
  return own ? compileAction(definition, { actionId: RAW_ACTION, definition: own, raw: true }) : action;
}

function compileAction(
  file: ConnectorFile,
  { actionId, definition, raw = false }: { actionId: string; definition: ActionDefinition; raw?: boolean },
): Action {
  const [method = '', path = ''] = definition.request.split(' ');
  const paging = pagingOf(file, definition);
  const effects = effectsIn(definition, method);
  let input: JsonSchema | undefined;
  let output: JsonSchema | undefined;
  let modelInput: JsonSchema | undefined;
  let modelOutput: JsonSchema | undefined;
  let aliases: [string, string][] | undefined;
  let hash: string | undefined;
  return {
    connectorId: file.id,
    actionId,
    name: definition.name ?? titleOf(actionId),
    toolName: mcpName(file, actionId),
    description: definition.description,
    effect: mostSevereOf(effects),
    effects,
    method,
    path,
    list: paging !== undefined,
    paging,
    raw,
    get inputSchema() {
      return (input ??= inputSchemaOf(file, definition, paging));
    },
    get outputSchema() {
      return (output ??= outputSchemaOf(file, definition, paging));
    },
    get modelInput() {
      return (modelInput ??= modelSchema(this.inputSchema, 'input'));
    },
    get modelOutput() {
      return (modelOutput ??= modelSchema(this.outputSchema, 'output'));
    },
    get aliases() {
      return (aliases ??= allAliases(this.inputSchema));
    },
    get hash() {
      return (hash ??= actionHash(file, this));
    },
    definition,
  };
}

/** Returns the MCP name of a connector's tool or prompt. */
export function mcpName({ id, toolNames }: Pick<ConnectorFile, 'id' | 'toolNames'>, name: string): string {
  return toolNames === 'bare' ? name : `${id}_${name}`;
}

/** Returns a title: `list_orders` becomes "List orders". */
function titleOf(actionId: string): string {
  const words = actionId.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
