import type { Documents } from '../documents.ts';
import { entriesOf, itemsOf, memberOf, type Node } from '../node.ts';
import type { Operation, Parameter } from '../operation.ts';
import { isCredential } from '../security.ts';
import type { Field, Fields, OperationFacts } from './field.ts';
import type { FlatSchemas } from './flat-schema.ts';
import { bracketSteps } from './sent.ts';
import type { Wanted } from './wanted.ts';

/** The parts of an operation that a comparison needs. */
export interface WantedFacts {
  query: Wanted;
  body: Wanted;
  answer: Wanted;
  /** Query parameters for the size of a page, whose largest value may stand in their description. */
  limits: ReadonlySet<string>;
  /** `each`: one scope of a requirement is enough, as many vendors mean it. `all`: it needs all of them. */
  scopes: 'each' | 'all';
}

/**
 * Returns the facts of one operation of a document that a comparison needs.
 * @throws LeftOut for a reference that leads nowhere.
 */
export function factsOf(
  { documents, schemas }: { documents: Documents; schemas: FlatSchemas },
  operation: Operation,
  wanted: WantedFacts,
): OperationFacts {
  const { node, parameters } = operation;
  const fieldAt = fieldReader(schemas);
  const inPlace = (place: string) => parameters.filter((one) => one.in === place);
  const query: Field = { of: {} };
  for (const one of inPlace('query')) {
    const steps = bracketSteps(one.name);
    putQuery(query, steps, parameterFact(documents, fieldAt, { one, wanted }));
  }
  const plain = (place: string): Fields =>
    Object.fromEntries(
      inPlace(place).map((one) => [
        place === 'header' ? one.name.toLowerCase() : one.name,
        parameterFact(documents, fieldAt, { one, wanted: { ...wanted, query: {} } }),
      ]),
    );
  const body = bodyOf(documents, fieldAt, { operation, wanted });
  const answer = fieldAt(answerSchemas(documents, node), wanted.answer);
  const scopes = scopesOf(documents, node, wanted.scopes);
  return {
    ...(memberOf(node, 'deprecated').value === true ? { deprecated: true } : {}),
    query: query.of ?? {},
    headers: plain('header'),
    path: plain('path'),
    ...(body.of ? { body } : {}),
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(answer.of ? { answer: withoutValues(answer) } : {}),
  };
}

type FieldAt = (nodes: readonly Node[], wanted?: Wanted, root?: boolean) => Field;

/** Returns a function that reads a schema. Only wanted members have members of their own. */
function fieldReader(schemas: FlatSchemas): FieldAt {
  const fieldAt: FieldAt = (nodes, wanted = {}, root = true) => {
    if (nodes.length === 0) return {};
    const schema = schemas.flat(nodes);
    const values = schema.values?.filter((one) => one !== '' && one !== null) ?? [];
    const of: Fields = {};
    if (root || Object.keys(wanted).length > 0) {
      for (const [name, members] of schema.properties) {
        const field = fieldAt(members, Object.hasOwn(wanted, name) ? wanted[name] : {}, false);
        of[name] = schema.required.has(name) ? { required: true, ...field } : field;
      }
    }
    const hasMembers = Object.keys(of).length > 0;
    // Some documents require a member that they do not describe.
    if (hasMembers) for (const name of schema.required) of[name] ??= {};
    return {
      ...(values.length > 0 ? { enum: values } : {}),
      ...(schema.deprecated ? { deprecated: true } : {}),
      ...(schema.maximum === undefined ? {} : { max: schema.maximum }),
      ...(schema.open && hasMembers ? { open: true } : {}),
      ...(hasMembers ? { of } : {}),
    };
  };
  return fieldAt;
}

function parameterFact(
  documents: Documents,
  fieldAt: FieldAt,
  { one, wanted: { query, limits } }: { one: Parameter; wanted: Pick<WantedFacts, 'query' | 'limits'> },
): Field {
  const { name, node } = one;
  const schema = schemaOf(documents, node);
  const words = [node, ...schema].map((one) => String(memberOf(documents.follow(one), 'description').value));
  const said = limits.has(name) ? maximumIn(words.join(' ')) : undefined;
  const [first = ''] = bracketSteps(name);
  const field = fieldAt(schema, Object.hasOwn(query, first) ? query[first] : {});
  const max = field.max ?? said;
  return {
    ...(memberOf(node, 'required').value === true && !isCredential(one) ? { required: true } : {}),
    ...(memberOf(node, 'deprecated').value === true ? { deprecated: true } : {}),
    ...field,
    ...(max === undefined ? {} : { max }),
  };
}

