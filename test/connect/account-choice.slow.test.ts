import { afterEach, describe, expect, test } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { startConsentApp, type ConsentApp } from '../support/consent-app.ts';
import { serveUntilKilled } from '../support/serving.ts';
import { STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { until } from '../support/until.ts';

/* One consent reaches several sites, and the person chooses one of them. */

const FILE = `baseUrl: '{origin}/{siteId}'
authentication:
  - type: oauth2
    authorizeUrl: '{origin}/authorize'
    tokenUrl: '{origin}/token'
    revocation: {url: '{origin}/revoke'}
    lookup: {url: '{origin}/sites', map: data, choose: {id: id, label: name}}
    capture: {siteId: {from: 'lookup:id'}}
probe: get_me
actions:
  get_me: {description: The user behind the token., request: GET /me}
`;
const SITES = [
  { id: 'site-1', name: 'Alpha' },
  { id: 'site-2', name: 'Beta' },
];

let consents: ConsentApp | undefined;
const clock = manualClock();
afterEach(() => consents?.[Symbol.asyncDispose]());

/** Starts the app with sites; `refused` of them answer 403 to every call. */
async function start(
  { sites = SITES, refused = new Set<string>() }: { sites?: object[]; refused?: Set<string> } = {},
  kind: StoreKind = 'sqlite',
) {
  consents = await startConsentApp(FILE, { clock, kind });
  const state = { sites, refused };
  consents.api = ({ path }) => {
    if (path === '/sites') return { body: { data: state.sites } };
    const [, site = ''] = path.split('/');
    return state.refused.has(site) ? { status: 403, body: {} } : { body: { site } };
  };
  return { ...consents, state };
}

/** Connects a site, and returns the id of its credential. */
async function connect(all: ConsentApp, site: string): Promise<string> {
  const at = await all.begin();
  return String((await all.choose(at, site)).at('result.credentialId'));
}

describe.each(STORE_KINDS)('a consent for several accounts, on %s', (kind) => {
  test('a consent for several accounts waits for the choice and stores the chosen one', async () => {
    const all = await start({}, kind);
    const at = await all.open();
    const end = await all.consent(at);
    expect(end.pathname + end.search).toBe(`/connect/ended?session=${at.sessionId}`);
    const shown = await all.session(at);
    expect([shown.at('status'), shown.at('choosing')]).toEqual([
      'choosing',
      {
        connectorId: 'app',
        accounts: [
          { accountId: 'site-1', label: 'Alpha', connected: false },
          { accountId: 'site-2', label: 'Beta', connected: false },
        ],
      },
    ]);
    expect(shown.text).not.toMatch(/access-|refresh-/);
    expect((await all.credentials()).at('data')).toEqual([]);
    const dump = JSON.stringify(
      await all.app.service.context.db.selectFrom('unchosen_grants').selectAll().execute(),
    );
    expect(dump).toContain(at.sessionId);
    expect(dump).not.toMatch(/access-|refresh-|Alpha/);

    const chosen = await all.choose(at, 'site-2');
    expect([chosen.status, chosen.at('result.success')]).toEqual([200, true]);
    expect((await all.credentials()).at('data.0.account')).toEqual({ id: 'site-2', name: 'Beta' });
    expect((await all.app.execute('get_me')).at('data')).toEqual({ site: 'site-2' });
    expect((await all.session(at)).at('result.success')).toBe(true);
    const again = await all.choose(at, 'site-1');
    expect([again.status, again.at('code')]).toEqual([410, 'connect_session_expired']);
    expect(all.revoked).toEqual([]);
  });

  test('a consent where two tabs choose at the same time stores one account', async () => {
    const all = await start({}, kind);
    const at = await all.begin();
    const answers = await Promise.all(['site-1', 'site-2'].map((site) => all.choose(at, site)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    expect((await all.credentials()).at('data.1')).toBeUndefined();
    expect((await all.app.execute('get_me')).status).toBe(200);
    expect(all.revoked).toEqual([]);
  });

  test('a consent without a choice in time is refused and its tokens are revoked once', async () => {
    const all = await start({}, kind);
    const at = await all.begin();
    clock.advance(10 * MINUTE);
    const late = await all.choose(at, 'site-1');
    expect([late.status, late.at('code')]).toEqual([410, 'connect_session_expired']);
    await until(() => all.revoked.length > 0);
    const rows = () => all.app.service.context.db.selectFrom('unchosen_grants').selectAll().execute();
    await until(async () => (await rows()).length === 0);
    expect(all.revoked).toEqual([expect.stringMatching(/^refresh-/)]);
    expect((await all.credentials()).at('data')).toEqual([]);
  });
});

test('a consent for one account takes it without a question', async () => {
  const all = await start({ sites: [{ id: 'site-9', name: 'Only' }] });
  const at = await all.begin();
  expect((await all.session(at)).at('result.success')).toBe(true);
  expect((await all.credentials()).at('data.0.account.id')).toBe('site-9');
});

test('a consent for no account fails with a sentence and revokes its tokens', async () => {
  const all = await start({ sites: [] });
  const at = await all.begin();
  const shown = await all.session(at);
  expect(shown.at('result.error')).toBe('no_account');
  expect(shown.at('result.message')).toContain('but not to any account there');
  expect(all.revoked).toHaveLength(1);
});

test('accounts without an id and repeated ones are left out', async () => {
  const all = await start({ sites: [{ name: 'Nameless' }, ...SITES, { id: 'site-1', name: 'Alpha again' }] });
  const at = await all.begin();
  expect((await all.session(at)).at('choosing.accounts')).toMatchObject([
    { accountId: 'site-1', label: 'Alpha' },
    { accountId: 'site-2' },
  ]);
});

test('a consent whose accounts all lack an id names the place in the file', async () => {
  const all = await start({ sites: [{ name: 'Nameless' }] });
  const at = await all.begin();
  expect((await all.session(at)).at('result.error')).toBe('provider_failed');
  expect(all.app.service.logged.join('\n')).toContain('"reason":"lookup"');
});

test('an id that was not offered is refused, and the choice stays open', async () => {
  const all = await start();
  const at = await all.begin();
  const refused = await all.choose(at, 'site-3');
  expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, 'accountId']);
  expect((await all.choose(at, 'site-1')).status).toBe(200);
});

test('a choice before the consent is refused', async () => {
  const all = await start();
  const refused = await all.choose(await all.open(), 'site-1');
  expect([refused.status, refused.at('details.faults.0.rule')]).toEqual([
    400,
    'cannot be given now: no accounts are offered',
  ]);
});

test('another user and another browser cannot choose', async () => {
  const all = await start();
  const { service } = all.app;
  const at = await all.begin();
  const eve = (await service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
  const bearer = (await service.call('GET', `/2023-12/user/${eve}/token`)).text('token');
  const body = { accountId: 'site-1' };
  const path = `connect-sessions/${at.sessionId}`;
  const stranger = await all.open(undefined, eve);
  for (const { status, code } of [
    await service
      .call('POST', `/connect/sessions/${at.sessionId}/choice`, { bearer, body })
      .then((answer) => ({ status: answer.status, code: answer.at('code') })),
    await all
      .choose({ browser: stranger.browser, sessionId: at.sessionId }, 'site-1')
      .then((answer) => ({ status: answer.status, code: answer.at('code') })),
    await service
      .call('POST', `/users/${eve}/${path}/choice`, { body })
      .then((answer) => ({ status: answer.status, code: answer.at('code') })),
    await service
      .call('GET', `/users/${all.app.userId}/${path}`, { bearer: service.productionKey })
      .then((answer) => ({ status: answer.status, code: answer.at('code') })),
  ]) {
    expect([status, code]).toEqual([404, 'connect_session_not_found']);
  }
});

test('an operator reads the accounts and chooses over REST', async () => {
  const all = await start();
  const { service, userId } = all.app;
  const at = await all.begin();
  const path = `/users/${userId}/connect-sessions/${at.sessionId}`;
  expect((await service.call('GET', path)).at('choosing.accounts.1.label')).toBe('Beta');
  const chosen = await service.call('POST', `${path}/choice`, { body: { accountId: 'site-2' } });
  expect([chosen.status, chosen.at('result.success')]).toEqual([200, true]);
  expect((await all.session(at)).at('result.success')).toBe(true);
});

test('an account that the app refuses leaves the choice open', async () => {
  const all = await start({ refused: new Set(['site-1']) });
  const at = await all.begin();
  const refused = await all.choose(at, 'site-1');
  expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
  expect(refused.at('error')).toBe(
    'App refuses access to Alpha. Choose another account, or ask for access there.',
  );
  expect((await all.choose(at, 'site-2')).status).toBe(200);
});

test('a choice after the access token has expired connects an account that works', async () => {
  const all = await start();
  all.expiresIn = 300;
  const at = await all.begin();
  clock.advance(6 * MINUTE);
  expect((await all.choose(at, 'site-2')).at('result.success')).toBe(true);
  expect((await all.app.execute('get_me')).at('data')).toEqual({ site: 'site-2' });
});

test('a cancelled choice revokes the tokens', async () => {
  const all = await start();
  const at = await all.begin();
  expect((await all.cancel(at)).at('result.error')).toBe('closed');
  expect(all.revoked).toEqual([expect.stringMatching(/^refresh-/)]);
  expect((await all.choose(at, 'site-1')).status).toBe(410);
});

test('another consent in the session revokes the tokens of the older one first', async () => {
  const all = await start();
  const at = await all.begin();
  await all.consent(at);
  expect(all.revoked).toHaveLength(1);
  expect((await all.choose(at, 'site-1')).status).toBe(200);
  expect((await all.app.execute('get_me')).status).toBe(200);
});

test('a deleted user has the tokens of an open choice revoked', async () => {
  const all = await start();
  await all.begin();
  await all.app.call('DELETE', `/users/${all.app.userId}`);
  expect(all.revoked).toHaveLength(1);
});

test('a process that is killed after the consent leaves the choice to another one', async () => {
  const all = await start();
  const { service, catalogFolder } = all.app;
  await using served = await serveUntilKilled(service, catalogFolder, { at: clock.now() });
  const at = await all.open();
  const end = await all.consent(at, served.url);
  expect(end.href).toBe(`${served.url}/connect/ended?session=${at.sessionId}`);
  await served.kill();
  expect((await all.session(at)).at('status')).toBe('choosing');
  expect((await all.choose(at, 'site-1')).status).toBe(200);
  expect((await all.app.execute('get_me')).at('data')).toEqual({ site: 'site-1' });
});

describe('a reconnection', () => {
  test('a reconnection takes the same account without a question', async () => {
    const all = await start();
    const credentialId = await connect(all, 'site-2');
    const at = await all.begin(credentialId);
    expect((await all.session(at)).at('result.credentialId')).toBe(credentialId);
    expect((await all.credentials()).at('data.0.account.id')).toBe('site-2');
  });

  test('a reconnection fails when the consent does not reach the account any more', async () => {
    const all = await start();
    const credentialId = await connect(all, 'site-2');
    all.state.sites = [
      { id: 'site-1', name: 'Alpha' },
      { id: 'site-3', name: 'Gamma' },
    ];
    const at = await all.begin(credentialId);
    expect((await all.session(at)).at('result.error')).toBe('account_mismatch');
    expect((await all.app.execute('get_me')).at('data')).toEqual({ site: 'site-2' });
  });
});

test('an imported account is reconnected by its captured id', async () => {
  const all = await start();
  const data = { accessToken: all.issue().accessToken, siteId: 'site-2' };
  const imported = await all.app.connect(data, 'oauth2');
  expect(imported.at('account.id')).toBe('site-2');
  const credentialId = imported.text('credentialId');
  expect((await all.session(await all.begin(credentialId))).at('result.credentialId')).toBe(credentialId);
});

describe('a second account of the same consent', () => {
  test('a second consent shows the first account, and choosing it renews its record', async () => {
    const all = await start();
    const first = await connect(all, 'site-1');
    const at = await all.begin();
    expect((await all.session(at)).at('choosing.accounts')).toMatchObject([
      { accountId: 'site-1', connected: true },
      { accountId: 'site-2', connected: false },
    ]);
    expect((await all.choose(at, 'site-1')).at('result.credentialId')).toBe(first);
    const second = await connect(all, 'site-2');
    expect(second).not.toBe(first);
    for (const credentialId of [first, second]) {
      const ran = await all.app.call('POST', '/connectors/app/actions/get_me/execute', { credentialId });
      expect(ran.at('data.site')).toBe(credentialId === first ? 'site-1' : 'site-2');
    }
  });

  test('a second account keeps its tokens when the first is deleted, and loses them last', async () => {
    const all = await start();
    const [first, second] = [await connect(all, 'site-1'), await connect(all, 'site-2')];
    const remove = (id: string) => all.app.call('DELETE', `/users/${all.app.userId}/credentials/${id}`);
    await remove(first);
    expect(all.revoked).toEqual([]);
    await remove(second);
    expect(all.revoked).toHaveLength(1);
  });

  test('a second consent without a choice leaves the first account usable', async () => {
    const all = await start();
    await connect(all, 'site-1');
    await all.cancel(await all.begin());
    expect(all.revoked).toEqual([]);
    expect((await all.app.execute('get_me')).status).toBe(200);
  });
});
