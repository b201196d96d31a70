import {
  type FieldNode,
  getNamedType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  isRequiredInputField,
  Kind,
  NoDeprecatedCustomRule,
  parse,
  type SelectionSetNode,
  specifiedRules,
  typeFromAST,
  validate,
} from 'graphql';
import type { ActionDefinition } from '../../../src/connectors/format/format.ts';
import type { Field, Fields } from '../../../src/openapi/compare/field.ts';

/** Returns the rules of a schema that a GraphQL document of an action breaks. */
export function documentFaults(schema: GraphQLSchema, { graphql = '' }: ActionDefinition): string[] {
  return validate(schema, parse(graphql), [...specifiedRules, NoDeprecatedCustomRule]).map(
    (one) => one.message,
  );
}

/** Returns the variables and the answer of an action's document, as a REST document would describe them. */
export function documentFacts(
  schema: GraphQLSchema,
  { graphql = '' }: ActionDefinition,
): { body: Field; answer: Field } {
  const body: Fields = {};
  let answer: Field = {};
  for (const one of parse(graphql).definitions) {
    if (one.kind !== Kind.OPERATION_DEFINITION) continue;
    answer = { of: { data: selected(one.selectionSet), errors: {}, extensions: {} } };
    for (const { variable, type, defaultValue } of one.variableDefinitions ?? []) {
      const known = typeFromAST(schema, type as never);
      const field = isInputType(known) ? fieldOf(known, 4) : {};
      const must = type.kind === Kind.NON_NULL_TYPE && !defaultValue;
      body[variable.name.value] = must ? { required: true, ...field } : field;
    }
  }
  return { body: { of: body }, answer };
}

function fieldOf(type: GraphQLInputType, depth: number): Field {
  const named = getNamedType(type);
  if (isEnumType(named)) return { enum: named.getValues().map((one) => one.name) };
  if (!isInputObjectType(named) || depth === 0) return {};
  const fields = Object.entries(named.getFields()).map(([name, one]): [string, Field] => {
    const field = fieldOf(one.type, depth - 1);
    if (typeof one.deprecationReason === 'string') field.deprecated = true;
    return [name, isRequiredInputField(one) ? { required: true, ...field } : field];
  });
  return { of: Object.fromEntries(fields) };
}

/** Returns the names that a document selects, which are all names of its answer. */
function selected({ selections }: SelectionSetNode): Field {
  const of: Fields = {};
  for (const one of selections) {
    if (one.kind === Kind.FIELD) of[nameOf(one)] = one.selectionSet ? selected(one.selectionSet) : {};
    else if (one.kind === Kind.INLINE_FRAGMENT) Object.assign(of, selected(one.selectionSet).of);
  }
  return { of };
}

const nameOf = ({ alias, name }: FieldNode): string => (alias ?? name).value;
