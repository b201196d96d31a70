import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
  parse,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Wanted } from '../../../../src/openapi/compare/wanted.ts';

/** The parts of a schema that documents use. */
interface Used {
  /** Composite types with their fields, and the arguments of those. */
  fields: Map<string, Map<string, Set<string>>>;
  /** Input types that callers or documents fill in. */
  inputs: Set<string>;
  directives: Set<string>;
}

/**
 * Returns the part of a schema that documents use, in the schema language and without descriptions. Types whose
 * members neither a document nor a caller uses become scalars.
 */
export function reducedSchema(schema: GraphQLSchema, uses: { document: string; sent: Wanted }[]): string[] {
  const used: Used = { fields: new Map(), inputs: new Set(), directives: new Set() };
  for (const { document, sent } of uses) collect(schema, document, sent, used);
  const printed = new Map<string, string>();
  for (const name of [...used.fields.keys(), ...used.inputs]) print(schema, name, used, printed);
  const [query, mutation] = [schema.getQueryType(), schema.getMutationType()];
  const roots = [
    ...(query ? [`query: ${query.name}`] : []),
    ...(mutation && used.fields.has(mutation.name) ? [`mutation: ${mutation.name}`] : []),
  ];
  const directives = [...used.directives].map((name) => printDirective(schema, name));
  return [`schema { ${roots.join(' ')} }`, ...directives, ...[...printed.values()].sort()];
}

function collect(
  schema: GraphQLSchema,
  document: string,
  sent: Wanted,
  { fields, inputs, directives }: Used,
): void {
  const info = new TypeInfo(schema);
  const note = (type: GraphQLNamedType | null | undefined): Map<string, Set<string>> => {
    const known = fields.get(type?.name ?? '') ?? new Map<string, Set<string>>();
    if (type) fields.set(type.name, known);
    return known;
  };
  const noteInput = (type: GraphQLType | null | undefined, names: Wanted): void => {
    const one = type && getNamedType(type);
    if (!isInputObjectType(one)) return;
    inputs.add(one.name);
    for (const [name, field] of Object.entries(one.getFields()))
      if (names[name]) noteInput(field.type, names[name]);
  };
  visit(
    parse(document),
    visitWithTypeInfo(info, {
      Field(node) {
        const known = note(info.getParentType());
        if (node.name.value.startsWith('__')) return;
        const args = known.get(node.name.value) ?? new Set();
        for (const one of node.arguments ?? []) args.add(one.name.value);
        known.set(node.name.value, args);
      },
      InlineFragment() {
        note(info.getParentType());
        const type = info.getType();
        note(type && getNamedType(type));
      },
      Directive: (node) => void directives.add(node.name.value),
      ObjectValue: () => noteInput(info.getInputType(), {}),
      VariableDefinition: (node) => noteInput(info.getInputType(), sent[node.variable.name.value] ?? {}),
    }),
  );
}

function print(schema: GraphQLSchema, name: string, used: Used, printed: Map<string, string>): void {
  if (printed.has(name) || /^(?:String|Int|Float|Boolean|ID)$/.test(name) || name.startsWith('__')) return;
  const type = schema.getType(name);
  printed.set(name, `scalar ${name}`);
  const next = (one: GraphQLType) => print(schema, getNamedType(one).name, used, printed);
  if (isEnumType(type)) {
    const values = type.getValues().map((one) => one.name);
    printed.set(name, `enum ${name} { ${values.join(' ')} }`);
  } else if (isInputObjectType(type) && used.inputs.has(name)) {
    const fields = Object.values(type.getFields());
    for (const one of fields) next(one.type);
    printed.set(name, `input ${name} { ${fields.map(printInput).join(' ')} }`);
  } else if (isObjectType(type) || isInterfaceType(type)) {
    printed.set(name, printComposite(type, used, next));
  } else if (isUnionType(type)) {
    const members = type.getTypes().filter((one) => used.fields.has(one.name));
    printed.set(name, `union ${name} = ${members.map((one) => one.name).join(' | ')}`);
  }
}

/** Prints a composite type. An object also has the fields that documents read through its interfaces. */
function printComposite(
  type: GraphQLObjectType | GraphQLInterfaceType,
  { fields }: Used,
  next: (one: GraphQLType) => void,
): string {
  const parents = type.getInterfaces().filter((one) => fields.has(one.name));
  const known = new Map([type, ...parents].flatMap((one) => [...(fields.get(one.name) ?? [])]));
  const read = Object.values(type.getFields()).filter((one) => known.has(one.name));
  for (const one of read) next(one.type);
  const lines = read.map((one) => printField(one, known.get(one.name), next));
  const kind = isInterfaceType(type) ? 'interface' : 'type';
  const by = parents.length > 0 ? ` implements ${parents.map((one) => one.name).join(' & ')}` : '';
  return `${kind} ${type.name}${by} { ${['unread: Boolean', ...lines].join(' ')} }`;
}

function printDirective(schema: GraphQLSchema, name: string): string {
  const { args = [], locations = [] } = schema.getDirective(name) ?? {};
  const inside = args.length > 0 ? `(${args.map(printInput).join(' ')})` : '';
  return `directive @${name}${inside} on ${locations.join(' | ')}`;
}

function printField(
  field: GraphQLField<unknown, unknown>,
  named: Set<string> | undefined,
  next: (one: GraphQLType) => void,
): string {
  const args = field.args.filter((one) => named?.has(one.name) ?? isRequiredArgument(one));
  for (const one of args) next(one.type);
  const inside = args.length > 0 ? `(${args.map(printInput).join(' ')})` : '';
  return `${field.name}${inside}: ${String(field.type)}${deprecated(field)}`;
}

function printInput(one: GraphQLArgument | GraphQLInputField): string {
  const must = String(one.type).endsWith('!') && one.defaultValue !== undefined;
  return `${one.name}: ${must ? String(one.type).slice(0, -1) : String(one.type)}${deprecated(one)}`;
}

const deprecated = ({ deprecationReason }: { deprecationReason?: string | null | undefined }): string =>
  typeof deprecationReason === 'string' ? ' @deprecated' : '';
