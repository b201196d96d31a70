import { GraphQLError, Kind, OperationTypeNode, parse, type OperationDefinitionNode } from 'graphql';
import { mostSevereOf, effectsIn } from './effects.ts';
import type { ActionDefinition, ConnectorFile, Parameter } from './format/format.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';
import { pagingParameters } from './schemas/action-schemas.ts';

/** Returns the faults of a GraphQL document: its syntax, its variables, and an effect that it does not have. */
export function graphqlFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  if (action.graphql === undefined) return [];
  const operation = operationOf(action.graphql);
  if (typeof operation === 'string') return [{ path: `${path}.graphql`, rule: operation }];
  return [...effectFaults(action, operation, path), ...variableFaults(file, action, { operation, path })];
}

/** Returns the only operation of a document, or its fault. */
function operationOf(text: string): OperationDefinitionNode | string {
  try {
    const { definitions } = parse(text);
    const [only, ...others] = definitions.filter((one) => one.kind === Kind.OPERATION_DEFINITION);
    return only && others.length === 0 ? only : 'must hold one operation';
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const { line, column } = error.locations?.[0] ?? {};
    return `is no GraphQL: ${error.message} (its line ${line}, column ${column})`;
  }
}

function effectFaults(
  action: ActionDefinition,
  { operation }: OperationDefinitionNode,
  path: string,
): SemanticFault[] {
  if (operation === OperationTypeNode.SUBSCRIPTION)
    return [{ path: `${path}.graphql`, rule: 'must be a query or a mutation' }];
  const reads = mostSevereOf(effectsIn(action, 'POST')) === 'read';
  if (operation === OperationTypeNode.QUERY || !reads) return [];
  return [{ path: `${path}.effect`, rule: 'a mutation does not read; say write or destructive' }];
}

function variableFaults(
  file: ConnectorFile,
  action: ActionDefinition,
  { operation: { variableDefinitions = [] }, path }: { operation: OperationDefinitionNode; path: string },
): SemanticFault[] {
  const declared = variableDefinitions.map(({ variable }) => variable.name.value);
  const sent = sentVariables(file, action);
  const unknown = sent
    .filter(({ name }) => !declared.includes(name))
    .map(({ name, at }) => ({
      path: `${path}.${at}`,
      rule: `$${name} is no variable of the document; variables: ${declared.join(', ') || 'none'}`,
    }));
  const always = new Set(sent.filter((one) => one.always).map(({ name }) => name));
  const open = variableDefinitions
    .filter(({ type, defaultValue }) => type.kind === Kind.NON_NULL_TYPE && !defaultValue)
    .map(({ variable }) => variable.name.value)
    .filter((name) => !always.has(name))
    .map((name) => ({
      path: `${path}.graphql`,
      rule: `$${name} must be given, and no required parameter gives it`,
    }));
  return [...unknown, ...open];
}

interface SentVariable {
  name: string;
  /** The path of the sender, below the action. */
  at: string;
  always: boolean;
}

function sentVariables(file: ConnectorFile, action: ActionDefinition): SentVariable[] {
  const parameters = Object.entries(action.body).map(([name, parameter]) => variableOf(name, parameter));
  const fixed = Object.keys(action.fixed?.body ?? {}).map((name) => ({
    name: rootOf(name),
    at: `fixed.body.${name}`,
    always: true,
  }));
  const key = action.idempotencyParam;
  if (key !== undefined) fixed.push({ name: rootOf(key), at: 'idempotencyParam', always: true });
  const paged = pagingParameters(file, action, 'body').map(({ name, always }) => ({
    name: rootOf(name),
    at: 'paging',
    always,
  }));
  return [...parameters, ...fixed, ...paged];
}

/**
 * Returns the variable of a parameter. An input object is sent as soon as one of its members is; `rules` say which of
 * them are required.
 */
function variableOf(name: string, { as, required }: Parameter): SentVariable {
  return {
    name: rootOf(as ?? name),
    at: `body.${name}`,
    always: required === true || (as ?? name).includes('.'),
  };
}

function rootOf(name: string): string {
  return name.split('.')[0] ?? name;
}
