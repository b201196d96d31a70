import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { z } from 'zod';
import { openStore } from '../../../src/store/open-database.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { runCli, startCli, tempHome } from '../../support/cli.ts';
import { lendDatabase, lendKept } from '../../support/kept.ts';
import { startReceiver } from '../../support/receiver.ts';
import { freshDatabase } from '../../support/stores.ts';
import { until } from '../../support/until.ts';
import { startVault } from '../../support/vault.ts';
import { ROOT } from './blocks.ts';

/** The places that examples of commands use: a service with a store, a folder with files, and the other machines that they name. */
export interface Places extends AsyncDisposable {
  /** The folder in which the examples run. */
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Returns a key of the development environment, for examples that only name the address. */
  key(): string;
  /** Variables with which commands reach Vault. */
  readonly vault: Record<string, string>;
  /** File with the authorities that the syslog server needs. */
  readonly authorities: string;
  /** Records what a command printed, for the ids and keys that later examples take. */
  printed(text: string): void;
  /** Returns an example with places of the test, and ids that exist. */
  filledIn(example: string): Promise<string>;
  /** Returns variables with an empty home. */
  newHome(): Record<string, string>;
  /** Variables with the home of the services that examples start. */
  readonly serving: Record<string, string>;
}

const API = 'https://api.example.com/v1';
const PASSPHRASE = 'a passphrase of several words';

