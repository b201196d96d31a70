import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { manualClock } from '../../support/clock.ts';
import { separate } from '../../support/events.ts';
import { startService, type Service } from '../../support/service.ts';
import { json, startUpstream, type Upstream } from '../../support/upstream.ts';
import { until } from '../../support/until.ts';

/* Webhooks that apps sign with a private key, or that carry a secret, from their arrival to the published event. */

const ed25519 = generateKeyPairSync('ed25519');
const ecdsa = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const TIMED = "content: '{timestamp}{body}', timestamp: header:X-Time, header: X-Signature";
const raw = Buffer.from(ed25519.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');

/** Verifications of the connectors in these tests, by connector id. */
const schemes = (origin: string) => ({
  'ed25519-field': `{type: public_key, algorithm: ed25519, key: '{publicKey}', keyEncoding: hex, encoding: hex, ${TIMED}}`,
  'ecdsa-fixed': `{type: public_key, algorithm: ecdsa, key: '${spki(ecdsa.publicKey)}', ${TIMED}}`,
  'rsa-fetched': `{type: public_key, algorithm: rsa, keysUrl: '${origin}/keys', keyId: header:X-Key-Id, ${TIMED}}`,
  'secret-in-body': '{type: secret, at: body:token, timestamp: body:sent}',
});
type Id = keyof ReturnType<typeof schemes>;

/** Returns the DER bytes of a public key as base64. */
function spki(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).toString('base64');
}

function connectorFile(id: string, verify: string): string {
  return `id: ${id}
name: ${id}
description: An app of the tests.
categories: [data]
website: https://example.com
sources: [{title: The tests themselves, read: 2026-11-24}]
baseUrl: '{origin}'
variables: {origin: {title: Address, format: origin}, publicKey: {title: Public key, required: false}}
authentication: [{type: bearer}]
actions:
  add_hook: {internal: true, description: A webhook., request: POST /webhooks, body: {url: {type: string}, secret: {type: string}}}
  drop_hook: {internal: true, description: Ends one., request: 'DELETE /webhooks/{hookId}', path: {hookId: {type: string}}}
events:
  call.ended: {title: Call ended, description: A call ended., remoteId: id}
webhooks:
  verify: ${verify}
  topic: body:what
  record: call
  topics: {call.ended: [{topic: ended, event: created}]}
  register:
    create: {action: add_hook, input: {url: '{address}', secret: '{secret}'}, id: id, each: all}
    delete: {action: drop_hook, param: hookId}
`;
}

const clock = manualClock();
let folder: string;
let upstream: Upstream;
let service: Service;
let userId: string;
let hook = { url: '', secret: '' };
/** Keys that the app publishes, and how often they were read. */
let published: JsonObject[] = [];
let reads = 0;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.handler = (req, res, count) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      if (req.url === '/keys') {
        reads++;
        return published.length > 0 ? json(res, 200, { keys: published }) : json(res, 500, {});
      }
      if (req.method === 'POST') hook = JSON.parse(text);
      return json(res, 201, { id: count });
    });
  };
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-signatures-'));
  for (const [id, verify] of Object.entries(schemes(upstream.origin))) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), connectorFile(id, verify));
  }
  service = await startService({ clock, catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Subscribes to a new connection, and returns the events that were published for it. */
async function listen(connectorId: Id, more: object = {}): Promise<() => Promise<unknown[]>> {
  const connected = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId, data: { token: 'x', origin: upstream.origin, ...more } },
  });
  const connectionId = await separate(service, connected.text('credentialId'));
  const body = { address: 'https://127.0.0.1:9/never', scope: `${connectorId}/call.ended` };
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body,
  });
  expect([subscribed.status, subscribed.at('source')]).toEqual([201, 'native']);
  const { db } = service.context;
  const source = () =>
    db.selectFrom('sources').selectAll().where('credential_id', '=', connectionId).executeTakeFirst();
  await until(async () => (await source())?.hook_state === 'registered');
  const { source_id: sourceId = '' } = (await source()) ?? {};
  return async () => {
    const rows = await db.selectFrom('events').select('body').where('source_id', '=', sourceId).execute();
    return rows.map((row) => JSON.parse(row.body).remoteId);
  };
}

