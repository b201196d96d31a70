import { bracketSteps } from '../own.ts';
import type { Field, Fields, Operation } from '../fields.ts';
import { listOf, type Members, membersOf } from '../members.ts';
import { flat, resolved } from './schema.ts';
import type { Wanted } from './wanted.ts';

/** Returns the facts of one operation of an OpenAPI document that the comparison needs. */
export function factsOf(
  doc: Members,
  item: Members,
  operation: Members,
  wanted: { query: Wanted; body: Wanted; answer: Wanted; limits: Set<string>; scopes: 'each' | 'all' },
): Operation {
  const parameters = [...listOf(item['parameters']), ...listOf(operation['parameters'])].map((one) =>
    resolved(doc, one),
  );
  const query: Field = { of: {} };
  for (const one of parameters.filter((each) => each['in'] === 'query'))
    putQuery(query, bracketSteps(String(one['name'])), parameterFact(doc, one, wanted));
  const body = bodyOf(doc, operation, parameters, wanted);
  const answer = fieldOf(doc, answerSchema(doc, operation), wanted.answer);
  const scopes = scopesOf(doc, operation, wanted.scopes);
  return {
    ...(operation['deprecated'] === true ? { deprecated: true } : {}),
    query: query.of ?? {},
    ...(body.of ? { body } : {}),
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(answer.of ? { answer: withoutValues(answer) } : {}),
  };
}

function parameterFact(
  doc: Members,
  one: Members,
  { query, limits }: { query: Wanted; limits: Set<string> },
): Field {
  const name = String(one['name']);
  const schema = { ...one, ...resolved(doc, one['schema']) };
  const said = limits.has(name)
    ? maximumIn(`${String(one['description'])} ${String(schema['description'])}`)
    : undefined;
  const field = fieldOf(doc, { ...schema, required: [] }, query[bracketSteps(name)[0] ?? '']);
  const max = field.max ?? said;
  return { ...(one['required'] === true ? { required: true } : {}), ...field, ...(max ? { max } : {}) };
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

function bodyOf(doc: Members, operation: Members, parameters: Members[], wanted: { body: Wanted }): Field {
  const content = Object.values(membersOf(resolved(doc, operation['requestBody'])['content']));
  const schemas = [
    ...content.map((one) => membersOf(one)['schema']),
    ...parameters.filter((one) => one['in'] === 'body').map((one) => one['schema']),
  ].filter((one) => one !== undefined);
  const form = parameters.filter((one) => one['in'] === 'formData');
  if (form.length > 0) {
    const properties = Object.fromEntries(form.map((one) => [String(one['name']), { ...one, required: [] }]));
    const required = form.filter((one) => one['required'] === true).map((one) => one['name']);
    schemas.push({ properties, required });
  }
  const [only] = schemas;
  return fieldOf(doc, schemas.length > 1 ? { anyOf: schemas } : only, wanted.body);
}

function answerSchema(doc: Members, operation: Members): unknown {
  const responses = membersOf(operation['responses']);
  const code = Object.keys(responses).find((one) => one.startsWith('2')) ?? 'default';
  const response = resolved(doc, responses[code]);
  const content = membersOf(response['content']);
  const type = Object.keys(content).find((one) => /json|\*/.test(one));
  return type ? membersOf(content[type])['schema'] : response['schema'];
}

function scopesOf(doc: Members, operation: Members, mean: 'each' | 'all'): string[][] {
  const security = listOf(operation['security'] ?? doc['security']);
  const alternatives = security
    .flatMap((one) => Object.values(membersOf(one)).map((scopes) => listOf(scopes).map(String)))
    .map((scopes) => scopes.filter((one) => one !== 'none'))
    .filter((scopes) => scopes.length > 0);
  const split = mean === 'each' ? alternatives.flat().map((one) => [one]) : alternatives;
  return [...new Map(split.map((all) => [all.join(), all])).values()];
}

/** Longer enums are lists of currencies, countries and such, which connectors leave open. */
const LONGEST_ENUM = 45;

export function fieldOf(doc: Members, value: unknown, wanted: Wanted = {}, root = true): Field {
  const schema = flat(doc, value, 8);
  const values = schema.values?.filter((one) => one !== '' && one !== null);
  const inner = root || Object.keys(wanted).length > 0;
  const of: Fields = {};
  if (inner) {
    for (const [name, property] of Object.entries(schema.properties)) {
      const field = fieldOf(doc, property, wanted[name], false);
      of[name] = schema.required.has(name) ? { required: true, ...field } : field;
    }
  }
  return {
    ...(values && values.length > 0 && values.length <= LONGEST_ENUM ? { enum: values } : {}),
    ...(schema.deprecated ? { deprecated: true } : {}),
    ...(schema.maximum === undefined ? {} : { max: schema.maximum }),
    ...(schema.open && Object.keys(of).length > 0 ? { open: true } : {}),
    ...(Object.keys(of).length > 0 ? { of } : {}),
  };
}

/** Returns an answer's names, because only they are compared. */
function withoutValues({ of, open }: Field): Field {
  if (!of) return {};
  const names = Object.entries(of).map(([name, one]): [string, Field] => [name, withoutValues(one)]);
  return { ...(open ? { open } : {}), of: Object.fromEntries(names) };
}
