import { answerError, GatehouseError, hidesCause } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { didYouMean, nameKey } from '../../lib/words.ts';
import type { Action } from '../../connectors/catalog.ts';
import { directArguments } from './action-call.ts';
import { readArguments } from './define-tool.ts';
import { actionsNamed } from './proposals.ts';
import { InputRequired } from '../scope/input.ts';
import { restricted } from '../../servers/access.ts';
import { Rendered } from '../answers/rendered.ts';
import { sizingOf, toErrorResult, toResultText, withFacts } from '../answers/results.ts';
import { logInternal } from '../answers/rpc-error.ts';
import { runAction } from './run-action.ts';
import type { BuiltInTool, ToolScope } from '../scope/tool.ts';
import { BUILT_IN_BY_NAME } from './tools.ts';
import { viewFacts } from './view-facts.ts';
import type { WorkflowTool } from '../scope/workflow-tool.ts';
import { runWorkflow } from './workflow-tools.ts';

/** A tool that a call names, by the kind of its work. */
type Target = { name: string } & ({ builtIn: BuiltInTool } | { workflow: WorkflowTool } | { action: Action });

/** Runs a tool by name. An error of the run is a result; an unknown or restricted name throws. */
export async function callTool(scope: ToolScope, given: string, args: unknown): Promise<Rendered> {
  const target = await targetOf(scope, given, args);
  const { name } = target;
  // The name is one of ours from here on, and no text of the client.
  scope.context.telemetry.note({
    name: `tools/call ${name}`,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
  });
  try {
    return await run(scope, target, args);
  } catch (thrown) {
    if (thrown instanceof InputRequired) throw thrown;
    const error = answerError(thrown);
    if (belongsToProtocol(error, scope)) throw error;
    if (hidesCause(error)) logInternal(scope.context, thrown, scope.requestId);
    const source = 'action' in target ? target.action : undefined;
    const isViewed = source !== undefined || ('builtIn' in target && target.builtIn.view !== undefined);
    const facts = isViewed ? await viewFacts(scope, { tool: name, args, source, error }) : undefined;
    return new Rendered(JSON.stringify(withFacts(toErrorResult(error, scope), facts)), true);
  }
}

/** Finds the tool of a name. @throws GatehouseError `restricted`, `invalid_request` for an unknown name */
async function targetOf(scope: ToolScope, given: string, args: unknown): Promise<Target> {
  const { direct } = scope.visible;
  const isListed = BUILT_IN_BY_NAME.has(given) || direct.has(given);
  const workflows = isListed ? [] : await scope.workflowTools.of(scope.grant);
  const name = isListed ? given : toolNameFor(scope, given, workflows);
  const builtIn = await builtInNamed(scope, name, args);
  if (builtIn) return { name, builtIn };
  const workflow = direct.has(name) ? undefined : workflowTool(workflows, name);
  return workflow ? { name, workflow } : { name, action: directAction(scope, name, workflows) };
}

async function run(scope: ToolScope, target: Target, args: unknown): Promise<Rendered> {
  const { name } = target;
  if ('builtIn' in target) {
    const { value, sizing } = await target.builtIn.run(scope, args);
    const { thirdParty, view } = target.builtIn;
    const viewed = { tool: name, args, source: sizing?.source };
    const facts = view && (await viewFacts(scope, { ...viewed, ours: thirdParty ? undefined : value }));
    return new Rendered(await toResultText(scope, value, { thirdParty, sizing, facts }));
  }
  const input = readArguments(scope, args);
  if (!isJsonObject(input))
    throw new GatehouseError('invalid_request', 'The arguments of a tool are an object.');
  if ('workflow' in target) {
    const value = await runWorkflow(scope, target.workflow, input);
    return new Rendered(await toResultText(scope, value, { thirdParty: true }));
  }
  const { connectorId, actionId } = target.action;
  const direct = directArguments(scope, target.action, input);
  const structured = await runAction(scope, { connectorId, actionId, ...direct });
  const sizing = sizingOf({ connectorId, actionId, parameters: direct.input });
  const facts = await viewFacts(scope, { tool: name, args, source: target.action });
  return new Rendered(await toResultText(scope, structured, { thirdParty: true, sizing, facts }));
}

/** Returns the built-in tool of this name, unless this server does not list it and the call continues nothing. */
async function builtInNamed(scope: ToolScope, name: string, args: unknown): Promise<BuiltInTool | undefined> {
  const found = BUILT_IN_BY_NAME.get(name);
  if (!found?.continues || scope.visible.tools.some((tool) => tool.name === name)) return found;
  return (await found.continues(scope, args)) ? found : undefined;
}

/** Returns whether the client's program, not its model, handles this error. */
function belongsToProtocol({ code }: GatehouseError, { inputs }: ToolScope): boolean {
  if (code === 'url_elicitation_required' || code === 'request_state_invalid') return true;
  // Versions before MCP 2026-07-28 have no error for this.
  return code === 'client_capability_missing' && inputs?.live === false;
}

/**
 * Returns the name of the tool that a caller meant: the only one that differs in letter case, `_` or `-`, or the one of
 * `connector.action`. An unknown name stays unchanged.
 */
function toolNameFor(scope: ToolScope, given: string, workflows: readonly WorkflowTool[]): string {
  const names = [...BUILT_IN_BY_NAME.keys(), ...scope.visible.direct.keys(), ...workflows.map(nameOf)];
  if (names.includes(given)) return given;
  const key = nameKey(given.includes('.') ? given.replace('.', '_') : given);
  const [only, ...others] = names.filter((name) => nameKey(name) === key);
  if (only === undefined || others.length > 0) return given;
  scope.corrections.push({ path: 'name', from: given.slice(0, 100), to: only });
  return only;
}

/** Returns the workflow tool of this name. @throws GatehouseError `restricted` */
function workflowTool(workflows: readonly WorkflowTool[], name: string): WorkflowTool | undefined {
  const found = workflows.find((one) => nameOf(one) === name);
  if (found?.rule !== undefined) throw restricted(`the tool ${name}`, found.rule);
  return found;
}

function nameOf({ definition }: WorkflowTool): string {
  return definition.name;
}

function directAction(scope: ToolScope, name: string, workflows: readonly WorkflowTool[]): Action {
  const { visible, visibility, grant } = scope;
  const action = visible.direct.get(name);
  if (action) return action;
  const hidden = visibility.actionOf(grant.environment, name);
  const rule = hidden && grant.live.decision.action(hidden);
  // Running it fails with an error that names the account it needs.
  if (hidden && !rule && visible.direct.size > 0 && grant.live.unable?.has(hidden)) return hidden;
  if (rule) throw restricted(`the tool ${name}`, rule);
  const names = [...visible.tools.map((tool) => tool.name), ...workflows.map(nameOf)];
  const near = didYouMean(name, names);
  const hint = near === '' || hidden ? callHint(scope, name) : near;
  throw new GatehouseError(
    'invalid_request',
    `There is no tool "${name.slice(0, 100)}".${hint} tools/list has those that are here.`,
  );
}

/** Returns how to run an action whose name was called as a tool; empty when no action has a near name. */
function callHint(scope: ToolScope, name: string): string {
  const calls = actionsNamed(scope, name).map(({ connectorId, actionId }) =>
    JSON.stringify({ connectorId, actionId }),
  );
  return calls.length === 0 ? '' : ` Actions run by execute_action_svc, here with ${calls.join(' or ')}.`;
}