async function send(body: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(hook.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return answer.status;
}

const call = (id: string, more: object = {}) => JSON.stringify({ what: 'ended', call: { id }, ...more });
const seconds = () => String(Math.floor(clock.now() / SECOND));

/** Returns the headers of a signed webhook. */
function signed(
  { privateKey, encoding = 'base64', digest = 'sha256' }: Signer,
  body: string,
  at = seconds(),
): Record<string, string> {
  const signature = sign(digest, Buffer.from(`${at}${body}`), privateKey).toString(encoding);
  return { 'x-signature': signature, 'x-time': at };
}
interface Signer {
  privateKey: KeyObject;
  encoding?: 'hex' | 'base64';
  digest?: string | null;
}

test.each<[Id, Signer, Signer]>([
  [
    'ed25519-field',
    { privateKey: ed25519.privateKey, encoding: 'hex', digest: null },
    { privateKey: generateKeyPairSync('ed25519').privateKey, encoding: 'hex', digest: null },
  ],
  [
    'ecdsa-fixed',
    { privateKey: ecdsa.privateKey },
    { privateKey: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey },
  ],
])('%s: only recent webhooks of the app are published, each once', async (id, app, other) => {
  const events = await listen(id, { publicKey: raw });
  const body = call('c1');
  const headers = signed(app, body);
  expect(await send(body, headers)).toBe(200);
  expect(await send(body, headers)).toBe(200);
  expect(await send(call('c2'), headers)).toBe(401);
  expect(await send(body, signed(other, body))).toBe(401);
  expect(await send(body, { ...headers, 'x-time': String(Number(seconds()) + 1) })).toBe(401);
  expect(await send(body, { ...headers, 'x-signature': '' })).toBe(401);
  expect(await send(call('c3'), signed(app, call('c3'), String(Number(seconds()) - 600)))).toBe(401);
  expect(await events()).toEqual(['c1']);
});

test('a key that the app replaced is read again, at most once a minute', async () => {
  const jwk = (key: KeyObject, kid: string): JsonObject => {
    const { kty = '', n = '', e = '' } = key.export({ format: 'jwk' });
    return { kty, n, e, kid };
  };
  published = [];
  const events = await listen('rsa-fetched');
  const body = call('c1');
  const headers = { ...signed(rsa, body), 'x-key-id': 'k1' };
  // The app sends a webhook again that got 503.
  expect(await send(body, headers)).toBe(503);
  published = [jwk(rsa.publicKey, 'k1')];
  clock.advance(2 * MINUTE);
  const again = { ...signed(rsa, body), 'x-key-id': 'k1' };
  expect(await send(body, again)).toBe(200);
  reads = 0;
  expect(await send(call('c2'), { ...signed(rsa, call('c2')), 'x-key-id': 'k1' })).toBe(200);
  expect(reads).toBe(0);
  const next = generateKeyPairSync('rsa', { modulusLength: 2048 });
  published = [jwk(next.publicKey, 'k2')];
  clock.advance(2 * MINUTE);
  expect(await send(call('c3'), { ...signed(next, call('c3')), 'x-key-id': 'k2' })).toBe(200);
  const forged = () => send(call('c4'), { ...signed(rsa, call('c4')), 'x-key-id': 'k2' });
  expect([await forged(), await forged()]).toEqual([401, 401]);
  expect(await send(call('c4'), signed(next, call('c4')))).toBe(401);
  expect(reads).toBe(1);
  expect((await events()).toSorted()).toEqual(['c1', 'c2', 'c3']);
});

test('a secret in the body is compared, bounded by time and not stored', async () => {
  const events = await listen('secret-in-body');
  const sent = new Date(clock.now()).toISOString();
  const genuine = call('c1', { token: hook.secret, sent });
  expect(await send(genuine)).toBe(200);
  expect(await send(genuine)).toBe(200);
  expect(await send(call('c2', { token: `${hook.secret}x`, sent }))).toBe(401);
  expect(await send(call('c2', { sent }))).toBe(401);
  clock.advance(10 * MINUTE);
  expect(await send(call('c3', { token: hook.secret, sent }))).toBe(401);
  expect(await events()).toEqual(['c1']);
  const rows = await service.context.db.selectFrom('inbox').select('body').execute();
  expect(JSON.stringify(rows)).not.toContain(hook.secret);
});
