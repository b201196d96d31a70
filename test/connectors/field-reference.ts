import { isSchema, type Schema } from './editor-schema.ts';

/* docs/connector-fields.md: each field of the two files with its type, default and meaning, printed from the format. */

const INTRODUCTION = `# The fields of a connector

This list is printed from the format itself (\`npm run schema\`). [connectors.md](connectors.md) shows how the fields are used, and
[connectors-special.md](connectors-special.md) the ones for unusual apps. \`<name>\` stands for a name of your own, and \`[]\` for
each entry of a list. A *path* is \`a.b\`. A *place* also names where: \`body:next_cursor\`, \`header:X-Next\`, \`last:id\`. Each mapping of a connector file may also have \`extends\`, the name of a fragment.
`;

interface Section {
  path: string;
  description: string;
  schema: Schema;
}

/** Returns the Markdown of the reference. */
export function fieldReference({ connector, examples }: { connector: Schema; examples: Schema }): string {
  const printer = new Printer();
  return [
    INTRODUCTION,
    '## connector.yaml\n',
    printer.print({ path: '', description: '', schema: connector }),
    '## examples.yaml\n',
    printer.print({ path: '', description: '', schema: examples }),
  ].join('\n');
}

/** Prints a shape once; other fields of the same shape name the place of the first. */
class Printer {
  private readonly printed = new Map<string, string>();

  print(section: Section): string {
    const inner: Section[] = [];
    const { properties, required } = section.schema;
    const needed = Array.isArray(required) ? required : [];
    const rows = Object.entries(isSchema(properties) ? properties : {}).map(([name, member]) => {
      const schema = isSchema(member) ? member : {};
      const path = section.path === '' ? name : `${section.path}.${name}`;
      const found = this.shapes(path, schema);
      inner.push(...found.own);
      const shown = [typeOf(schema, 0), ...found.same.map((place) => `as \`${place}\``)].join(', ');
      const rule = needed.includes(name) ? 'required' : defaultOf(schema['default']);
      return `| \`${name}\` | ${cell(shown)} | ${cell(rule)} | ${cell(textOf(schema))} |`;
    });
    const head = section.path === '' ? [] : [`### \`${section.path}\`\n`];
    const about = section.description === '' ? [] : [`${section.description}\n`];
    const table = ['| Field | Type | Default | Meaning |', '| --- | --- | --- | --- |', ...rows, ''].join(
      '\n',
    );
    return [...head, ...about, table, ...inner.map((one) => this.print(one))].join('\n');
  }

  /** Returns the shapes inside a field that have a section of their own, and the places of those printed before. */
  private shapes(path: string, schema: Schema): { own: Section[]; same: string[] } {
    const all = objectsIn(path, schema);
    const same: string[] = [];
    const own = all.filter((one) => {
      const text = JSON.stringify([one.schema['properties'], one.schema['required']]);
      const place = this.printed.get(text);
      if (place !== undefined) same.push(place);
      else this.printed.set(text, one.path);
      return place === undefined;
    });
    return { own, same: [...new Set(same)] };
  }
}

/** Returns the objects with members below a field: of its variants, its entries and its values. */
function objectsIn(path: string, schema: Schema): Section[] {
  const { properties, items, additionalProperties } = schema;
  if (isSchema(properties)) return [{ path, description: textOf(schema), schema }];
  const variants = variantsOf(schema);
  return [
    ...variants.flatMap((one) => objectsIn(path + variantName(one, variants), one)),
    ...(isSchema(items) ? objectsIn(`${path}[]`, items) : []),
    ...(isSchema(additionalProperties) ? objectsIn(`${path}.<name>`, additionalProperties) : []),
  ];
}

function variantsOf({ anyOf, oneOf }: Schema): Schema[] {
  return [anyOf, oneOf].flatMap((all) => (Array.isArray(all) ? all.filter(isSchema) : []));
}

/** Returns the name of a variant by its constant member, else by its first one: ` (oauth2)`. */
function variantName({ properties }: Schema, variants: readonly Schema[]): string {
  if (!isSchema(properties) || variants.length < 2) return '';
  const [first = ''] = Object.keys(properties);
  const constant = Object.values(properties).find((one) => isSchema(one) && one['const'] !== undefined);
  const name = isSchema(constant) ? constant['const'] : first;
  return ` (${String(name)})`;
}

const DEPTH = 3;

function typeOf(schema: Schema, depth: number): string {
  const { type, items, additionalProperties, properties } = schema;
  const constant = schema['const'];
  const values = schema['enum'];
  if (constant !== undefined) return `\`${String(constant)}\``;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (depth > DEPTH) return 'any value';
  const variants = [...new Set(variantsOf(schema).map((one) => typeOf(one, depth + 1)))];
  if (variants.length > 0) return variants.join(' or ');
  if (type === 'array') return `list of ${isSchema(items) ? typeOf(items, depth + 1) : 'values'}`;
  if (isSchema(properties)) return 'mapping';
  if (type === 'object')
    return isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0
      ? `names with ${typeOf(additionalProperties, depth + 1)}`
      : 'mapping';
  const words: Record<string, string> = { string: 'text', integer: 'whole number', boolean: 'true or false' };
  return typeof type === 'string' ? (words[type] ?? type) : 'any value';
}

function defaultOf(value: unknown): string {
  const isEmpty = isSchema(value) && Object.keys(value).length === 0;
  return value === undefined || isEmpty ? '' : `\`${JSON.stringify(value)}\``;
}

function textOf({ description }: Schema): string {
  return typeof description === 'string' ? description : '';
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
