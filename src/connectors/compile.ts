import type { Action, Connector, Effect, Home } from './catalog.ts';
import type { ActionDefinition, ConnectorFile, JsonSchema } from './format.ts';
import { inputSchemaOf, outputSchemaOf, pagingOf } from './schemas.ts';

/** The runtime form of a checked connector file. Schemas are built when they are first asked for. */
export function compileConnector(definition: ConnectorFile, home: Home): Connector {
  const compiled = Object.entries(definition.actions).map(([actionId, action]): [string, Action] => [
    actionId,
    compileAction(definition, actionId, action),
  ]);
  const actions = compiled.filter(([, action]) => !action.definition.internal);
  const internal = compiled.filter(([, action]) => action.definition.internal);
  return {
    connectorId: definition.id,
    name: definition.name,
    description: definition.description,
    categories: definition.categories,
    definition,
    actions: new Map(actions),
    internal: new Map(internal),
    ...home,
  };
}

/** What is known of a connector before its definition is opened. */
export type ConnectorHead = Pick<ConnectorFile, 'id' | 'name' | 'description' | 'categories'>;

/** A connector whose definition is opened and compiled at its first use: most processes use few of those installed. */
export function unopenedConnector(
  { id, name, description, categories }: ConnectorHead,
  home: Home,
  open: () => ConnectorFile,
): Connector {
  let opened: Connector | undefined;
  const whole = () => (opened ??= compileConnector(open(), home));
  return {
    connectorId: id,
    name,
    description,
    categories,
    ...home,
    get definition() {
      return whole().definition;
    },
    get actions() {
      return whole().actions;
    },
    get internal() {
      return whole().internal;
    },
  };
}

function compileAction(file: ConnectorFile, actionId: string, definition: ActionDefinition): Action {
  const [method = '', path = ''] = definition.request.split(' ');
  const paging = pagingOf(file, definition);
  let input: JsonSchema | undefined;
  let output: JsonSchema | undefined;
  return {
    connectorId: file.id,
    actionId,
    name: definition.name ?? titleOf(actionId),
    toolName: mcpName(file, actionId),
    description: definition.description,
    effect: definition.effect ?? effectOf(method),
    method,
    path,
    list: paging !== undefined,
    paging,
    get inputSchema() {
      return (input ??= inputSchemaOf(file, definition, paging));
    },
    get outputSchema() {
      return (output ??= outputSchemaOf(file, definition, paging));
    },
    definition,
  };
}

/** The name of a tool or a prompt of a connector in MCP. */
export function mcpName({ id, toolNames }: Pick<ConnectorFile, 'id' | 'toolNames'>, name: string): string {
  return toolNames === 'bare' ? name : `${id}_${name}`;
}

/** `list_orders` reads "List orders". */
function titleOf(actionId: string): string {
  const words = actionId.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function effectOf(method: string): Effect {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return method === 'DELETE' ? 'destructive' : 'write';
}