/** Returns the schema of a parameter: that of OpenAPI 3, that of its content, else the parameter itself. */
function schemaOf(documents: Documents, node: Node): Node[] {
  const schema = memberOf(node, 'schema');
  if (schema.value !== undefined) return [schema];
  const content = entriesOf(memberOf(node, 'content')).map(([, media]) =>
    memberOf(documents.follow(media), 'schema'),
  );
  return content.length > 0 ? content.slice(0, 1) : [node];
}

/** Returns the largest page that a description names: `max 100`, `up to 250`, `between 1 and 100`. */
function maximumIn(text: string): number | undefined {
  const [, number = ''] =
    /(?:max(?:imum)?\b|up to|between 1 and|between 0 and|larger than|at most|more than)\D{0,40}?([\d,]+)/i.exec(
      text,
    ) ?? [];
  return Number(number.replaceAll(',', '')) || undefined;
}

function putQuery(root: Field, steps: string[], fact: Field): void {
  const [name = '', ...rest] = steps;
  root.of ??= {};
  if (rest.length === 0) root.of[name] = { ...root.of[name], ...fact };
  else putQuery((root.of[name] ??= {}), rest, fact);
}

function bodyOf(
  documents: Documents,
  fieldAt: FieldAt,
  {
    operation: { node, parameters },
    wanted,
  }: { operation: Operation; wanted: Pick<WantedFacts, 'body' | 'limits'> },
): Field {
  const content = memberOf(documents.follow(memberOf(node, 'requestBody')), 'content');
  const schemas = [
    ...entriesOf(content).map(([, media]) => memberOf(documents.follow(media), 'schema')),
    ...parameters.filter((one) => one.in === 'body').map((one) => memberOf(one.node, 'schema')),
  ].filter(({ value }) => value !== undefined);
  const body = fieldAt(schemas, wanted.body);
  const form = parameters.filter((one) => one.in === 'formData');
  if (form.length === 0) return body;
  const read = { query: wanted.body, limits: wanted.limits };
  const fields = form.map((one) => [one.name, parameterFact(documents, fieldAt, { one, wanted: read })]);
  return { ...body, of: { ...body.of, ...Object.fromEntries(fields) } };
}

function answerSchemas(documents: Documents, node: Node): Node[] {
  const responses = memberOf(node, 'responses');
  const codes = entriesOf(responses).map(([code]) => code);
  const code = codes.find((one) => one.startsWith('2')) ?? 'default';
  const response = documents.follow(memberOf(responses, code));
  const content = entriesOf(memberOf(response, 'content')).find(([type]) => /json|\*/.test(type));
  const schema = memberOf(content ? documents.follow(content[1]) : response, 'schema');
  return schema.value === undefined ? [] : [schema];
}

function scopesOf(documents: Documents, node: Node, mean: WantedFacts['scopes']): string[][] {
  const own = memberOf(node, 'security');
  const security = own.value === undefined ? memberOf(documents.root, 'security') : own;
  const alternatives = itemsOf(security)
    .flatMap((one) => entriesOf(one).map(([, scopes]) => itemsOf(scopes).map(({ value }) => String(value))))
    .map((scopes) => scopes.filter((one) => one !== 'none'))
    .filter((scopes) => scopes.length > 0);
  const split = mean === 'each' ? alternatives.flat().map((one) => [one]) : alternatives;
  return [...new Map(split.map((all) => [all.join(), all])).values()];
}

/** Returns an answer's names, because only they are compared. */
function withoutValues({ of, open }: Field): Field {
  if (!of) return {};
  const names = Object.entries(of).map(([name, one]): [string, Field] => [name, withoutValues(one)]);
  return { ...(open ? { open } : {}), of: Object.fromEntries(names) };
}
