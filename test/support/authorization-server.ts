import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/**
 * An OAuth server that registers every client and signs in the same person, with JWTs for the requested resource. Below
 * `/tenant1`, `/tenant2` and so on it is another issuer of the same origin.
 */
export interface AuthorizationServer extends AsyncDisposable {
  issuer: string;
  /** Whether its metadata say that it reads the metadata documents of clients. */
  readsDocuments: boolean;
  /** Whether it knows only the clients of `clients`, and numbers new ones. */
  isStrict: boolean;
  /** Ids of the clients that it registered, with their secrets. */
  readonly clients: Map<string, string | undefined>;
  /** Lifetime of the secrets of new clients, in seconds; undefined for clients without a secret. */
  secretSeconds: (() => number) | undefined;
  /** Refresh tokens, with the client of each. */
  readonly refreshTokens: Map<string, { clientId: string; resource: string }>;
  /** The path of each request for a client or a token, with the client id. */
  readonly asked: { path: string; clientId: string | null }[];
  /** Returns a token for an audience, without a browser. */
  token(audience: string, subject?: string, expires?: string): Promise<string>;
}

export async function startAuthorizationServer(username: string): Promise<AuthorizationServer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' };
  const codes = new Map<string, { challenge: string; resource: string; clientId: string }>();
  let origin = '';
  const token = (audience: string, subject = username, expires = '5m', issuer = origin) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(privateKey);

  const tokensOf = (grant: { clientId: string; resource: string }, access: string) => {
    const answer = { access_token: access, token_type: 'Bearer', expires_in: 300 };
    if (!made.isStrict) return answer;
    const refresh = randomUUID();
    made.refreshTokens.set(refresh, { clientId: grant.clientId, resource: grant.resource });
    return { ...answer, refresh_token: refresh };
  };
  const server = createServer(async (req, res) => {
    const url = new URL(req.url ?? '/', origin);
    const [tenant = ''] = /\/tenant\d/.exec(url.pathname) ?? [];
    const issuer = origin + tenant;
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const form = new URLSearchParams(body);
    const json = (status: number, value: object) => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify(value));
    };
    switch (`${req.method} ${url.pathname.replace(tenant, '')}`) {
      case 'GET /.well-known/oauth-authorization-server':
        return json(200, {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: [made.secretSeconds ? 'client_secret_post' : 'none'],
          client_id_metadata_document_supported: made.readsDocuments,
        });
      case 'GET /jwks':
        return json(200, { keys: [jwk] });
      case 'POST /register':
        made.asked.push({ path: url.pathname, clientId: null });
        return json(201, { ...JSON.parse(body), ...newClient(made, tenant) });
      case 'GET /authorize': {
        const code = randomUUID();
        const { searchParams: asked } = url;
        // The page for people shows the error, and does not redirect to a client that it does not know.
        if (made.isStrict && !made.clients.has(asked.get('client_id') ?? ''))
          return json(400, { error: 'invalid_client' });
        codes.set(code, {
          challenge: asked.get('code_challenge') ?? '',
          resource: asked.get('resource') ?? '',
          clientId: asked.get('client_id') ?? '',
        });
        const back = new URL(asked.get('redirect_uri') ?? '');
        back.searchParams.set('code', code);
        const state = asked.get('state');
        if (state !== null) back.searchParams.set('state', state);
        res.writeHead(302, { location: back.href });
        return res.end();
      }
      case 'POST /token': {
        made.asked.push({ path: url.pathname, clientId: form.get('client_id') });
        const clientId = form.get('client_id') ?? '';
        if (
          made.isStrict &&
          (!made.clients.has(clientId) ||
            made.clients.get(clientId) !== (form.get('client_secret') ?? undefined))
        )
          return json(401, { error: 'invalid_client' });
        const refreshed = made.refreshTokens.get(form.get('refresh_token') ?? '');
        if (refreshed?.clientId === clientId)
          return json(200, tokensOf(refreshed, await token(refreshed.resource, username, '5m', issuer)));
        const known = codes.get(form.get('code') ?? '');
        const proof = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        if (!known || known.challenge !== proof) return json(400, { error: 'invalid_grant' });
        const fresh = await token(known.resource, username, '5m', issuer);
        return json(200, tokensOf({ ...known, clientId }, fresh));
      }
      default:
        return json(404, { error: 'not_found' });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  origin = `http://127.0.0.1:${address.port}`;
  const made: AuthorizationServer = {
    issuer: origin,
    readsDocuments: false,
    isStrict: false,
    clients: new Map(),
    secretSeconds: undefined,
    refreshTokens: new Map(),
    asked: [],
    token,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

/** Returns the facts of a new client. */
function newClient(made: AuthorizationServer, tenant: string): object {
  const clientId = made.isStrict ? `client_${randomUUID().slice(0, 8)}` : `client${tenant}`;
  const secret = made.secretSeconds ? randomUUID() : undefined;
  made.clients.set(clientId, secret);
  return {
    client_id: clientId,
    ...(made.secretSeconds ? { client_secret: secret, client_secret_expires_at: made.secretSeconds() } : {}),
  };
}
