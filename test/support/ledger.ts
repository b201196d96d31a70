import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A third party that supports idempotency keys, and records every call. */
export interface Ledger extends AsyncDisposable {
  readonly origin: string;
  /** Number of calls by Idempotency-Key. */
  readonly calls: Map<string, number>;
  /** Number of calls so far. */
  count: number;
  /** Runs before a call is answered. */
  onCall: (key: string, body: string) => Promise<void>;
  /** Replaces the usual answer. */
  answer: (key: string) => { status: number; headers?: Record<string, string> } | undefined;
  /** Runs right after an answer. */
  onAnswered: (key: string) => void;
  /**
   * A catalogue with the app of this third party, `ledger`: actions post_entry (keys), post_plain (none), get_entry.
   */
  readonly catalogFolder: string;
}

export async function startLedger(): Promise<Ledger> {
  const server = createServer((req, res) => void handle(req, res));
  // A busy machine must not close connections that a client is about to use.
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const header = req.headers['idempotency-key'];
    const key = typeof header === 'string' ? header : `none ${ledger.count}`;
    ledger.count += 1;
    ledger.calls.set(key, (ledger.calls.get(key) ?? 0) + 1);
    await ledger.onCall(key, body);
    const { status = 200, headers = {} } = ledger.answer(key) ?? {};
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify({ key, at: ledger.count }), () => ledger.onAnswered(key));
  }

  const ledger: Ledger = {
    origin,
    calls: new Map(),
    count: 0,
    onCall: async () => {},
    answer: () => undefined,
    onAnswered: () => {},
    catalogFolder: catalogOf(origin),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return ledger;
}

function catalogOf(origin: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-ledger-'));
  mkdirSync(join(folder, 'ledger'));
  const body = 'body: {n: {type: integer}, step: {type: integer}, text: {type: string}}';
  writeFileSync(
    join(folder, 'ledger', 'connector.yaml'),
    `id: ledger
name: Ledger
description: An app of the tests.
categories: [data]
website: https://ledger.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: ${origin}
idempotencyHeader: Idempotency-Key
authentication:
  - {type: none}
actions:
  post_entry:
    description: Writes an entry.
    request: POST /entries
    ${body}
  post_plain:
    description: Writes an entry of an app that knows no keys.
    request: POST /plain
    idempotent: false
    ${body}
  get_entry:
    description: Reads an entry.
    request: GET /entry
`,
  );
  return folder;
}
