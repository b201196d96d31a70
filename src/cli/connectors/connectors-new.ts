import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseConnector } from '../../connectors/parse.ts';
import { faultLine } from '../../connectors/catalog.ts';
import { customFaults } from '../../connectors/semantics/custom-semantics.ts';
import { thrownMessage } from '../../lib/errors.ts';
import { packagePath } from '../../package.ts';
import { folderOf, printNextSteps, requireOwnId } from './connector-folder.ts';
import { importConnector, type Include } from './connectors-import.ts';
import { CommandError } from '../faults.ts';

/** The schema that editors check the file with. */
const SCHEMA = packagePath('data/connector.schema.json');

/** Options of `gatehouse connectors new`. */
export interface NewConnector {
  into: string | undefined;
  /** An OpenAPI document; without one, the files are a template to be completed. */
  openapi: string | undefined;
  /** The operations of the document. */
  include: Include;
}

/**
 * Runs `gatehouse connectors new`: writes `<into>/<id>/connector.yaml`, of an OpenAPI document or as a template with two
 * actions and their examples.
 * @throws CommandError for an id that is taken or not allowed, and a file that exists.
 */
export async function newConnector(id: string, { into, openapi, include }: NewConnector): Promise<number> {
  const folder = folderOf(into);
  const file = join(folder, id, 'connector.yaml');
  requireOwnId(id);
  if (openapi === undefined) return await writeTemplate(id, file);
  if (existsSync(file))
    throw new CommandError(
      `${file} exists already. To update it: gatehouse connectors import ${openapi} --id ${id} --into ${folder}`,
    );
  return await importConnector({ document: openapi, into: folder, id, include });
}

async function writeTemplate(id: string, file: string): Promise<number> {
  const text = template(id, new Date().toISOString().slice(0, 10));
  const { definition, faults } = parseConnector(text, file, id);
  const found = definition ? customFaults(definition).map((fault) => ({ file, ...fault })) : faults;
  if (found.length > 0) throw new CommandError(found.map(faultLine).join('\n'));
  await writeNew(join(dirname(file), 'examples.yaml'), EXAMPLES);
  await writeNew(file, text);
  process.stdout.write(`${file}\n`);
  printNextSteps(file, "Edit the file and the examples.yaml next to it, after the app's documentation.");
  return 0;
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    // The flag keeps a file that another process or person just wrote.
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new CommandError(
      exists ? `${file} exists already.` : `Cannot write ${file}: ${thrownMessage(error)}`,
    );
  }
}

function template(id: string, today: string): string {
  const name = id.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase());
  return `# yaml-language-server: $schema=${SCHEMA}
# docs/connectors.md is the guide, and docs/connector-fields.md lists every field.
id: ${id}
name: ${JSON.stringify(name)}
description: What the app is, in one sentence for people and models.
categories: [data]
website: https://example.com
sources:
  - title: API reference
    url: https://example.com/docs
    read: ${today}
baseUrl: https://api.example.com/v1
authentication:
  - type: api_key
    in: header
    name: X-Api-Key
probe: list_items
paging:
  pages: { style: offset, limitParam: limit, offsetParam: offset, maxLimit: 100 }
actions:
  list_items:
    description: Lists the items, newest first.
    request: GET /items
    query:
      status: { type: string, enum: [open, closed], description: Only items of this state. }
    paging: pages
    response: { data: items }
  get_item:
    description: Gets one item with its details.
    request: GET /items/{itemId}
    path:
      itemId: { type: string, description: Id of the item. list_items gives it. }
`;
}

const EXAMPLES = `# Recorded calls of the app's documentation, without real data. The check replays them.
examples:
  - action: list_items
    credential: { apiKey: key-1 }
    input: { status: open }
    request:
      method: GET
      url: https://api.example.com/v1/items?status=open&offset=0&limit=50
      headers: { x-api-key: key-1 }
    response:
      status: 200
      body: { items: [{ id: i1, name: First }] }
    output:
      data: [{ id: i1, name: First }]
      pagination: { hasMore: false }
  - action: get_item
    credential: { apiKey: key-1 }
    input: { itemId: i2 }
    request: { method: GET, url: https://api.example.com/v1/items/i2 }
    response:
      status: 404
      body: { error: Not found }
    error: { code: upstream_rejected }
`;
