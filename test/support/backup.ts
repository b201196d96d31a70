import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { cliEnv, startCli, tempHome, type Started } from './cli.ts';
import { rpc } from './mcp.ts';
import { freshDatabase, type StoreKind } from './stores.ts';
import { until } from './until.ts';

/** A home and an empty database, for `gatehouse` as a separate process. */
export interface Place extends AsyncDisposable {
  readonly home: string;
  readonly env: Record<string, string>;
}

export async function newPlace(kind: StoreKind): Promise<Place> {
  const home = tempHome({ bare: true });
  const fresh = kind === 'postgres' ? await freshDatabase('postgres', { empty: true }) : undefined;
  const url: Record<string, string> =
    fresh?.database.kind === 'postgres' ? { DATABASE_URL: fresh.database.url } : {};
  return {
    home: home.path,
    env: cliEnv(home.path, { ...url, GATEHOUSE_RATE_LIMIT_MCP: '0' }),
    async [Symbol.asyncDispose]() {
      await fresh?.remove();
      home[Symbol.dispose]();
    },
  };
}

/** Contents of a store that must work after a restore. */
export interface Contents {
  key: string;
  userId: string;
  /** Path and token of an MCP server. */
  serverPath: string;
  fileId: string;
  fileHash: string;
  workflowId: string;
  runId: string;
}

const KEYS = { development: newApiKey('development'), production: newApiKey('production') };

/** Starts Gatehouse at a place, with the same API keys each time. */
export function serveAt({ env }: Place): Promise<Started> {
  return startCli({
    ...env,
    GATEHOUSE_DEVELOPMENT_KEY: KEYS.development,
    GATEHOUSE_PRODUCTION_KEY: KEYS.production,
  });
}

/** Creates a user with a credential, a server, a file of several chunks, and a run that waits. */
export async function fill({ url }: Started): Promise<Contents> {
  const key = KEYS.development;
  const userId = textOf('userId', await call(url, 'POST', '/users', { username: `ada ${random()}` }));
  await call(
    url,
    'POST',
    `/users/${userId}/credentials`,
    {
      connectorId: 'sandbox',
      data: { apiKey: `sandbox_${random()}` },
    },
    userId,
  );
  const made = await call(
    url,
    'POST',
    '/api/servers',
    { name: `Shop ${random()}`, toolMode: 'direct' },
    userId,
  );
  const accessUrl = textOf('accessUrl', made);
  const content = randomBytes(700_000);
  const stored = await fetch(`${url}/files?name=plan.bin`, {
    method: 'POST',
    headers: { ...headersOf(userId), 'content-type': 'application/octet-stream' },
    body: content,
  });
  const fileId = textOf('fileId', await stored.json());
  const definition = {
    trigger: { type: 'manual' },
    steps: [
      { stepId: 'pause', wait: 'PT6S' },
      { stepId: 'look', connectorId: 'sandbox', actionId: 'list_orders', input: {} },
    ],
  };
  const workflowId = textOf(
    'workflowId',
    await call(url, 'POST', '/workflows', { name: `w ${random()}`, definition }),
  );
  await call(url, 'POST', `/workflows/${workflowId}/install?userId=${userId}`, { config: {} });
  const run = await call(url, 'POST', `/workflows/${workflowId}/run?userId=${userId}`, {});
  return {
    key,
    userId,
    serverPath: new URL(accessUrl).pathname,
    fileId,
    fileHash: hashOf(content),
    workflowId,
    runId: textOf('runId', run),
  };
}

/** Returns the faults of a restored Gatehouse; none when all of `contents` works there. */
export async function faultsOf({ url }: Started, contents: Contents): Promise<string[]> {
  const faults: string[] = [];
  const { userId, serverPath, fileId, fileHash, workflowId, runId } = contents;
  const answer = await rpc(`${url}${serverPath}`, 'tools/call', {
    name: 'sandbox_list_customers',
    arguments: { limit: 2 },
  });
  if (answer.status !== 200 || answer.at('result.isError') === true || answer.at('error'))
    faults.push(`tool call: ${answer.status} ${JSON.stringify(answer.body)}`);
  const file = await fetch(`${url}/files/${fileId}`, { headers: headersOf(userId) });
  const bytes = Buffer.from(await file.arrayBuffer());
  if (hashOf(bytes) !== fileHash) faults.push(`file: ${file.status} ${bytes.length} bytes`);
  let state: unknown;
  await until(async () => {
    const run = await call(url, 'GET', `/workflows/${workflowId}/runs/${runId}`);
    state = z.object({ status: z.string() }).parse(run).status;
    return ['succeeded', 'failed', 'cancelled'].includes(String(state));
  });
  if (state !== 'succeeded') faults.push(`run: ${state}`);
  return faults;
}

/** Requests that create users until stop(), which returns the names that were acknowledged. */
export function load({ url }: Started): { acknowledged: string[]; stop(): Promise<void> } {
  const acknowledged: string[] = [];
  const ended = new AbortController();
  const client = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const username = random();
      try {
        await call(url, 'POST', '/users', { username });
        acknowledged.push(username);
      } catch {
        // The service was killed.
        return;
      }
    }
  };
  const clients = Array.from({ length: 4 }, client);
  return {
    acknowledged,
    async stop() {
      ended.abort();
      await Promise.all(clients);
    },
  };
}

/** Returns the names of all users. */
export async function usersOf({ url }: Started): Promise<Set<string>> {
  const names = new Set<string>();
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = usersPage.parse(await call(url, 'GET', `/users?limit=50${query}`));
    for (const { username } of page.data) names.add(username);
    cursor = page.pagination.nextCursor;
  }
  return names;
}

const usersPage = z.object({
  data: z.array(z.object({ username: z.string() })),
  pagination: z.object({ nextCursor: z.string().optional() }),
});

function headersOf(userId?: string): Record<string, string> {
  return {
    authorization: `Bearer ${KEYS.development}`,
    'x-api-version': '2025-09',
    ...(userId ? { 'x-svc-userid': userId } : {}),
  };
}

async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  userId?: string,
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { ...headersOf(userId), ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

function textOf(name: string, answer: unknown): string {
  const found = z.record(z.string(), z.unknown()).parse(answer)[name];
  if (typeof found !== 'string') throw new Error(`no ${name} in ${JSON.stringify(answer)}`);
  return found;
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function random(): string {
  return randomBytes(9).toString('hex');
}
