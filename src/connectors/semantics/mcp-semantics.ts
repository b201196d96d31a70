import type { ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { parametersOf } from '../parameters.ts';
import { templateNames } from '../templates.ts';

/** Returns the faults of a file's MCP prompts and resources. */
export function mcpFaults(file: ConnectorFile): SemanticFault[] {
  return [...promptFaults(file), ...resourceFaults(file)];
}

function promptFaults(file: ConnectorFile): SemanticFault[] {
  return Object.entries(file.prompts).flatMap(([name, prompt]) => {
    const path = `prompts.${name}`;
    if ((prompt.text === undefined) === (prompt.action === undefined))
      return [{ path, rule: 'needs either a text or an action' }];
    const unknown = templateNames(prompt.text ?? '').filter((argument) => !prompt.arguments[argument]);
    const faults = unknown.map((argument) => ({
      path: `${path}.text`,
      rule: `{${argument}} is no argument of the prompt`,
    }));
    if (prompt.action === undefined) return faults;
    return actionFaults(file, prompt.action, {
      body: 'content',
      given: Object.keys(prompt.arguments),
      path: `${path}.action`,
    });
  });
}

function resourceFaults(file: ConnectorFile): SemanticFault[] {
  return Object.entries(file.resources).flatMap(([name, { uri, action }]) =>
    actionFaults(file, action, { body: 'file', given: templateNames(uri), path: `resources.${name}.action` }),
  );
}

/**
 * Returns the faults of an action: it must exist, return the right body, have the given parameters, and require no
 * others.
 */
function actionFaults(
  file: ConnectorFile,
  actionId: string,
  { body, given, path }: { body: 'content' | 'file'; given: string[]; path: string },
): SemanticFault[] {
  const action = file.actions[actionId];
  if (!action || action.internal) return [{ path, rule: `"${actionId}" is no action of this file` }];
  const faults: SemanticFault[] = [];
  const reads = action.effect === 'read' || (!action.effect && /^(GET|HEAD) /.test(action.request));
  if (!reads) faults.push({ path, rule: `"${actionId}" must be an action that reads` });
  if (action.response.body !== body)
    faults.push({ path, rule: `"${actionId}" must have the response body ${body}` });
  const parameters = parametersOf(action);
  for (const name of given) {
    if (!parameters.some((one) => one.name === name))
      faults.push({ path, rule: `"${actionId}" has no parameter ${name}` });
  }
  for (const { name, required } of parameters) {
    if (required && !given.includes(name))
      faults.push({ path, rule: `"${actionId}" needs ${name}, and nothing gives it` });
  }
  return faults;
}
