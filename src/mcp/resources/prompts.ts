import type { Connector, ConnectorActions } from '../../connectors/catalog.ts';
import { mcpName } from '../../connectors/compile.ts';
import { fillTemplate } from '../../connectors/templates.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { pageAt } from '../answers/cursor.ts';
import type { Grant } from '../scope/grant.ts';
import { runAction } from '../tools/run-action.ts';
import { completeRemote, getRemotePrompt, remotePrompts } from './remote-context.ts';
import { restricted } from '../../servers/access.ts';
import type { ToolScope } from '../scope/tool.ts';

const PER_PAGE = 100;
const MAX_COMPLETIONS = 100;

interface Prompt {
  name: string;
  title: string;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
  /** Suggested values for an argument, by its name. */
  proposed?: { [argument: string]: readonly string[] };
  /** The result of prompts/get. */
  get(values: Record<string, string>): Promise<JsonObject> | JsonObject;
}

const CONNECTOR_ARGUMENT = {
  name: 'connectorId',
  description: 'The app, as list_connectors_svc names it.',
  required: true,
};

/** Returns Gatehouse's own prompts, then the prompts of visible connectors as `<connectorId>_<prompt>`. */
function promptsOf(scope: ToolScope): Prompt[] {
  const { visible } = scope;
  const own: Prompt[] = [
    {
      name: 'connect_app',
      title: 'Connect an app',
      description: 'Find out whether an app is connected, and what its user has to do if it is not.',
      arguments: [CONNECTOR_ARGUMENT],
      get: ({ connectorId = '' }) =>
        said(
          `Check with list_credentials_svc whether I have a working account for "${connectorId}". If I have none, call ` +
            'create_credential_svc for it and show me the link that it gives. Read the app with get_connector_svc, and tell ' +
            'me in plain words which kind of key or login the page behind the link asks for and where I find it. Once I ' +
            'say that I am done, check again.',
        ),
    },
    {
      name: 'use_connector',
      title: 'Do something in an app',
      description: 'Reach a goal with the actions of one app.',
      arguments: [CONNECTOR_ARGUMENT, { name: 'goal', description: 'The task to do.', required: true }],
      get: ({ connectorId = '', goal = '' }) =>
        said(
          `Use the connector "${connectorId}" to do this: ${goal}\nFind the right actions with search_actions_svc, read their ` +
            'parameters with get_action_svc, and run them with execute_action_svc. Ask me before anything that changes or deletes.',
        ),
    },
  ];
  return [...own, ...visible.connectors.flatMap((one) => broughtBy(scope, one))];
}

/** Returns the prompts of a connector. A prompt that an action produces is listed while the action is allowed. */
function broughtBy(scope: ToolScope, { connector, actions }: ConnectorActions): Prompt[] {
  const { connectorId, definition } = connector;
  return promptsIn(connector, scope.grant).flatMap(([name, prompt]) => {
    const { action: actionId, text = '' } = prompt;
    if (actionId !== undefined && !actions.some((action) => action.actionId === actionId)) return [];
    const described = Object.entries(prompt.arguments);
    const taken = (values: Record<string, string>) =>
      Object.fromEntries(Object.entries(values).filter(([argument]) => prompt.arguments[argument]));
    return {
      name: mcpName(definition, name),
      title: prompt.title ?? name.replaceAll('_', ' '),
      description: prompt.description,
      arguments: described.map(([argument, { description, required }]) => ({
        name: argument,
        description,
        required,
      })),
      proposed: Object.fromEntries(described.map(([argument, { values }]) => [argument, values])),
      get: (values: Record<string, string>) =>
        actionId === undefined
          ? said(fillTemplate(text, (argument) => values[argument] ?? ''))
          : runAction(scope, { connectorId, actionId, input: taken(values) }),
    };
  });
}

function said(text: string): JsonObject {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}

/** Returns the prompts of a connector that pinning does not withhold. */
function promptsIn(connector: Connector, { live: { pins } }: Grant) {
  const all = Object.entries(connector.definition.prompts);
  return pins ? all.filter(([name]) => pins.other(connector, { promptId: name })) : all;
}

