import { readFileSync } from 'node:fs';

/** Returns the tools of a tools/list answer stored in a file; none without a file. */
export function toolsIn(file: string | undefined) {
  if (!file) return [];
  const answer: { result: { tools: { name: string; inputSchema: { type: 'object' } }[] } } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  return answer.result.tools;
}

function benchActions(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    name: `list_things_${n}`,
    description: `List things of kind ${n}, newest first, with their names, addresses and tags.`,
    properties: {
      query: { type: 'string', description: 'Only things whose name contains this text.' },
      status: { type: 'string', enum: ['open', 'closed', 'any'], description: 'Only things in this state.' },
      createdAfter: {
        type: 'string',
        format: 'date-time',
        description: 'Only things created after this time.',
      },
    },
  }));
}

/** Returns a connector file with `get_item`, `list_page` and `count` actions that are only listed. */
export function benchConnector(id: string, count: number, upstream: string): string {
  const listed = benchActions(count).map(
    ({ name, description, properties }) =>
      `  ${name}:\n    description: ${JSON.stringify(description)}\n    request: GET /things\n    query: ${JSON.stringify(properties)}\n`,
  );
  return `id: ${id}
name: Bench ${id}
description: Actions over the upstream of the bench.
categories: [bench]
website: https://example.com
sources: [{title: Written for the bench, read: 2026-11-21}]
baseUrl: ${upstream}
authentication:
  - {type: bearer}
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset, total: 'body:total'}
actions:
  get_item:
    description: Read one thing.
    request: GET /items/{itemId}
    path: {itemId: {type: string}}
  list_page:
    description: List things.
    request: GET /things
    paging: pages
    response: {data: data}
${listed.join('')}`;
}
