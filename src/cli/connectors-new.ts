import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { parseConnector } from '../connectors/parse.ts';
import { faultLine, SANDBOX_ID } from '../connectors/catalog.ts';
import { customFaults } from '../connectors/custom-semantics.ts';
import { CATALOG_FOLDER } from '../package.ts';
import { thrownMessage } from '../lib/errors.ts';
import { CommandError } from './faults.ts';

/**
 * Runs `gatehouse connectors new`: writes `<into>/<id>/connector.yaml` with one action, to be completed by a person.
 * @throws CommandError for an id that is taken or not allowed, and a file that exists.
 */
export async function newConnector(id: string, { into }: { into: string | undefined }): Promise<number> {
  const folder = into ?? readConfig().connectorsFolder;
  if (id === SANDBOX_ID || existsSync(join(CATALOG_FOLDER, id)))
    throw new CommandError(`There is a shipped connector "${id}". Choose another id.`);
  const text = template(id, new Date().toISOString().slice(0, 10));
  const file = join(folder, id, 'connector.yaml');
  const { definition, faults } = parseConnector(text, file, id);
  const found = definition ? customFaults(definition).map((fault) => ({ file, ...fault })) : faults;
  if (found.length > 0) throw new CommandError(found.map(faultLine).join('\n'));
  try {
    await mkdir(join(folder, id), { recursive: true });
    // The flag keeps a file that another process or person just wrote.
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new CommandError(
      exists ? `${file} exists already.` : `Cannot write ${file}: ${thrownMessage(error)}`,
    );
  }
  process.stdout.write(`${file}\n`);
  process.stderr.write(`Edit it, then run: gatehouse connectors check ${file}\n`);
  return 0;
}

function template(id: string, today: string): string {
  const name = id.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase());
  return `# The format is described in docs/connectors.md.
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
    description: Reads an item.
    request: GET /items/{itemId}
    path:
      itemId: { type: string, description: Id of the item. }
`;
}
