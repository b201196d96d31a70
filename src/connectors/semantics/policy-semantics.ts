import { isJsonObject } from '../../lib/json.ts';
import type { ActionDefinition, ConnectorFile, Parameter } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { schemesFor, signInScopes, unnamedScopes } from '../needs.ts';
import { parametersOf } from '../parameters.ts';

/**
 * Returns the faults of members that policies use: effects that depend on a value, and an action's schemes and scopes.
 */
export function policyFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  return [...effectFaults(action, path), ...needFaults(file, action, path)];
}

function effectFaults(action: ActionDefinition, path: string): SemanticFault[] {
  const parameters = new Map(parametersOf(action).map(({ name, parameter }) => [name, parameter]));
  return action.effectWhen.flatMap((condition, index) => {
    const at = `${path}.effectWhen.${index}`;
    const [name = '', ...below] = condition.parameter.split('.');
    const parameter = parameters.get(name);
    if (!parameter) return [{ path: `${at}.parameter`, rule: `"${name}" is no parameter of this action` }];
    const known = below.length === 0 ? valuesOf(parameter) : undefined;
    if (!known) return [];
    return (condition.in ?? [])
      .filter((value) => !known.includes(value))
      .map((value) => ({
        path: `${at}.in`,
        rule: `${JSON.stringify(value)} is no value of ${name}; values: ${known.join(', ')}`,
      }));
  });
}

/** Returns the values that a parameter, or the entries of its list, may have; undefined where they are open. */
function valuesOf(parameter: Parameter): unknown[] | undefined {
  const { items } = parameter;
  const values = isJsonObject(items) ? items['enum'] : parameter['enum'];
  return Array.isArray(values) ? values : undefined;
}

function needFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const types: string[] = file.authentication.map(({ type }) => type);
  const unknown = (action.authentication ?? []).filter((type) => !types.includes(type));
  if (unknown.length > 0) {
    const rule = `"${unknown.join('", "')}" is no scheme of this file; schemes: ${types.join(', ')}`;
    return [{ path: `${path}.authentication`, rule }];
  }
  const asks = schemesFor({ definition: file }, { definition: action }).some((scheme) => {
    const asked = signInScopes(scheme);
    return asked === undefined || unnamedScopes(action, asked).length === 0;
  });
  if (asks) return [];
  const rule = 'no scheme that the action allows asks for these scopes, so no sign-in would request them';
  return [{ path: `${path}.scopes`, rule }];
}
