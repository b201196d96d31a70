import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen, type App } from '../../src/app.ts';
import type { Intervals } from '../../src/base.ts';
import { readConfig } from '../../src/config.ts';
import { openContext, type OpenContext } from '../../src/context.ts';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { ensureKeys } from '../../src/identity/api-keys.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { createLog } from '../../src/log.ts';
import { servicePrograms } from './built.ts';
import { SHORT_INTERVALS } from './clock.ts';
import { lendDatabase, lendKept, returnKept } from './kept.ts';
import { freshDatabase, type StoreKind } from './stores.ts';

/** A real Gatehouse on a free port of 127.0.0.1, over a database and a home of its own. */
export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly developmentKey: string;
  readonly productionKey: string;
  readonly context: OpenContext;
  readonly app: App;
  /** The environment of another service over the same store. */
  readonly env: Record<string, string>;
  /** Lines of the log so far. */
  readonly logged: string[];
  /** Calls REST; the answer is parsed where it is JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  stop(): Promise<void>;
}

export interface CallOptions {
  /** Default: the development key; null sends none. */
  bearer?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent unchanged in place of `body`. */
  rawBody?: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
  /** Returns the value at a dotted path of the body: `servers.0.name`. */
  at(path: string): Json | undefined;
  /** Returns the text at a dotted path; throws when there is none. */
  text(path: string): string;
}

export interface ServiceOptions {
  /** Kind of its database. SQLite is in its home. */
  kind?: StoreKind;
  env?: Record<string, string>;
  clock?: Clock;
  catalogFolder?: string;
  intervals?: Intervals;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-service-'));
  lendKept(home, options.catalogFolder);
  if (options.kind !== 'postgres') lendDatabase(home);
  const fresh = options.kind === 'postgres' ? await freshDatabase('postgres') : undefined;
  const env = {
    GATEHOUSE_HOME: home,
    ...(fresh?.database.kind === 'postgres' ? { DATABASE_URL: fresh.database.url } : {}),
    ...options.env,
  };
  const developmentKey = newApiKey('development');
  const productionKey = newApiKey('production');
  const config = readConfig({
    PORT: '0',
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    GATEHOUSE_RATE_LIMIT_MCP: '0',
    GATEHOUSE_RATE_LIMIT_USERS: '0',
    LOG_LEVEL: 'debug',
    ...env,
  });
  const logged: string[] = [];
  const log = createLog(config.logLevel, { write: (line) => void logged.push(line) });
  const context = await openContext(config, {
    log,
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.catalogFolder ? { catalogFolder: options.catalogFolder } : {}),
    intervals: options.intervals ?? SHORT_INTERVALS,
    programs: servicePrograms(),
  });
  await ensureKeys(context, { development: developmentKey, production: productionKey });
  const app = await listen(context);
  const url = `http://127.0.0.1:${app.port}`;

  const call: Service['call'] = async (
    method,
    path,
    { bearer = developmentKey, headers = {}, body, rawBody } = {},
  ) => {
    const text = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(url + path, {
      method,
      headers: {
        'x-api-version': '2025-09',
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return toAnswer(response, isJson ? parseJson(answer) : answer);
  };
  const stop = async () => {
    await app.close();
    await context.close();
    await fresh?.remove();
    returnKept(home, options.catalogFolder);
    rmSync(home, { recursive: true, force: true });
  };
  return {
    url,
    developmentKey,
    productionKey,
    context,
    app,
    env,
    logged,
    call,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function toAnswer({ status, headers }: Response, body: Json): Answer {
  const at = (path: string) => valueAt(body, path);
  return {
    status,
    headers,
    body,
    at,
    text(path) {
      const value = at(path);
      if (typeof value !== 'string')
        throw new Error(`no text at ${path} of ${status} ${JSON.stringify(body)}`);
      return value;
    },
  };
}