export async function listPrompts(scope: ToolScope, cursor: string | undefined) {
  const own = promptsOf(scope).map(({ name, title, description, arguments: taken }) => ({
    name,
    title,
    description,
    arguments: taken,
  }));
  const all = [...own, ...(await remotePrompts(scope))];
  const { page, nextCursor } = await pageAt(scope, { list: 'prompts', all, cursor, size: PER_PAGE });
  return { prompts: [...page], ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/**
 * Returns the result of prompts/get.
 * @throws GatehouseError `invalid_request` for an unknown prompt or a missing argument, `restricted`.
 */
export async function getPrompt(
  scope: ToolScope,
  name: string,
  values: Record<string, string>,
): Promise<JsonObject> {
  const prompt = promptsOf(scope).find((one) => one.name === name);
  if (!prompt) {
    const remote = await getRemotePrompt(scope, name, values);
    if (remote) return remote;
    const rule = ruleAgainst(scope, name);
    if (rule) throw restricted(`the prompt ${name}`, rule);
    throw unknownPrompt(name);
  }
  const missing = prompt.arguments.find((argument) => argument.required && !values[argument.name]);
  if (missing)
    throw new GatehouseError('invalid_request', `The prompt ${name} needs the argument ${missing.name}.`);
  const { connectorId } = values;
  if (connectorId !== undefined && prompt.arguments.includes(CONNECTOR_ARGUMENT)) {
    const rule = scope.grant.live.decision.connector(connectorId);
    if (rule) throw restricted(connectorId, rule);
  }
  return { description: prompt.description, ...(await prompt.get(values)) };
}

function unknownPrompt(name: string): GatehouseError {
  return new GatehouseError(
    'invalid_request',
    `There is no prompt "${name.slice(0, 100)}". See prompts/list.`,
  );
}

/** Returns the restriction that hides a connector's prompt; undefined when no connector has the prompt. */
function ruleAgainst({ context, grant }: ToolScope, name: string): string | undefined {
  const owner = context.catalog
    .connectors(grant.environment)
    .find(({ definition }) =>
      Object.keys(definition.prompts).some((prompt) => mcpName(definition, prompt) === name),
    );
  return (
    owner && (grant.live.decision.connector(owner.connectorId) ?? (grant.live.pins ? 'pinTools' : 'actions'))
  );
}

/** An argument to complete. */
interface Completion {
  /** The prompt, or the resource template. */
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string };
  argument: { name: string; value: string };
  /** The arguments that have values already. */
  chosen: Record<string, string>;
}

/**
 * Returns values that an argument may take, for prompts and resource templates.
 * @throws GatehouseError `invalid_request` for an unknown prompt.
 */
export async function complete(scope: ToolScope, { ref, argument, chosen }: Completion) {
  const prompt = ref.type === 'ref/prompt' ? ref.name : undefined;
  const known = prompt === undefined ? undefined : promptsOf(scope).find((one) => one.name === prompt);
  const remote = known ? undefined : await completeRemote(scope, { ref, argument, chosen });
  if (prompt !== undefined && !known && !remote) throw unknownPrompt(prompt);
  const all =
    remote ??
    known?.proposed?.[argument.name] ??
    (argument.name === 'connectorId'
      ? scope.visible.connectors.map(({ connector }) => connector.connectorId)
      : argument.name === 'actionId'
        ? scope.visible.connectors
            .filter(
              ({ connector }) =>
                chosen['connectorId'] === undefined || connector.connectorId === chosen['connectorId'],
            )
            .flatMap(({ actions }) => actions.map(({ actionId }) => actionId))
        : []);
  const values = [...new Set(all)].filter((value) => value.startsWith(argument.value));
  return {
    completion: {
      values: values.slice(0, MAX_COMPLETIONS),
      total: values.length,
      hasMore: values.length > MAX_COMPLETIONS,
    },
  };
}
