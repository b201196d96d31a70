import { answerError, GatehouseError, hidesCause } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { didYouMean } from '../../lib/words.ts';
import { directArguments } from './action-call.ts';
import { InputRequired } from './input.ts';
import { restricted } from '../../servers/access.ts';
import { Rendered } from './rendered.ts';
import { sizingOf, toErrorResult, toResultText } from './results.ts';
import { logInternal } from './rpc-error.ts';
import { runAction } from './run-action.ts';
import type { ToolScope } from './tool.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import type { WorkflowTool } from './workflow-tool.ts';
import { runWorkflow } from './workflow-tools.ts';

/** Runs a tool by name. An error of the run is a result; an unknown or restricted name throws. */
export async function callTool(scope: ToolScope, name: string, args: unknown): Promise<Rendered> {
  const builtIn = BUILT_IN_BY_NAME.get(name);
  const workflow = builtIn || scope.visible.direct.has(name) ? undefined : await workflowTool(scope, name);
  const action = builtIn || workflow ? undefined : directAction(scope, name);
  // The name is one of ours from here on, and no text of the client.
  scope.context.telemetry.note({
    name: `tools/call ${name}`,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
  });
  try {
    if (builtIn) {
      const { value, sizing } = await builtIn.run(scope, args);
      const { thirdParty } = builtIn;
      return new Rendered(await toResultText(scope, value, { thirdParty, sizing }));
    }
    if (workflow && isJsonObject(args)) {
      const value = await runWorkflow(scope, workflow, args);
      return new Rendered(await toResultText(scope, value, { thirdParty: true }));
    }
    if (action && isJsonObject(args)) {
      const { connectorId, actionId } = action;
      const direct = directArguments(scope, action, args);
      const structured = await runAction(scope, { connectorId, actionId, ...direct });
      const sizing = sizingOf({ connectorId, actionId, parameters: direct.input });
      return new Rendered(await toResultText(scope, structured, { thirdParty: true, sizing }));
    }
    throw new GatehouseError('invalid_request', 'The arguments of a tool are an object.');
  } catch (thrown) {
    if (thrown instanceof InputRequired) throw thrown;
    const error = answerError(thrown);
    if (belongsToProtocol(error, scope)) throw error;
    if (hidesCause(error)) logInternal(scope.context, thrown, scope.requestId);
    return new Rendered(JSON.stringify(toErrorResult(error, scope)), true);
  }
}

/** Returns whether the client's program, not its model, handles this error. */
function belongsToProtocol({ code }: GatehouseError, { inputs }: ToolScope): boolean {
  if (code === 'url_elicitation_required' || code === 'request_state_invalid') return true;
  // Versions before MCP 2026-07-28 have no error for this.
  return code === 'client_capability_missing' && inputs?.live === false;
}

/** Returns the workflow tool of this name. @throws GatehouseError `restricted` */
async function workflowTool(
  { workflowTools, grant }: ToolScope,
  name: string,
): Promise<WorkflowTool | undefined> {
  if (!name.startsWith('run_')) return undefined;
  const found = (await workflowTools.of(grant)).find(({ definition }) => definition.name === name);
  if (found?.rule !== undefined) throw restricted(`the tool ${name}`, found.rule);
  return found;
}

function directAction({ visible, visibility, grant }: ToolScope, name: string) {
  const action = visible.direct.get(name);
  if (action) return action;
  const hidden = visibility.actionOf(grant.environment, name);
  const rule = hidden && grant.live.decision.action(hidden);
  // Running it fails with an error that names the account it needs.
  if (hidden && !rule && visible.direct.size > 0 && grant.live.unable?.has(hidden)) return hidden;
  if (rule) throw restricted(`the tool ${name}`, rule);
  const names = visible.tools.map((tool) => tool.name);
  const hint = hidden
    ? ' This server lists no tool per action: use execute_action_svc.'
    : `${didYouMean(name, names)} tools/list has those that are here.`;
  throw new GatehouseError('invalid_request', `There is no tool "${name.slice(0, 100)}".${hint}`);
}
