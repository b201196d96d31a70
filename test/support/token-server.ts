import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buildCatalog } from './build-catalog.ts';
import type { Catalog } from '../../src/connectors/catalog.ts';

/** One request to the token endpoint, as it arrived. */
export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  text: string;
  params: URLSearchParams;
}

/**
 * Behaviour of the token endpoint. `crash`: the connection ends during the answer, and nothing was granted. `lost`: a
 * grant was made and its answer lost; the refresh token still works, as at apps that tolerate network failures.
 */
export type Mode = 'ok' | '500' | '429' | 'html' | 'drop' | 'crash' | 'lost' | 'hang';

interface Held {
  /** Resolves when the request has arrived. */
  asked: Promise<void>;
  release(): void;
}

/**
 * An authorization server of the tests with an API behind it. Refresh tokens rotate; a second use of one ends its
 * whole family, as RFC 9700 section 4.14.2 requires.
 */
export interface TokenServer extends AsyncDisposable {
  readonly origin: string;
  /** Requests to the token endpoint, oldest first. */
  readonly asked: SeenRequest[];
  /** Requests to the revocation endpoint. */
  readonly revoked: SeenRequest[];
  /** Number of grants. */
  granted: number;
  /** Number of refresh tokens that were used twice; must stay 0. */
  reused: number;
  mode: Mode;
  /** Delay of the token endpoint, in milliseconds. */
  delayMs: number;
  expiresIn: number | string | undefined;
  rotates: boolean;
  /** Answer of its API to every caller, without a check of tokens. */
  apiAnswer: object | undefined;
  /** Whether the API answers 401 to writes, as some do to callers who may only read. */
  refusesWrites: boolean;
  /** How many more lists of notes end their access token. Decreases by one each time. */
  endsAfterLists: number;
  /** Replaces the usual answer of the token endpoint. */
  answer:
    | ((seen: SeenRequest) => {
        status?: number;
        type?: string;
        text: string;
        headers?: Record<string, string>;
      })
    | undefined;
  /** Holds the next answer of the token endpoint or the API until the test releases it. */
  hold(): Held;
  /** Returns a live pair of a new family, as after a consent at another service. */
  issue(): { accessToken: string; refreshToken: string };
  /** Ends a family, as when its user revokes the access. */
  end(refreshToken: string): void;
  /** Ends an access token before its time. */
  endAccess(accessToken: string): void;
}

export const CLIENT = { clientId: 'client_one', clientSecret: 'secret_9Zk1canaryOfTheApp' };

