import type { Members } from '../../../../src/openapi/compare/document-members.ts';

interface Type {
  base: string;
  /** Names of members with their types. */
  members: Map<string, string>;
}
interface Action {
  parameters: [name: string, type: string, required: boolean][];
  result: string;
}

/**
 * Returns a service description in CSDL (docs.oasis-open.org/odata/odata-csdl-xml/v4.01) as an OpenAPI document of the
 * given requests, each a method and a path below the signed-in user: `GET /me/messages/{}`.
 */
export function fromCsdl(text: string, requests: string[]): Members {
  const types = typesIn(text);
  const actions = actionsIn(text);
  const me = /<Singleton Name="me" Type="([\w.]+)"/.exec(text)?.[1] ?? '';
  const paths: { [path: string]: Members } = {};
  for (const request of requests) {
    const [method = '', path = ''] = request.split(' ');
    const operation = operationOf(types, actions, method, path.split('/').slice(2), me);
    if (operation) paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  const schemas = Object.fromEntries([...types].map(([name, type]) => [name, schemaOf(type)]));
  return { paths, components: { schemas: { ...schemas, ...enumsIn(text) } } };
}

function operationOf(
  types: Map<string, Type>,
  actions: Map<string, Action>,
  method: string,
  steps: string[],
  me: string,
): Members | undefined {
  let type = me;
  for (const step of steps) {
    const action = actions.get(`${bare(type)} ${step}`);
    if (action) return operationOfAction(action);
    const member = step === '{}' ? itemOf(type) : memberOf(types, type, step);
    if (member === undefined) return undefined;
    type = member;
  }
  const responses = { 200: bodyOf(refTo(type, true)) };
  if (method === 'GET') return { parameters: OPTIONS.map((name) => ({ name, in: 'query' })), responses };
  const answer = method === 'POST' ? { 201: bodyOf(refTo(itemOf(type))) } : responses;
  return method === 'DELETE'
    ? { responses: {} }
    : { requestBody: bodyOf(refTo(itemOf(type))), responses: answer };
}

/** System query options of OData (docs.oasis-open.org/odata/odata/v4.01, part 2). */
const OPTIONS = ['$count', '$expand', '$filter', '$orderby', '$search', '$select', '$skip', '$top'];

/**
 * Returns the operation of an action. Names of its parameters are compared without regard to the case of the first
 * letter.
 */
function operationOfAction({ parameters, result }: Action): Members {
  const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
  const properties = Object.fromEntries(parameters.map(([name, type]) => [lower(name), refTo(type)]));
  const required = parameters.filter(([, , must]) => must).map(([name]) => lower(name));
  return { requestBody: bodyOf({ properties, required }), responses: { 200: bodyOf(refTo(result, true)) } };
}

function memberOf(types: Map<string, Type>, type: string, name: string): string | undefined {
  const at = types.get(bare(type));
  return at && (at.members.get(name) ?? memberOf(types, at.base, name));
}

const itemOf = (type: string): string => type.replace(/^Collection\((.*)\)$/, '$1');
const bare = (type: string): string => itemOf(type).replace(/^(?:microsoft\.)?graph\./, '');
const bodyOf = (schema: Members): Members => ({ content: { 'application/json': { schema } } });

function refTo(type: string, listed = false): Members {
  const one =
    type === '' || bare(type).startsWith('Edm.') ? {} : { $ref: `#/components/schemas/${bare(type)}` };
  if (!type.startsWith('Collection(')) return one;
  return listed
    ? { properties: { value: { items: one }, '@odata.nextLink': {}, '@odata.count': {} } }
    : { items: one };
}

function schemaOf({ base, members }: Type): Members {
  const properties = Object.fromEntries([...members].map(([name, type]) => [name, refTo(type)]));
  return { ...(base ? { allOf: [refTo(base)] } : {}), properties: { ...properties, '@odata.type': {} } };
}

const attributesIn = (tag: string): { [name: string]: string } =>
  Object.fromEntries(
    [...tag.matchAll(/([\w.]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );

function typesIn(text: string): Map<string, Type> {
  const found = new Map<string, Type>();
  for (const [, , tag = '', inside = ''] of text.matchAll(
    /<(EntityType|ComplexType)( [^>]*[^/])>(.*?)<\/\1>/gs,
  )) {
    const { Name = '', BaseType = '' } = attributesIn(tag);
    const members = [...inside.matchAll(/<(?:Navigation)?Property ([^>]*)>/g)].map(([, one = '']) =>
      attributesIn(one),
    );
    if (!found.has(Name))
      found.set(Name, {
        base: BaseType,
        members: new Map(members.map((one) => [one['Name'] ?? '', one['Type'] ?? ''])),
      });
  }
  return found;
}

function actionsIn(text: string): Map<string, Action> {
  const found = new Map<string, Action>();
  for (const [, name = '', inside = ''] of text.matchAll(/<Action Name="(\w+)"[^>]*[^/]>(.*?)<\/Action>/gs)) {
    const [bound, ...others] = [...inside.matchAll(/<Parameter ([^>]*)>/g)].map(([, one = '']) =>
      attributesIn(one),
    );
    const result = attributesIn(/<ReturnType ([^>]*)>/.exec(inside)?.[1] ?? '')['Type'] ?? '';
    const parameters = others.map(({ Name = '', Type = '', Nullable }): [string, string, boolean] => [
      Name,
      Type,
      Nullable === 'false' && !Type.startsWith('Collection('),
    ]);
    found.set(`${bare(bound?.['Type'] ?? '')} ${name}`, { parameters, result });
  }
  return found;
}

function enumsIn(text: string): Members {
  return Object.fromEntries(
    [...text.matchAll(/<EnumType Name="(\w+)"[^>]*>(.*?)<\/EnumType>/gs)].map(
      ([, name = '', inside = '']) => [
        name,
        { enum: [...inside.matchAll(/<Member Name="(\w+)"/g)].map(([, one]) => one) },
      ],
    ),
  );
}
