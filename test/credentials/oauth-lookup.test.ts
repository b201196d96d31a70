import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { exchangeCode, refreshTokens } from '../../src/credentials/oauth.ts';
import { checkCredential } from '../../src/credentials/credential-records.ts';
import { insertCredential } from '../../src/credentials/credential-rows.ts';
import { probeTokens } from '../../src/credentials/granted.ts';
import { newId } from '../../src/lib/ids.ts';
import { Secret } from '../../src/lib/secret.ts';
import { openActions } from '../support/actions.ts';
import { callOf, json, openUpstream, startUpstream, type Upstream } from '../support/upstream.ts';

const CONNECTIONS = [
  { tenantId: 't-1', tenantName: 'Old Ltd', tenantType: 'ORGANISATION', updated: '2026-01-01' },
  { tenantId: 't-2', tenantName: 'New Ltd', tenantType: 'ORGANISATION', updated: '2026-03-01' },
  { tenantId: 't-3', tenantName: 'Advisers', tenantType: 'PRACTICE', updated: '2026-04-01' },
];

let upstream: Upstream;
let context: ReturnType<typeof openUpstream>;
let seen: string[];

beforeAll(async () => {
  upstream = await startUpstream();
  context = openUpstream();
});
afterAll(async () => {
  await context.close();
  await upstream[Symbol.asyncDispose]();
});
beforeEach(() => {
  seen = [];
  answerWith((res) => json(res, 200, CONNECTIONS));
});

type Answer = Parameters<Upstream['handler']>[1];
function answerWith(lookup: (res: Answer) => void): void {
  upstream.handler = (req, res) => {
    seen.push(`${req.method} ${req.url} ${req.headers.authorization ?? ''}`);
    if (req.url === '/connections') lookup(res);
    else json(res, 200, { access_token: 'at_canary_1', token_type: 'bearer', refresh_token: 'rt_1' });
  };
}

function grant() {
  const authentication = `{type: oauth2, authorizeUrl: '{origin}/authorize', tokenUrl: '{origin}/token',
    lookup: {url: '{origin}/connections', map: '$[tenantType = "ORGANISATION"]^(>updated)[0]'},
    capture: {tenantId: {from: 'lookup:tenantId'}}, account: {id: 'lookup:tenantId', name: 'lookup:tenantName'}}`;
  const head = 'variables: {origin: {title: Origin, format: origin, example: https://a}}';
  const { connector } = callOf({ head, authentication, action: 'request: GET /a' });
  const [scheme] = connector.definition.authentication;
  if (scheme?.type !== 'oauth2') throw new Error('the scheme of the test is oauth2');
  const values = { origin: upstream.origin };
  return {
    connector,
    scheme,
    client: { clientId: 'app', clientSecret: new Secret('s3cret'), scopes: undefined, fields: values },
    values,
    redirectUri: 'https://gatehouse.example.com/oauth/callback/app',
    state: 'state-1',
    verifier: 'v'.repeat(43),
    callback: new URLSearchParams({ code: 'code-1', state: 'state-1' }),
  };
}

test('a lookup after the grant adds data that the grant lacks', async () => {
  const tokens = await exchangeCode(context, grant());
  expect(tokens).toMatchObject({
    accessToken: 'at_canary_1',
    captured: { tenantId: 't-2' },
    account: { id: 't-2', name: 'New Ltd' },
  });
  expect(seen).toEqual(['POST /token ', 'GET /connections Bearer at_canary_1']);
});

test('a renewal makes no lookup', async () => {
  const { captured } = await refreshTokens(context, { ...grant(), refreshToken: 'rt_1' });
  expect([captured, seen.length]).toEqual([{}, 1]);
});

test('a failed lookup is retried, because the code is spent', async () => {
  let failures = 1;
  answerWith((res) => (failures-- > 0 ? json(res, 503, {}) : json(res, 200, CONNECTIONS)));
  expect((await exchangeCode(context, grant())).captured).toEqual({ tenantId: 't-2' });
});

test.each<[string, (res: Answer) => void, string]>([
  [
    'a refusal',
    (res) => json(res, 403, { detail: 'at_canary_1' }),
    'did not send the further data that is needed (HTTP 403',
  ],
  ['a page', (res) => res.end('<!doctype html>'), 'did not send the further data that is needed (HTTP 200'],
  ['nothing that fits', (res) => json(res, 200, []), 'without a usable tenantId'],
])('%s of the lookup fails the grant, and says why', async (_what, answer, sentence) => {
  answerWith(answer);
  const refused = exchangeCode(context, grant());
  await expect(refused).rejects.toMatchObject({ code: 'upstream_failed' });
  const error = await refused.catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(sentence);
  expect(String(error)).not.toContain('at_canary_1');
});

test('an account with only an id in the grant takes its name from the probe', async () => {
  const { connector, scheme, values } = withProbe();
  upstream.handler = (_req, res) => json(res, 200, { Id: '1', CompanyName: 'Acme' });
  const tokens = { accessToken: 'at_canary_1', captured: {}, account: { id: 'realm-7' } };
  const granted = { connector, scheme, credentialId: 'cred_1', values, tokens };
  expect(await probeTokens(context, granted)).toEqual({ id: 'realm-7', name: 'Acme' });
});

test('a later check keeps the account of the grant', async () => {
  await using bench = await openActions();
  const { connector, catalog, scheme, values } = withProbe();
  upstream.handler = (_req, res) => json(res, 200, { Id: '1', CompanyName: 'Acme' });
  const key = { environment: 'development' as const, userId: bench.userId, credentialId: newId('cred') };
  const account = { id: 'realm-7', name: 'Acme' };
  const made = {
    ...key,
    connector,
    scheme,
    values: { ...values, accessToken: 'at_canary_1' },
    account,
    accountKey: 'the hash of realm-7',
  };
  await bench.db.transaction().execute((tx) => insertCredential(tx, bench, made));
  const { credential, checked } = await checkCredential({ ...bench, catalog }, key);
  expect([checked, credential.account]).toEqual([true, account]);
});

function withProbe() {
  const authentication = `{type: oauth2, authorizeUrl: '{origin}/authorize', tokenUrl: '{origin}/token',
    account: {id: 'callback:realmId'}}`;
  const head = `variables: {origin: {title: Origin, format: origin, example: https://a}}
probe: act
account: {id: Id, name: CompanyName}`;
  const { connector, catalog } = callOf({
    head,
    authentication,
    baseUrl: '{origin}',
    action: 'request: GET /a',
  });
  const [scheme] = connector.definition.authentication;
  if (scheme?.type !== 'oauth2') throw new Error('the scheme of the test is oauth2');
  return { connector, catalog, scheme, values: { origin: upstream.origin } };
}
