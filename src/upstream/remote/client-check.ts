import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import type { Secret } from '../../lib/secret.ts';
import type { OAuthServer } from './oauth-metadata.ts';

const TIMEOUT_MS = 5 * SECOND;
/** Errors with which a token endpoint refuses the client (RFC 6749 section 5.2). */
const REFUSES_CLIENT = new Set(['invalid_client', 'unauthorized_client']);

const refusal = z.object({ error: z.string() });

/**
 * Returns whether an OAuth server refuses a client. Asks with a code that does not exist, so that a known client gets
 * `invalid_grant`. The page for people would show an error for a forgotten client, and would not redirect. A server that
 * fails or answers something else refuses no client.
 */
export async function isClientRefused(
  outbound: Pick<Outbound, 'request'>,
  server: Pick<OAuthServer, 'tokenUrl' | 'clientAuthentication' | 'resource'>,
  client: { clientId: string; clientSecret: Secret | undefined; redirectUri: string },
): Promise<boolean> {
  const secret = client.clientSecret?.open() ?? '';
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: randomBytes(24).toString('base64url'),
    code_verifier: randomBytes(32).toString('base64url'),
    redirect_uri: client.redirectUri,
    resource: server.resource,
  });
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (server.clientAuthentication === 'basic') {
    const pair = [client.clientId, secret].map(encodeURIComponent).join(':');
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
  } else {
    form.set('client_id', client.clientId);
    if (server.clientAuthentication === 'body') form.set('client_secret', secret);
  }
  try {
    const { status, body } = await outbound.request({
      method: 'POST',
      url: server.tokenUrl,
      headers,
      body: form.toString(),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MIB,
    });
    if (status < 400 || status >= 500) return false;
    const read = refusal.safeParse(JSON.parse(body.toString('utf8')));
    return read.success && REFUSES_CLIENT.has(read.data.error);
  } catch (error) {
    if (error instanceof GatehouseError || error instanceof SyntaxError) return false;
    throw error;
  }
}
