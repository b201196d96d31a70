import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkFile } from '../../src/author/check-file.ts';
import { storeFile } from './files.ts';
import { startService, type Answer, type Service, type ServiceOptions } from './service.ts';

/** A request as it arrived at the app. */
export interface Arrived {
  method: string;
  path: string;
  query: URLSearchParams;
  /** The address after the origin, unchanged. */
  target: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** The same as bytes. */
  raw: Buffer;
}

/** The app's answer: a text or buffer is sent unchanged, any other body as JSON. */
export interface AppAnswer {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: unknown;
}

/** A Gatehouse whose only connector is a file, and the app behind it on a real socket. */
export interface FileApp extends AsyncDisposable {
  readonly service: Service;
  readonly origin: string;
  /** The folder of its connector file. */
  readonly catalogFolder: string;
  /** The user of this app. */
  readonly userId: string;
  /** All requests to the app, oldest first. */
  readonly seen: Arrived[];
  answer: (request: Arrived) => AppAnswer | Promise<AppAnswer>;
  /** Calls REST as the user of this app. */
  call(method: string, path: string, body?: object): Promise<Answer>;
  /** Connects an account with these values, which may name `{origin}`. */
  connect(data: object, type?: string): Promise<Answer>;
  execute(actionId: string, input?: object): Promise<Answer>;
  /** Stores a file of the user, and returns its id. */
  upload(content: Buffer | string, file?: { name?: string; type?: string }): Promise<string>;
  /** Returns the state of the only credential. */
  state(): Promise<unknown>;
}

const HEAD = `id: app
name: App
description: An app of the tests.
categories: [data]
website: https://app.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
`;

/** Starts both. `rest` is the connector file from `baseUrl` on; `{origin}` in it is a variable of the address. */
export async function startFileApp(
  rest: string,
  { files = {}, ...options }: Omit<ServiceOptions, 'catalogFolder'> & { files?: Record<string, string> } = {},
): Promise<FileApp> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-file-app-'));
  for (const [path, text] of Object.entries({ 'app/connector.yaml': wholeFile(rest), ...files })) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const seen: Arrived[] = [];
  const server = createServer(async (req, res) => {
    const url = new URL(req.url ?? '/', 'http://app.test');
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(Buffer.from(chunk));
    const arrived = {
      method: req.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      target: req.url ?? '',
      headers: req.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      raw: Buffer.concat(chunks),
    };
    seen.push(arrived);
    const { status = 200, headers = {}, body = {} } = await app.answer(arrived);
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    res.writeHead(status, { 'content-type': type, ...headers }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const origin = `http://127.0.0.1:${address.port}`;
  const service = await startService({ ...options, catalogFolder: folder });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const call: FileApp['call'] = (method, path, body) =>
    service.call(method, path, {
      headers: { 'x-svc-userid': userId },
      ...(body === undefined ? {} : { body }),
    });
  const app: FileApp = {
    service,
    origin,
    catalogFolder: folder,
    userId,
    seen,
    answer: () => ({}),
    call,
    connect: (data, type) =>
      call('POST', `/users/${userId}/credentials`, {
        connectorId: 'app',
        data: { ...(rest.includes('{origin}') ? { origin } : {}), ...data },
        ...(type === undefined ? {} : { type }),
      }),
    execute: (actionId, input = {}) => call('POST', `/connectors/app/actions/${actionId}/execute`, { input }),
    upload: (content, file = {}) => storeFile(service, { userId, content, ...file }),
    state: async () => (await call('GET', `/users/${userId}/credentials`)).at('data.0.state'),
    async [Symbol.asyncDispose]() {
      await service.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return app;
}

/** Returns the faults that `connectors check` finds in a file, as `line path: rule`. */
export async function faultsOfFile(rest: string, files: Record<string, string> = {}): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-file-app-'));
  try {
    for (const [path, text] of Object.entries({ 'app/connector.yaml': wholeFile(rest), ...files })) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const { faults } = await checkFile(join(folder, 'app', 'connector.yaml'));
    return faults.map(({ line, path, rule }) => `${line} ${path}: ${rule}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the line of a text in a file of faultsOfFile(). */
export function lineOf(rest: string, part: string): number {
  const text = wholeFile(rest);
  return text.slice(0, text.indexOf(part)).split('\n').length;
}

function wholeFile(rest: string): string {
  const variables = rest.includes('{origin}')
    ? 'variables: {origin: {title: Address, format: origin, example: https://app.example.com}}\n'
    : '';
  return `${HEAD}${variables}${rest}`;
}