export async function startTokenServer(): Promise<TokenServer> {
  const families = new Map<string, { current: string; alive: boolean }>();
  const byRefresh = new Map<string, string>();
  const access = new Set<string>();
  const pass = (): Promise<void> => Promise.resolve();
  let hold = pass;
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const party: TokenServer = {
    origin: `http://127.0.0.1:${address.port}`,
    asked: [],
    revoked: [],
    granted: 0,
    reused: 0,
    mode: 'ok',
    delayMs: 0,
    expiresIn: 3600,
    rotates: true,
    apiAnswer: undefined,
    refusesWrites: false,
    endsAfterLists: 0,
    answer: undefined,
    hold() {
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      hold = () => {
        hold = pass;
        asked.resolve();
        return released.promise;
      };
      return { asked: asked.promise, release: released.resolve };
    },
    issue() {
      const family = randomBytes(6).toString('hex');
      families.set(family, { current: '', alive: true });
      return pair(family);
    },
    end(refreshToken) {
      const family = families.get(byRefresh.get(refreshToken) ?? '');
      if (family) family.alive = false;
    },
    endAccess: (accessToken) => void access.delete(accessToken),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return party;

  function pair(family: string): { accessToken: string; refreshToken: string } {
    const accessToken = `at_${randomBytes(12).toString('hex')}canary`;
    const refreshToken = `rt_${randomBytes(12).toString('hex')}canary`;
    access.add(accessToken);
    const known = families.get(family);
    if (known) known.current = refreshToken;
    byRefresh.set(refreshToken, family);
    return { accessToken, refreshToken };
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', party.origin);
    let text = '';
    for await (const chunk of req) text += String(chunk);
    const params = new URLSearchParams(req.headers['content-type']?.includes('json') ? '' : text);
    const seen: SeenRequest = {
      method: req.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: req.headers,
      text,
      params,
    };
    if (url.pathname.endsWith('/revoke')) {
      party.revoked.push(seen);
      return send(res, party.mode === 'ok' ? 200 : 500, '{}');
    }
    if (!url.pathname.endsWith('/token')) return api(req, res);
    party.asked.push(seen);
    if (party.mode === 'hang') return;
    await hold();
    if (party.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, party.delayMs));
    if (party.mode === 'drop') return void req.socket.destroy();
    if (party.mode === '500') return send(res, 500, '{"error":"server_error"}');
    if (party.mode === '429') return send(res, 429, '{"error":"slow_down"}', { 'retry-after': '7' });
    if (party.mode === 'html')
      return send(res, 200, '<!doctype html><p>Back soon', { 'content-type': 'text/html' });
    if (party.mode === 'crash') {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
      return void res.write('{"access_token":"at_half', () => req.socket.destroy());
    }
    if (party.mode === 'lost') {
      party.granted++;
      return void req.socket.destroy();
    }
    if (party.answer) {
      const { status = 200, type = 'application/json', text: body, headers = {} } = party.answer(seen);
      return send(res, status, body, { 'content-type': type, ...headers });
    }
    return grant(params, res);
  }

  function grant(params: URLSearchParams, res: ServerResponse): void {
    if (params.get('grant_type') !== 'refresh_token') {
      const { accessToken, refreshToken } = party.issue();
      party.granted++;
      const forClient = params.get('grant_type') === 'client_credentials';
      if (forClient && params.get('client_secret') !== CLIENT.clientSecret)
        return send(res, 401, '{"error":"invalid_client"}', { 'www-authenticate': 'Basic' });
      return send(res, 200, tokens(accessToken, forClient ? undefined : refreshToken));
    }
    const given = params.get('refresh_token') ?? '';
    const name = byRefresh.get(given) ?? '';
    const family = families.get(name);
    if (family?.alive && party.rotates && family.current !== given) {
      party.reused++;
      family.alive = false;
    }
    if (!family?.alive)
      return send(res, 400, `{"error":"invalid_grant","error_description":"token ${given} is over"}`);
    party.granted++;
    const next = pair(name);
    if (!party.rotates) family.current = given;
    return send(res, 200, tokens(next.accessToken, party.rotates ? next.refreshToken : undefined));
  }

  function tokens(accessToken: string, refreshToken: string | undefined): string {
    return JSON.stringify({
      access_token: accessToken,
      token_type: 'Bearer',
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...(party.expiresIn === undefined ? {} : { expires_in: party.expiresIn }),
    });
  }

  async function api(req: IncomingMessage, res: ServerResponse): Promise<void> {
    await hold();
    if (party.apiAnswer) return send(res, 200, JSON.stringify(party.apiAnswer));
    const bearer = req.headers.authorization?.replace('Bearer ', '') ?? '';
    if (!access.has(bearer)) return send(res, 401, `{"message":"the token ${bearer} is not known"}`);
    if (party.refusesWrites && req.method !== 'GET')
      return send(res, 401, '{"message":"no write permissions"}');
    if (req.method === 'GET' && req.url?.endsWith('/notes')) {
      if (party.endsAfterLists-- > 0) access.delete(bearer);
      return send(res, 200, '[{"note":1},{"note":2},{"note":3}]');
    }
    return send(res, 200, '{"id":"acc_1","name":"Ada"}');
  }
}

function send(res: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(text);
}

/** Returns a connector `oauthy` of a token server, with changes to the simplest one. */
export function oauthDefinition(origin: string, scheme: Record<string, unknown> = {}) {
  return {
    id: 'oauthy',
    name: 'Oauthy',
    description: 'An app of the tests.',
    categories: ['crm'],
    website: 'https://example.com',
    sources: [{ title: 'The tests', path: 'test', read: '2026-03-01' }],
    baseUrl: `${origin}/api`,
    authentication: [
      {
        type: 'oauth2',
        authorizeUrl: `${origin}/authorize`,
        tokenUrl: `${origin}/token`,
        revocation: { url: `${origin}/revoke` },
        scopes: ['read', 'write'],
        ...scheme,
      },
      { type: 'oauth2_client_credentials', tokenUrl: `${origin}/token` },
    ],
    probe: 'get_me',
    account: { id: 'id', name: 'name' },
    errors: { message: ['message'] },
    actions: {
      get_me: { description: 'Reads the account.', request: 'GET /me' },
      list_notes: {
        description: 'Lists notes with who wrote them.',
        request: 'GET /notes',
        paging: { style: 'none' },
        each: [{ action: 'get_me' }],
      },
      add_note: {
        description: 'Adds a note.',
        request: 'POST /notes',
        body: { text: { type: 'string', required: true } },
      },
    },
  };
}

export function oauthCatalog(origin: string, scheme: Record<string, unknown> = {}): Catalog {
  return buildCatalog([{ path: 'oauthy.yaml', text: JSON.stringify(oauthDefinition(origin, scheme)) }]);
}
