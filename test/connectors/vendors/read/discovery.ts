import { listOf, type Members, membersOf } from '../../../../src/openapi/compare/document-members.ts';
import { isRecord } from '../../../../src/openapi/node.ts';

/**
 * Returns a Google discovery document (developers.google.com/discovery/v1/reference/apis) as an OpenAPI one, with the
 * parts that facts.ts reads.
 */
export function fromDiscovery(doc: Members): Members {
  const paths: { [path: string]: Members } = {};
  const base = `/${String(doc['servicePath'])}`;
  for (const method of methodsOf(doc)) {
    const path = String(method['flatPath'] ?? method['path']);
    const simple = membersOf(membersOf(membersOf(method['mediaUpload'])['protocols'])['simple'])['path'];
    const operation = operationOf(method, doc);
    for (const one of [base + path, ...(typeof simple === 'string' ? [simple] : [])])
      paths[one] = { ...paths[one], [String(method['httpMethod']).toLowerCase()]: operation };
  }
  const components = { schemas: doc['schemas'] };
  return renamed({
    info: { version: `${String(doc['version'])} ${String(doc['revision'])}` },
    paths,
    components,
  });
}

function methodsOf(resource: Members): Members[] {
  const own = Object.values(membersOf(resource['methods'])).map(membersOf);
  return [
    ...own,
    ...Object.values(membersOf(resource['resources'])).flatMap((one) => methodsOf(membersOf(one))),
  ];
}

function operationOf(method: Members, doc: Members): Members {
  const parameters = Object.entries({ ...membersOf(doc['parameters']), ...membersOf(method['parameters']) });
  const request = membersOf(method['request'])['$ref'];
  const response = membersOf(method['response'])['$ref'];
  const required =
    typeof request === 'string' ? requiredIn(membersOf(doc['schemas'])[request], method['id']) : [];
  return {
    ...(method['deprecated'] === true ? { deprecated: true } : {}),
    parameters: parameters.map(([name, one]) => ({
      name,
      in: membersOf(one)['location'],
      ...membersOf(one),
    })),
    ...(request ? { requestBody: bodyOf({ allOf: [{ $ref: request }, { required }] }) } : {}),
    responses: { 200: response ? bodyOf({ $ref: response }) : {} },
    security: listOf(method['scopes']).map((scope) => ({ oauth2: [scope] })),
  };
}

const bodyOf = (schema: Members): Members => ({ content: { 'application/json': { schema } } });

/** Returns the properties that a method requires. A schema names the methods that require a property. */
function requiredIn(schema: unknown, method: unknown): string[] {
  return Object.entries(membersOf(membersOf(schema)['properties']))
    .filter(([, one]) => listOf(membersOf(membersOf(one)['annotations'])['required']).includes(method))
    .map(([name]) => name);
}

/** Renames members: references are names of schemas, and numbers are texts. */
function renamed(value: Members): Members {
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (name === '$ref' && typeof one === 'string') return [name, `#/components/schemas/${one}`];
      if (name === 'maximum' && typeof one === 'string') return [name, Number(one)];
      if (name === 'required' && typeof one === 'boolean' && value['location'] === undefined)
        return [name, []];
      if (Array.isArray(one)) return [name, one.map((each) => (isRecord(each) ? renamed(each) : each))];
      return [name, isRecord(one) ? renamed(one) : one];
    }),
  );
}
