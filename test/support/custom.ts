import { createServer } from 'node:http';

/** Returns the YAML text of a connector `notes`, whose app is at `baseUrl`. `more`: further actions, indented. */
export function notesFile(
  baseUrl: string,
  { id = 'notes', description = 'Lists the notes.', more = '' } = {},
): string {
  return `id: ${id}
name: Notes
description: An app of the tests.
categories: [data]
website: https://notes.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: ${baseUrl}
authentication: [{type: api_key, in: header, name: X-Key}]
actions:
  list_notes:
    description: ${description}
    request: GET /notes
${more}`;
}

/** An app that answers every request with its path, and records the keys that it receives. */
export interface NotesApp extends AsyncDisposable {
  readonly origin: string;
  readonly keys: (string | undefined)[];
}

export async function startNotes(): Promise<NotesApp> {
  const keys: (string | undefined)[] = [];
  const server = createServer((req, res) => {
    keys.push(req.headers['x-key']?.toString());
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ path: req.url }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    keys,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
