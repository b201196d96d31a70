import { z } from 'zod';
import type { Action } from '../../connectors/catalog.ts';
import { actionTypes } from '../../connectors/type-text.ts';
import { withIds } from '../../actions/call-corrections.ts';
import { authenticationMetadata } from '../../credentials/metadata.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import type { Decision } from '../../servers/restrictions.ts';
import { pageAt } from './cursor.ts';
import { createCredentialTool, listCredentialsTool, setDefaultCredentialTool } from './account-tools.ts';
import { connectedTo, exampleIn, isConnected, lineOf } from './action-lines.ts';
import { proposeActions } from './proposals.ts';
import { executeActionTool, executeBatch } from './running-tools.ts';
import { searchActionsTool } from './search-actions.ts';
import { namingOf, visibleAction, visibleConnector } from './visible-names.ts';
import { tool } from './define-tool.ts';
import { readResultTool } from './read-result.ts';
import { reportProblemTool } from './report-problem.ts';
import type { BuiltInTool } from './tool.ts';

const CONNECTORS_A_PAGE = 50;
const READ = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const listConnectors = tool({
  name: 'list_connectors_svc',
  title: 'List connectors',
  description: 'The third-party apps that you may use here, and whether the user is connected to each.',
  input: z.strictObject({
    category: z.string().optional().describe('Only apps of this category, such as commerce or crm.'),
    cursor: z.string().optional().describe('nextCursor of the previous answer.'),
  }),
  hints: READ,
  async run(scope, { category, cursor }) {
    const connectors = scope.visible.connectors.filter(
      ({ connector }) => category === undefined || connector.categories.includes(category.toLowerCase()),
    );
    const { page, nextCursor } = await pageAt(scope, {
      list: `connectors ${category ?? ''}`,
      all: connectors,
      cursor,
      size: CONNECTORS_A_PAGE,
    });
    const connected = await connectedTo(scope);
    return {
      connectors: page.map(({ connector, actions }) => ({
        connectorId: connector.connectorId,
        name: connector.name,
        description: connector.description,
        categories: [...connector.categories],
        actionCount: actions.length,
        connected: isConnected(connector, connected),
      })),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  },
});

const getConnector = tool({
  name: 'get_connector_svc',
  title: 'Read a connector',
  description: 'One app: its actions, one line each, and how an account of it is connected.',
  input: z.strictObject({ connectorId: z.string().describe('From list_connectors_svc.') }),
  hints: READ,
  async run(scope, { connectorId }) {
    const { connector, actions } = visibleConnector(scope, connectorId);
    return {
      connectorId: connector.connectorId,
      name: connector.name,
      description: connector.description,
      website: connector.definition.website,
      connected: isConnected(connector, await connectedTo(scope)),
      authentication: authenticationMetadata(connector).map(({ type }) => type),
      actions: actions.map(lineOf),
    };
  },
});

const getAction = tool({
  name: 'get_action_svc',
  title: 'Read actions',
  description: 'Parameters and answers of up to five actions, as JSON Schema, with an example of a call.',
  input: z.strictObject({
    actions: z
      .array(z.strictObject({ connectorId: z.string(), actionId: z.string() }))
      .min(1)
      .max(5),
    types: z.boolean().optional().describe('Adds a TypeScript declaration of each.'),
  }),
  hints: READ,
  repair(scope, { actions, ...rest }) {
    const named = Array.isArray(actions)
      ? actions.map((one, at) => withIds(namingOf(scope), one, `actions.${at}.`))
      : actions;
    return { ...rest, ...(named === undefined ? {} : { actions: named }) };
  },
  propose: proposeActions,
  async run(scope, { actions, types = false }) {
    const { confirms } = scope.grant.live.decision;
    return {
      actions: actions.map((named, at) => {
        const action = visibleAction(scope, named, `actions.${at}.`);
        const { connectorId, actionId } = action;
        return {
          connectorId,
          actionId,
          name: action.name,
          description: action.description,
          effect: action.effect,
          ...effectWhenOf(action),
          list: action.list,
          inputSchema: asJson(action.modelInput),
          outputSchema: asJson(action.modelOutput),
          ...(types ? { types: actionTypes(action) } : {}),
          ...exampleIn(scope, action),
          ...confirmationOf(action, confirms),
        };
      }),
    };
  },
});

/** Built-in tools in the order of tools/list. */
export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [
  listConnectors,
  getConnector,
  searchActionsTool,
  getAction,
  executeActionTool,
  executeBatch,
  readResultTool,
  listCredentialsTool,
  createCredentialTool,
  reportProblemTool,
];
/** Built-in tools that are listed only while the user has several accounts of an app. */
export const ACCOUNT_TOOLS: readonly BuiltInTool[] = [setDefaultCredentialTool];
export const BUILT_IN_BY_NAME: ReadonlyMap<string, BuiltInTool> = new Map(
  [...BUILT_IN_TOOLS, ...ACCOUNT_TOOLS].map((one) => [one.definition.name, one]),
);

function effectWhenOf({ definition: { effectWhen } }: Action): JsonObject {
  return effectWhen.length === 0 ? {} : { effectWhen: asJson(effectWhen) };
}

function confirmationOf({ effects }: Action, confirms: Decision['confirms']): JsonObject {
  const needed = effects.filter((effect) => confirms(effect));
  if (needed.length === 0) return {};
  const when =
    needed.length === effects.length ? 'It runs' : `When its values make it ${needed.join(' or ')}, it runs`;
  return { confirmation: `${when} once the user has agreed to it.` };
}