/** Starts the service and the machines, and fills the store. */
export async function openPlaces(): Promise<Places> {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(tempHome({ bare: true })).path;
  const folder = opened.use(tempHome({ bare: true })).path;
  const certificate = opened.use(makeCertificate());
  const receiver = opened.use(await startReceiver());
  const vault = opened.use(await startVault());
  const app = opened.use(
    await listening(createServer((_, res) => res.end('{"items":[{"id":"i1","name":"First"}]}'))),
  );
  const syslog = opened.use(await listening(createTlsServer(certificate, (socket) => socket.resume())));
  const identity = await generateX25519Identity();
  const env = variablesOf(home, { hasSchema: true });

  await runCli(['connectors', 'new', 'my-app'], env);
  const own = join(home, '.gatehouse/connectors/my-app');
  for (const name of ['connector.yaml', 'examples.yaml']) {
    const text = readFileSync(join(own, name), 'utf8');
    writeFileSync(join(own, name), text.replaceAll(API, `http://127.0.0.1:${app.port}`));
  }
  cpSync(own, join(folder, 'my-app'), { recursive: true });
  writeFiles(folder, {
    'key.txt': `${identity}\n`,
    'openapi.yaml': documentOf({ title: 'My app', name: 'items', url: `http://127.0.0.1:${app.port}` }),
  });

  const service = opened.use(await startCli(env));
  const keysFile = join(home, '.gatehouse/first-keys');
  const keys = () => {
    try {
      return readFileSync(keysFile, 'utf8');
    } catch {
      return '';
    }
  };
  await until(() => keys().includes('/mcp/srv_'));
  let printed = keys();
  const last = (pattern: RegExp) => printed.match(new RegExp(pattern, 'g'))?.at(-1) ?? '';
  const ids = {
    development: await fill(service.url, last(/gh_dev_\w+/)),
    production: await fill(service.url, last(/gh_prod_\w+/)),
  };
  const machines: [from: string | RegExp, to: string][] = [
    ['http://localhost:8080/webhooks', receiver.url],
    ['https://logs.example.com/ingest', receiver.url],
    ['syslogs://logs.example.com:6514', `syslogs://127.0.0.1:${syslog.port}`],
    [/age1\w+/, await identityToRecipient(identity)],
    ['/etc/gatehouse/', join(folder, 'etc/gatehouse/')],
    ['/run/secrets/', join(folder, 'run/secrets/')],
    ['~/', `${home}/`],
    [' data/', ` ${join(ROOT, 'data')}/`],
    ['PORT=8080', 'PORT=0'],
    // The address of the service where an example does not start one.
    [/https:\/\/gatehouse\.example\.com(?! gatehouse)/, service.url],
  ];
  const closing = opened.move();
  return {
    folder,
    env,
    key: () => last(/gh_dev_\w+/),
    vault: vault.env,
    authorities: certificate.file,
    printed: (text) => void (printed += `\n${text}`),
    serving: variablesOf(mkdtempSync(join(folder, 'home-')), { hasSchema: true }),
    newHome: () => variablesOf(mkdtempSync(join(folder, 'home-'))),
    async filledIn(example) {
      let text = example;
      for (const [from, to] of machines)
        text = text.replaceAll(from instanceof RegExp ? new RegExp(from, 'g') : from, to);
      if (text.includes('/var/lib/gatehouse'))
        text = text.replaceAll('/var/lib/gatehouse', mkdtempSync(join(folder, 'var-')));
      if (text.includes('postgres://gatehouse@db/gatehouse')) {
        const { database, remove } = await freshDatabase('postgres', { empty: true });
        closing.defer(remove);
        if (database.kind === 'postgres')
          text = text.replaceAll('postgres://gatehouse@db/gatehouse', database.url);
      }
      if (text.includes('3nQ…')) text = text.replaceAll('3nQ…', await checkpointIn(home));
      const known: Record<string, string> = /production|gh_prod_/.test(text)
        ? ids.production
        : ids.development;
      return text
        .replaceAll('key_4mTq8Zc1VbN6xKp2RwLd7F', last(/\bkey_\w{16,}/))
        .replaceAll('gh_mcp_…', known['mcp'] ?? '')
        .replaceAll(/\bgh_(dev|prod)_…/g, (_, kind: string) => last(new RegExp(`gh_${kind}_\\w+`)))
        .replaceAll(/\b([a-z]+)_\w*…/g, (whole, kind: string) => {
          const isOwn = kind === 'cred' && text.includes('my-app');
          return known[isOwn ? 'ownCred' : kind] ?? whole;
        });
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function variablesOf(home: string, { hasSchema = false } = {}): Record<string, string> {
  const below = join(home, '.gatehouse');
  mkdirSync(below, { recursive: true, mode: 0o700 });
  lendKept(below);
  // A start makes the statements of the schema otherwise.
  if (hasSchema) lendDatabase(below);
  return { PATH: process.env['PATH'] ?? '', HOME: home, PORT: '0', GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1' };
}

function writeFiles(folder: string, more: Record<string, string>): void {
  const files = {
    'etc/gatehouse/passphrase': PASSPHRASE,
    'run/secrets/README': 'Secrets of the examples.',
    passphrase: PASSPHRASE,
    'key.json': JSON.stringify({ apiKey: 'key-1' }),
    'order.json': JSON.stringify({ customerId: 'cus_1001', lines: [{ productId: 'prd_101', quantity: 1 }] }),
    'petstore.yaml': documentOf({ title: 'Petstore', name: 'pets' }),
    'api.json': documentOf({ title: 'CRM', name: 'contacts' }),
    ...more,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** An OpenAPI document with a list and a record of one tag. */
function documentOf({ title, name, url = API }: { title: string; name: string; url?: string }): string {
  const item = { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' } } };
  const answer = (schema: object) => ({
    200: { description: 'OK', content: { 'application/json': { schema } } },
  });
  const query = (parameter: string, schema: object) => ({ name: parameter, in: 'query', schema });
  const itemId = { name: 'itemId', in: 'path', required: true, schema: { type: 'string' } };
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title, version: '1', description: `An app with ${name}.` },
    servers: [{ url }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    paths: {
      [`/${name}`]: {
        get: {
          tags: [name],
          operationId: `list_${name}`,
          summary: `Lists the ${name}.`,
          parameters: [
            query('status', { type: 'string', enum: ['open', 'closed'] }),
            query('limit', { type: 'integer', maximum: 100 }),
            query('offset', { type: 'integer' }),
          ],
          responses: answer({ type: 'object', properties: { items: { type: 'array', items: item } } }),
        },
      },
      [`/${name}/{itemId}`]: {
        parameters: [itemId],
        get: { tags: [name], operationId: `get_${name}`, summary: 'Reads one.', responses: answer(item) },
      },
    },
  });
}

/** Returns the signature of a checkpoint in the store. */
async function checkpointIn(home: string): Promise<string> {
  await using store = await openStore({ kind: 'sqlite', path: join(home, '.gatehouse/gatehouse.db') });
  const { signature } = await store.db
    .selectFrom('audit_checkpoints')
    .select('signature')
    .limit(1)
    .executeTakeFirstOrThrow();
  return signature;
}

/** Creates users, an account at two apps, a server, a workflow with a run, and calls, in one environment. Returns the ids. */
async function fill(url: string, key: string): Promise<Record<string, string>> {
  const call = async (method: string, path: string, body?: object, userId?: string) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'x-api-version': '2025-09',
      'content-type': 'application/json',
      ...(userId === undefined ? {} : { 'x-svc-userid': userId }),
    };
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  };
  const idIn = (record: Record<string, unknown>, name: string) => z.string().parse(record[name]);
  // The file of the settings names the user of the demonstration.
  if (key.startsWith('gh_prod_')) await call('POST', '/users', { username: 'demo' });
  const usr = idIn(await call('POST', '/users', { username: 'alice' }), 'userId');
  const connect = async (connectorId: string, apiKey: string) =>
    idIn(
      await call('POST', `/users/${usr}/credentials`, { connectorId, data: { apiKey } }, usr),
      'credentialId',
    );
  const ownCred = await connect('my-app', 'key-1');
  // The sandbox is an app of the development environment.
  const cred = key.startsWith('gh_dev_') ? await connect('sandbox', 'sandbox_examples') : ownCred;
  const server = await call('POST', '/api/servers', { name: 'Shop', toolMode: 'direct' }, usr);
  const srv = idIn(server, 'serverId');
  const mcp = idIn(server, 'accessUrl').split('/').at(-1) ?? '';
  const definition = {
    trigger: { type: 'manual' },
    steps: [{ stepId: 'look', connectorId: 'my-app', actionId: 'list_items', input: { limit: 1 } }],
  };
  const wf = idIn(await call('POST', '/workflows', { name: 'Order to chat', definition }), 'workflowId');
  await call('POST', `/workflows/${wf}/install?userId=${usr}`, { config: {} });
  const run = idIn(await call('POST', `/workflows/${wf}/run?userId=${usr}`, {}), 'runId');
  await call('POST', '/connectors/my-app/actions/list_items/execute', { input: { limit: 1 } }, usr);
  let exe: unknown;
  // Executions are stored in batches.
  await until(async () => {
    const { data } = await call('GET', `/api/executions?userId=${usr}&limit=1`);
    exe = z.array(z.record(z.string(), z.unknown())).parse(data)[0]?.['executionId'];
    return exe !== undefined;
  });
  return { usr, cred, ownCred, srv, mcp, wf, run, exe: String(exe) };
}

interface Listening extends AsyncDisposable {
  readonly port: number;
}

async function listening(server: Server | ReturnType<typeof createTlsServer>): Promise<Listening> {
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Removes what earlier examples of a command made, because the command refuses to overwrite it. */
export function removeMade({ folder }: Places, name: string): void {
  const made: Record<string, string[]> = {
    'gatehouse backup': [join(folder, 'gatehouse.backup')],
    'gatehouse export': [join(folder, 'moved')],
  };
  for (const path of made[name] ?? []) rmSync(path, { recursive: true, force: true });
}
