import type { Members } from '../../../../src/openapi/compare/document-members.ts';

/**
 * Returns files of Stone, the language of Dropbox's specification (github.com/dropbox/stone), as an OpenAPI document
 * with the parts that facts.ts reads. Documentation and examples are left out.
 */
export function fromStone(files: string[]): Members {
  const schemas: { [name: string]: Members } = {};
  const paths: Members = {};
  for (const file of files) {
    const text = file.replaceAll(/"(?:[^"\\]|\\.)*"/gs, (doc) => (/^"[\w. /-]*"$/.test(doc) ? doc : '""'));
    const namespace = /^namespace (\w+)/m.exec(text)?.[1] ?? '';
    for (const block of text.split(/\n(?=\S)/)) {
      const [head = '', ...lines] = block.split('\n');
      const [, kind = '', name = ''] = /^(struct|union|union_closed|alias) (\w+)/.exec(head) ?? [];
      if (kind === 'struct') {
        schemas[`${namespace}.${name}`] = structOf(namespace, head, lines);
        schemas[`${namespace}.${name}${OWN}`] = ownPart(namespace, lines);
      }
      if (kind.startsWith('union')) schemas[`${namespace}.${name}`] = unionOf(namespace, head, lines);
      if (kind === 'alias') schemas[`${namespace}.${name}`] = typeOf(namespace, head.split(' = ')[1] ?? '');
      if (head.startsWith('route ')) addRoute(paths, namespace, head, block);
    }
  }
  return { paths, components: { schemas } };
}

const OWN = ' without its parent';

function addRoute(paths: Members, namespace: string, head: string, block: string): void {
  const [, name = '', version, argument = '', result = ''] =
    /^route ([\w/]+)(?::(\d+))? ?\(([^,]+), ([^,]+),/.exec(head) ?? [];
  const scope = /^ {8}scope = "([\w.]+)"/m.exec(block)?.[1];
  paths[`/${namespace}/${name}${version ? `_v${version}` : ''}`] = {
    post: {
      ...(/\) deprecated/.test(head) ? { deprecated: true } : {}),
      requestBody: bodyOf(typeOf(namespace, argument)),
      responses: { 200: bodyOf(typeOf(namespace, result)) },
      security: scope ? [{ oauth2: [scope] }] : [],
    },
  };
}

const bodyOf = (schema: Members): Members => ({ content: { 'application/json': { schema } } });

/**
 * Returns the fields of lines `name Type(…)? = default`, four blanks deep. A field is required unless it may be null
 * or has a default.
 */
function fieldsOf(lines: string[]): { name: string; type: string; required: boolean }[] {
  return lines.flatMap((line) => {
    const [, name, type = '', rest = ''] = /^ {4}(\w+)\*?(?: ([\w.]+(?:\(.*\))?)(.*))?$/.exec(line) ?? [];
    if (!name || ['example', 'union', 'union_closed', 'attrs'].includes(name)) return [];
    return [{ name, type, required: !/^\?|=/.test(rest.trim()) }];
  });
}

function structOf(namespace: string, head: string, lines: string[]): Members {
  const subtypes = lines.flatMap((line) => /^ {8}\w+ (\w+)$/.exec(line)?.[1] ?? []);
  const tagged = lines.some((line) => /^ {4}union(?:_closed)?\*?$/.test(line));
  const parts = tagged
    ? subtypes.map((one) => ({ $ref: `#/components/schemas/${namespace}.${one}${OWN}` }))
    : [];
  const { properties, required } = ownPart(namespace, lines);
  return {
    allOf: [...parentOf(namespace, head), ...(parts.length > 0 ? [{ anyOf: [{}, ...parts] }] : [])],
    properties: { ...(tagged ? { '.tag': {} } : {}), ...properties },
    required,
  };
}

/** Returns a struct without its parent: the part that a subtype adds. */
function ownPart(namespace: string, lines: string[]) {
  const fields = fieldsOf(lines);
  return {
    properties: Object.fromEntries(fields.map(({ name, type }) => [name, typeOf(namespace, type)])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  };
}

/** Returns a union as its tag in a text, or as an object with the tag and its members. */
function unionOf(namespace: string, head: string, lines: string[]): Members {
  const fields = fieldsOf(lines);
  return {
    ...(head.includes(' extends ') ? {} : { enum: fields.map(({ name }) => name) }),
    anyOf: [
      { properties: { '.tag': { enum: fields.map(({ name }) => name) } } },
      ...fields.map(({ name, type }) => ({
        properties: { [name]: type ? typeOf(namespace, type) : {} },
        ...(type ? { allOf: [typeOf(namespace, type)] } : {}),
      })),
      ...parentOf(namespace, head),
    ],
  };
}

function parentOf(namespace: string, head: string): Members[] {
  const parent = /extends ([\w.]+)/.exec(head)?.[1];
  return parent ? [typeOf(namespace, parent)] : [];
}

const PLAIN = /^(Void|String|Boolean|Bytes|Timestamp|U?Int\d+|Float\d+|Map)\b/;

function typeOf(namespace: string, type: string): Members {
  const list = /^List\(([\w.]+(?:\(.*?\))?\??)/.exec(type)?.[1];
  if (list) return { items: typeOf(namespace, list) };
  if (PLAIN.test(type)) {
    const max = /max_value=(\d+)/.exec(type)?.[1];
    return max ? { maximum: Number(max) } : {};
  }
  const name = /^[\w.]+/.exec(type)?.[0] ?? '';
  return { $ref: `#/components/schemas/${name.includes('.') ? name : `${namespace}.${name}`}` };
}
