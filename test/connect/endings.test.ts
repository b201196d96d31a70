import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser } from '../support/browser.ts';
import { startConsents, type Consents } from '../support/consents.ts';
import { oauthDefinition } from '../support/token-server.ts';

/**
 * Tests of consents that end early: deleted users, closed windows, internal faults. Each ends once, with a sentence.
 */
let all: Consents;
/** An app whose keys are account names in lower case, because an answer that contains the key would be scrubbed. */
const mirror = createServer((req, res) => {
  const id = (req.headers.authorization?.replace('Bearer ', '') ?? '').toUpperCase();
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id, name: `Shop ${id}` }));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => mirror.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${Object(mirror.address()).port}`;
  const file = {
    ...oauthDefinition(origin),
    id: 'mirror',
    name: 'Mirror',
    authentication: [{ type: 'bearer' }],
  };
  all = await startConsents({ files: { mirror: file } });
});
afterAll(async () => {
  await all[Symbol.asyncDispose]();
  mirror.closeAllConnections();
  await new Promise((resolve) => mirror.close(resolve));
});
afterEach(() => {
  all.party.asked.length = 0;
  all.party.revoked.length = 0;
});

/** Creates another user, with a browser that has opened a link of theirs. */
async function somebody(connectors = ['oauthy']) {
  const { service } = all;
  const username = `user ${Math.random()}`;
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  const made = await service.call('POST', `/users/${userId}/connect-sessions`, { body: { connectors } });
  const browser = createBrowser();
  const { sessionId } = await all.open(browser, made.text('url'));
  const at = `${service.url}/connect/sessions/${sessionId}`;
  return {
    userId,
    browser,
    url: made.text('url'),
    session: () => browser.request(at),
    submit: (connectorId: string, token: string) =>
      browser.request(`${at}/credentials`, { connectorId, type: 'bearer', data: { token } }),
    async state() {
      const wish = { connectorId: 'oauthy', type: 'oauth2', data: {} };
      const asked = await browser.request(`${at}/authorize`, wish);
      return new URL(String(valueAt(asked.body, 'authorizationUrl'))).searchParams.get('state') ?? '';
    },
    remove: () => service.call('DELETE', `/users/${userId}`),
    credentials: () =>
      service.context.db.selectFrom('credentials').selectAll().where('user_id', '=', userId).execute(),
  };
}

describe('a user who is deleted', () => {
  test('a user deleted during the code exchange leaves no account and no tokens', async () => {
    const ada = await somebody();
    const state = await ada.state();
    const { asked, release } = all.party.hold();
    const back = all.back(ada.browser, { code: 'c1', state });
    await asked;
    expect((await ada.remove()).status).toBe(200);
    release();
    expect((await back).pathname).toBe('/connect/ended');
    expect(await ada.credentials()).toEqual([]);
    expect(all.party.revoked).toHaveLength(1);
  });

  test('a user deleted during the probe of a key gets an error and no account', async () => {
    const ada = await somebody(['keyed']);
    const { asked, release } = all.party.hold();
    const { accessToken } = all.party.issue();
    const submitted = ada.submit('keyed', accessToken);
    await asked;
    await ada.remove();
    release();
    const answer = await submitted;
    expect([answer.status, valueAt(answer.body, 'code')]).toEqual([404, 'user_not_found']);
    expect(await ada.credentials()).toEqual([]);
  });

  test('a user who is deleted has the tokens of every account revoked at the apps', async () => {
    const ada = await somebody();
    await all.back(ada.browser, { code: 'c2', state: await ada.state() });
    expect(await ada.credentials()).toHaveLength(1);
    await ada.remove();
    expect(all.party.revoked.map(({ params }) => params.get('token'))).toEqual([
      expect.stringMatching(/^rt_/),
    ]);
  });
});

describe('a user who is disabled', () => {
  test('a user who is disabled is rejected by link, form, consent and callback', async () => {
    const ada = await somebody();
    const state = await ada.state();
    const disable = (enabled: boolean) =>
      all.service.call('PUT', `/users/${ada.userId}`, { body: { enabled } });
    await disable(false);
    for (const answer of [
      await ada.browser.request(`${ada.url}/open`, {}),
      await ada.session(),
      await ada.submit('keyed', 'x'),
    ]) {
      expect([answer.status, valueAt(answer.body, 'code')]).toEqual([403, 'forbidden']);
      expect(valueAt(answer.body, 'error')).toMatch(/^The user ".*" is disabled\.$/);
    }
    await all.back(ada.browser, { code: 'c3', state });
    expect(all.party.asked).toEqual([]);
    await disable(true);
    expect(valueAt((await ada.session()).body, 'result')).toMatchObject({
      success: false,
      error: 'forbidden',
    });
  });
});

describe('a consent', () => {
  test('a consent connects its account when its window closes during the code exchange', async () => {
    const ada = await somebody();
    const state = await ada.state();
    const { asked, release } = all.party.hold();
    const cookie = ada.browser.cookies(all.service.url);
    const closing = new AbortController();
    const address = `${all.service.url}/oauth/callback/oauthy?${new URLSearchParams({ code: 'c4', state })}`;
    const gone = fetch(address, { headers: { cookie }, signal: closing.signal, redirect: 'manual' });
    await asked;
    closing.abort();
    await expect(gone).rejects.toThrow('aborted');
    release();
    await expect.poll(async () => valueAt((await ada.session()).body, 'result.success')).toBe(true);
  });

  test('a consent that ends in an internal fault shows a sentence and logs the fault', async () => {
    const { context } = all.service;
    const ada = await somebody();
    const state = await ada.state();
    const { sealed } = await context.db
      .selectFrom('oauth_apps')
      .select('sealed')
      .where('connector_id', '=', 'oauthy')
      .executeTakeFirstOrThrow();
    const seal = (text: string) => context.db.updateTable('oauth_apps').set({ sealed: text }).execute();
    await seal('no box of ours');
    const end = await all.back(ada.browser, { code: 'c5', state });
    await seal(sealed);
    expect(end.pathname).toBe('/connect/ended');
    expect(valueAt((await ada.session()).body, 'result')).toEqual({
      success: false,
      error: 'internal',
      message: 'Something went wrong on our side, and nothing was connected. Please try again.',
    });
    expect(all.service.logged.filter((line) => line.includes('"level":50'))).toHaveLength(1);
  });

  test('a consent that returns in two tabs at once makes one account and one result', async () => {
    const ada = await somebody();
    const state = await ada.state();
    const ends = await Promise.all([1, 2].map(() => all.back(ada.browser, { code: 'c6', state })));
    expect(ends.map(({ search }) => search.split('=')[0])).toEqual(['?session', '?session']);
    expect(await ada.credentials()).toHaveLength(1);
    expect(all.party.asked).toHaveLength(1);
  });

  test('a consent that was closed before its end stores nothing and revokes its tokens', async () => {
    const ada = await somebody();
    const state = await ada.state();
    const { asked, release } = all.party.hold();
    const back = all.back(ada.browser, { code: 'c7', state });
    await asked;
    const { body } = await ada.session();
    await ada.browser.request(
      `${all.service.url}/connect/sessions/${String(valueAt(body, 'sessionId'))}/cancel`,
      {},
    );
    release();
    await back;
    expect(await ada.credentials()).toEqual([]);
    expect(all.party.revoked).toHaveLength(1);
    expect(valueAt((await ada.session()).body, 'result.error')).toBe('closed');
  });
});

test('a reconnect rejects a key of another account', async () => {
  const { userId, service } = all;
  const made = await all.call('POST', `/users/${userId}/credentials`, {
    connectorId: 'mirror',
    data: { token: 'leeds' },
  });
  const path = `/users/${userId}/credentials/${made.text('credentialId')}`;
  const link = (await all.call('POST', `${path}/reconnect`, {})).text('authorizationUrl');
  const browser = createBrowser();
  const { sessionId } = await all.open(browser, link);
  const submit = (token: string) =>
    browser.request(`${service.url}/connect/sessions/${sessionId}/credentials`, {
      connectorId: 'mirror',
      type: 'bearer',
      data: { token },
    });
  const other = await submit('york');
  expect([other.status, valueAt(other.body, 'code')]).toEqual([409, 'credential_conflict']);
  expect(valueAt(other.body, 'error')).toBe(
    'That is another Mirror account than the one that is connected here (Shop LEEDS). ' +
      'Take that one, or connect the other as a new account.',
  );
  expect((await submit('leeds')).status).toBe(200);
  // The operator's API accepts a key of another account.
  expect((await all.call('PUT', path, { data: { token: 'york' } })).at('account.id')).toBe('YORK');
});
