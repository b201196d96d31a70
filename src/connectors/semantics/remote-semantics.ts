import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { schemaPatternFaults } from '../patterns.ts';
import { parametersOf } from '../parameters.ts';

/** The request of every action of `protocol: mcp`: a POST to the endpoint itself. */
export const ENDPOINT_REQUEST = 'POST /';

/** Returns the faults of the members that only files of `protocol: mcp` have, or that they cannot have. */
export function remoteFaults(file: ConnectorFile): SemanticFault[] {
  const actions = Object.entries(file.actions);
  if (file.protocol === 'http')
    return actions.flatMap(([id, action]) =>
      (['mcp', 'input'] as const)
        .filter((member) => action[member] !== undefined)
        .map((member) => ({ path: `actions.${id}.${member}`, rule: 'needs protocol: mcp' })),
    );
  return [...schemeFaults(file), ...actions.flatMap(([id, action]) => actionFaults(action, `actions.${id}`))];
}

function schemeFaults(file: ConnectorFile): SemanticFault[] {
  return file.authentication.flatMap((scheme, index) => {
    const path = `authentication.${index}`;
    if (scheme.type === 'api_key' && scheme.in === 'body')
      return [{ path: `${path}.in`, rule: 'must be header or query, because MCP has no place in its body' }];
    if (scheme.type === 'custom' && scheme.sign)
      return [{ path: `${path}.sign`, rule: 'cannot sign the requests of MCP' }];
    return [];
  });
}

function actionFaults(action: ActionDefinition, path: string): SemanticFault[] {
  const faults: SemanticFault[] = [];
  if (action.mcp === undefined)
    faults.push({ path: `${path}.mcp`, rule: 'must name the request of MCP that it sends' });
  if (action.request !== ENDPOINT_REQUEST)
    faults.push({ path: `${path}.request`, rule: `must be ${ENDPOINT_REQUEST}, the endpoint` });
  if (action.baseUrl !== undefined)
    faults.push({ path: `${path}.baseUrl`, rule: 'is not used with protocol: mcp' });
  if (action.paging !== undefined)
    faults.push({ path: `${path}.paging`, rule: 'is not used with protocol: mcp' });
  const [parameter] = parametersOf(action);
  if (parameter)
    faults.push({ path: `${path}.${parameter.place}`, rule: 'is not used with protocol: mcp; use input' });
  const { input } = action;
  if (input !== undefined && input['type'] !== 'object')
    faults.push({ path: `${path}.input.type`, rule: 'must be object' });
  if (action.mcp?.method === 'tools/call' && action.response.body !== 'content')
    faults.push({ path: `${path}.response.body`, rule: 'must be content, which is the answer of a tool' });
  if (action.mcp?.method === 'tools/list' && !action.internal)
    faults.push({ path: `${path}.internal`, rule: 'must be true for tools/list' });
  const patterns = schemaPatternFaults(input, `${path}.input`);
  return [...faults, ...patterns.map(({ field, rule }) => ({ path: field, rule }))];
}
