import { z } from 'zod';
import type { Action } from '../../connectors/catalog.ts';
import { actionTypes } from '../../connectors/schemas/type-text.ts';
import { withIds } from '../../actions/call-corrections.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import type { Decision } from '../../servers/restrictions.ts';
import { exampleIn } from './action-lines.ts';
import { tool } from './define-tool.ts';
import type { ToolScope } from '../scope/tool.ts';
import { proposeActions } from './proposals.ts';
import { namingOf, visibleAction } from './visible-names.ts';

/** The most actions of one call. */
const MAX_ACTIONS = 5;

export const getActionTool = tool({
  name: 'get_action_svc',
  title: 'Read actions',
  description: 'Parameters and answers of up to five actions, as JSON Schema, with an example of a call.',
  input: z.strictObject({
    actions: z
      .array(z.strictObject({ connectorId: z.string(), actionId: z.string() }))
      .min(1)
      .max(MAX_ACTIONS),
    types: z.boolean().optional().describe('Adds a TypeScript declaration of each.'),
  }),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  repair(scope, args) {
    const { actions, ...rest } = listOfOne(scope, args);
    // The schema refuses a longer list.
    const named =
      Array.isArray(actions) && actions.length <= MAX_ACTIONS
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

/** Takes a single action next to `actions` as a list of one. */
function listOfOne({ corrections }: Pick<ToolScope, 'corrections'>, args: JsonObject): JsonObject {
  const { connectorId, actionId, ...rest } = args;
  if (args['actions'] !== undefined || typeof connectorId !== 'string' || typeof actionId !== 'string')
    return args;
  const only = { connectorId, actionId };
  corrections.push({ path: 'actions', from: only, to: [only] });
  return { ...rest, actions: [only] };
}

function effectWhenOf({ definition: { effectWhen } }: Action): JsonObject {
  return effectWhen.length === 0 ? {} : { effectWhen: asJson(effectWhen) };
}

function confirmationOf({ effects }: Action, confirms: Decision['confirms']): JsonObject {
  const needed = effects.filter((effect) => confirms(effect));
  if (needed.length === 0) return {};
  const when =
    needed.length === effects.length ? 'It runs' : `When its values make it ${needed.join(' or ')}, it runs`;
  return { confirmation: `${when} only after the user has agreed to it.` };
}
