import type { Members } from '../../../../src/openapi/compare/document-members.ts';

/**
 * Returns XML Schema files of entities (w3.org/TR/xmlschema11-1) as an OpenAPI document of the given requests.
 * `/customer/{}` and `/customer/{}/send` are calls of the type Customer, which the answer has under that name. An
 * answer to `/query` has it below `QueryResponse`, as QuickBooks does.
 */
export function fromXsd(files: string[], requests: string[]): Members {
  const schemas = Object.fromEntries(files.flatMap((file) => [...typesIn(file), ...enumsIn(file)]));
  const names = new Map(Object.keys(schemas).map((name) => [name.toLowerCase(), name]));
  const paths: { [path: string]: Members } = {};
  for (const request of requests) {
    const [method = '', path = ''] = request.split(' ');
    const [, first = ''] = path.split('/');
    const name = names.get(first);
    const operation = first === 'query' ? query(names) : name && entity(name, method, path);
    if (operation) paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return { paths, components: { schemas } };
}

/** Parameters of any request: the query, the version of fields, the idempotency key, the mode of an update. */
const PARAMETERS = ['query', 'minorversion', 'requestid', 'operation', 'include', 'sendTo'].map((name) => ({
  name,
  in: 'query',
}));

function query(names: Map<string, string>): Members {
  const records = Object.fromEntries([...names.values()].map((name) => [name, refTo(name)]));
  const properties = { ...records, startPosition: {}, maxResults: {}, totalCount: {} };
  return {
    parameters: PARAMETERS,
    responses: { 200: bodyOf({ properties: { QueryResponse: { properties }, time: {} } }) },
  };
}

function entity(name: string, method: string, path: string): Members {
  const sent = method === 'POST' && path.split('/').length === 2;
  return {
    parameters: PARAMETERS,
    ...(sent ? { requestBody: bodyOf(refTo(name)) } : {}),
    responses: { 200: bodyOf({ properties: { [name]: refTo(name), time: {} } }) },
  };
}

const bodyOf = (schema: Members): Members => ({ content: { 'application/json': { schema } } });

function refTo(type: string): Members {
  return type === '' || type.startsWith('xs:') ? {} : { $ref: `#/components/schemas/${type}` };
}

/** Returns the types of a file. Attributes of a type are members in JSON, and its text is the member `value`. */
function typesIn(file: string): [string, Members][] {
  return [...file.matchAll(/<xs:complexType name="(\w+)"[^>]*>(.*?)<\/xs:complexType>/gs)].map(
    ([, name = '', inside = '']) => {
      const base = /<xs:extension base="([\w:]+)"/.exec(inside)?.[1] ?? '';
      const members = [...inside.matchAll(/<xs:(?:element|attribute)\b([^>]*)>/g)].map(([, one = '']) => {
        const given = (attribute: string) =>
          new RegExp(` ${attribute}="([\\w:]+)"`).exec(` ${one.replaceAll(/\s+/g, ' ')}`)?.[1] ?? '';
        return given('ref') ? [given('ref'), refTo(given('ref'))] : [given('name'), refTo(given('type'))];
      });
      const text = inside.includes('<xs:simpleContent>') ? [['value', {}]] : [];
      return [
        name,
        { allOf: base ? [refTo(base)] : [], properties: Object.fromEntries([...members, ...text]) },
      ];
    },
  );
}

function enumsIn(file: string): [string, Members][] {
  return [...file.matchAll(/<xs:simpleType name="(\w+)"[^>]*>(.*?)<\/xs:simpleType>/gs)].map(
    ([, name = '', inside = '']) => {
      const values = [...inside.matchAll(/<xs:enumeration value="([^"]+)"/g)].map(([, one]) => one);
      return [name, values.length > 0 ? { enum: values } : {}];
    },
  );
}
