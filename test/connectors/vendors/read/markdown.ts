import type { Members } from '../../../../src/openapi/compare/document-members.ts';

/** A row of a table: the name of a member and its description. */
interface Row {
  name: string;
  text: string;
}

/**
 * Returns pages of reference in Markdown as an OpenAPI document with the parts that facts.ts reads. The pages have tables
 * of properties, labels `read-only`, `write-only` and `mandatory`, and sections with `<h6>/path/&lt;id&gt;</h6>`, as those
 * of woocommerce/woocommerce-rest-api-docs do.
 */
export function fromMarkdown(pages: string[]): Members {
  const paths: { [path: string]: Members } = {};
  const schemas: Members = {};
  for (const page of pages) {
    const sections = page
      .split(/\n(?=#{1,6} )/)
      .map((text) => ({ heading: headingOf(text), rows: rowsIn(text), text }));
    for (const { heading, rows } of sections) {
      if (!heading.endsWith('properties')) continue;
      for (const kind of ['sent', 'created', 'answered'])
        schemas[`${slugOf(heading)} ${kind}`] = schemaOf(rows, kind);
    }
    const first = sections.find(({ heading }) => heading.endsWith('properties'))?.heading ?? '';
    // A section of the second level describes one call.
    for (const call of page.split(/\n(?=## )/)) addCall(paths, call, slugOf(first));
  }
  return { info: { version: 'v3' }, paths, components: { schemas } };
}

function addCall(paths: { [path: string]: Members }, call: string, record: string): void {
  const method = /label-(get|post|put|delete)"/.exec(call)?.[1];
  const address = /<h6>([^<]+)<\/h6>/.exec(call)?.[1];
  if (!method || !address) return;
  const path = address.replaceAll(/&lt;\w+&gt;/g, '{}');
  const parts = call.split(/\n(?=#{3,6} )/);
  const parameters = parts.find((one) => headingOf(one) === 'Available parameters') ?? '';
  const own = parts.map(headingOf).find((one) => one.endsWith('properties'));
  const answered = `${own ? slugOf(own) : record} answered`;
  const sent = `${record} ${method === 'post' ? 'created' : 'sent'}`;
  paths[path] = {
    ...paths[path],
    [method]: {
      parameters: rowsIn(parameters).map(({ name, text }) => ({
        name,
        in: 'query',
        description: text,
        schema: valueOf(text),
      })),
      ...(['post', 'put'].includes(method) ? { requestBody: bodyOf(sent) } : {}),
      responses: { 200: bodyOf(answered) },
    },
  };
}

const bodyOf = (name: string): Members => ({
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
});

const headingOf = (text: string): string => /^#+ (.*?)(?: #+)?$/m.exec(text)?.[1]?.trim() ?? '';
const slugOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

function rowsIn(text: string): Row[] {
  return [...text.matchAll(/^\| *`(\w+)` *\|[^|]*\|(.*)\| *$/gm)].map(([, name = '', said = '']) => ({
    name,
    text: said,
  }));
}

function schemaOf(rows: Row[], kind: string): Members {
  const shown = rows.filter(
    ({ text }) => !text.includes(kind === 'answered' ? '>write-only<' : '>read-only<'),
  );
  const properties = shown.map(({ name, text }) => {
    const link = /\(#([\w-]+)\)/.exec(text)?.[1];
    return [name, link ? { $ref: `#/components/schemas/${link} ${kind}` } : valueOf(text)];
  });
  const required = kind === 'created' ? shown.filter(({ text }) => text.includes('>mandatory<')) : [];
  return { properties: Object.fromEntries(properties), required: required.map(({ name }) => name) };
}

/** Returns the values of "Options: `a`, `b` and `c`." */
function valueOf(text: string): Members {
  const options = /Options: ((?:`[\w.-]+`(?:, | and | or )?)+)/.exec(text)?.[1];
  return options ? { enum: [...options.matchAll(/`([^`]+)`/g)].map(([, one]) => one) } : {};
}
