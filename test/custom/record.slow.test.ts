import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { PATIENCE_MS } from '../support/until.ts';

/* connectors record against an app that answers with the data, and with the secrets, of a real account. */

const TOKEN = 'tok_live_9f8e7d6c5b4a';
const FILE = `id: desk
name: Desk
description: An app of the tests.
categories: [data]
website: https://desk.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: '{origin}'
variables:
  origin: { title: Origin, format: origin }
authentication: [{type: bearer}]
paging:
  pages: { style: link, limitParam: limit, maxLimit: 1 }
actions:
  list_tickets:
    description: Lists the tickets.
    request: GET /tickets
    paging: pages
    response:
      data: tickets
      map: '{"id": id, "closed": status = "closed", "by": reporter.email}'
    each:
      - { action: get_person, input: { personId: '{record.by}' } }
  get_person:
    description: Reads a person.
    request: GET /people/{personId}
    path: { personId: { type: string } }
  close_ticket:
    description: Closes a ticket.
    request: POST /tickets/{ticketId}/close
    path: { ticketId: { type: string } }
    body:
      note: { type: string, required: true }
`;

interface App extends AsyncDisposable {
  origin: string;
}

/** An app whose answers echo the token in every way that it knows. */
async function startApp(): Promise<App> {
  const server = createServer((req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://app');
    const send = (body: unknown, headers = {}) =>
      res.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    const ticket = (id: number, status: string, reporter = 'ada') => ({
      id,
      status,
      reporter: { email: `${reporter}.lovelace@analytical.org`, name: 'Ada Lovelace' },
      opened: '2026-05-04T10:11:12Z',
      price: '129.90',
    });
    if (pathname.startsWith('/people/'))
      return send({ person: decodeURIComponent(pathname.slice(8)), phone: '+44 20 7946 0958' });
    if (req.method === 'POST') return send({ ok: true, seen: req.headers.authorization });
    if (searchParams.has('after')) return send({ tickets: [ticket(445_566, 'closed', 'byron')] });
    return send(
      {
        tickets: [ticket(112_233, 'open')],
        echo: `Bearer ${TOKEN}`,
        status: TOKEN,
        [TOKEN]: Buffer.from(TOKEN).toString('base64'),
      },
      { link: `<${app.origin}/tickets?limit=1&after=112233>; rel="next"`, 'set-cookie': `s=${TOKEN}` },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const app = {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return app;
}

function prepared(home: string) {
  const folder = join(home, 'connectors', 'desk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'connector.yaml'), FILE);
  const env = cliEnv(home, { GATEHOUSE_ALLOW_PRIVATE_NETWORK: 'true' });
  return { examples: join(folder, 'examples.yaml'), file: join(folder, 'connector.yaml'), env };
}

test('a live list becomes an example that replays, without data of the account', async () => {
  using home = tempHome();
  await using app = await startApp();
  const { examples, file, env } = prepared(home.path);
  const credential = JSON.stringify({ token: TOKEN, origin: app.origin });
  const args = ['connectors', 'record', 'desk.list_tickets', '--credential', '-', '--input', '{"limit": 2}'];

  const shown = await runCli(args, env, { input: credential });
  expect([shown.code, shown.err]).toEqual([0, expect.stringContaining('Nothing was written')]);
  expect(shown.out).toContain('+ - action: list_tickets');

  writeFileSync(examples, '# Kept.\nexamples: # all of them\n');
  const written = await runCli([...args, '--write'], env, { input: credential });
  expect([written.code, written.err]).toEqual([0, expect.stringContaining('its new example replays')]);
  const text = readFileSync(examples, 'utf8');
  expect(text).toContain('# Kept.');
  const forms = [
    TOKEN,
    ...(['base64', 'hex', 'base64url'] as const).map((form) => Buffer.from(TOKEN).toString(form)),
  ];
  for (const real of [
    ...forms,
    'Lovelace',
    'ada',
    'analytical',
    '112233',
    '445566',
    '2026-05-04',
    '129.90',
    '7946',
  ])
    expect(text).not.toContain(real);

  const example = parseJson(JSON.stringify(parse(text)));
  const [record] = [valueAt(example, 'examples.0.response.body.tickets.0')];
  expect(record).toMatchObject({
    status: 'open',
    opened: expect.stringMatching(/^\d{4}-\d\d-\d\dT10:11:12Z$/),
  });
  // A name becomes words that can be read.
  expect(valueAt(record, 'reporter.name')).toMatch(/^(Ash|Bay|Elm|Fir|Oak|Sea|Sky|Sun) [A-Z][a-z]{7}$/);
  expect(valueAt(record, 'reporter.email')).toMatch(/^[a-z]{3}\.[a-z]{8}@example\.com$/);
  expect(valueAt(example, 'examples.0.output.data.0.id')).toBe(valueAt(record, 'id'));
  expect(valueAt(example, 'examples.0.output.data.1.closed')).toBe(true);
  expect(valueAt(example, 'examples.0.output.data.0.person')).toBe(valueAt(record, 'reporter.email'));
  for (const at of [0, 1]) {
    const one = valueAt(example, `examples.0.output.data.${at}`);
    expect(valueAt(one, 'person')).toBe(valueAt(one, 'by'));
  }
  const next = String(valueAt(example, 'examples.0.response.headers.link'));
  expect(next).toContain(`after=${String(valueAt(record, 'id'))}`);

  const checked = await runCli(['connectors', 'check', file], env);
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('1 examples replayed')]);
});

test('replaced values match the patterns of the address, the key and the parameters', async () => {
  using home = tempHome();
  await using app = await startApp();
  const { examples, file, env } = prepared(home.path);
  const patterns: [string, string][] = [
    ['format: origin', "format: origin, pattern: '^http://127[.]0[.]0[.]1:[0-9]+$'"],
    ['type: bearer', "type: bearer, fields: {token: {title: Token, pattern: '^tok_live_[b-e]{6}$'}}"],
    ['personId: { type: string }', "personId: { type: string, pattern: '^P-[A-F]{6}[0-9]{4}$' }"],
  ];
  writeFileSync(
    file,
    patterns.reduce((text, [plain, given]) => text.replace(plain, () => given), FILE),
  );
  const credential = JSON.stringify({ token: 'tok_live_decbed', origin: app.origin });
  const input = ['--input', '{"personId": "P-FACADE4711"}'];
  const args = ['connectors', 'record', 'desk.get_person', '--credential', '-', '--write', ...input];
  const { code, err } = await runCli(args, env, { input: credential });
  expect([code, err]).toEqual([0, expect.stringContaining('its new example replays')]);

  const text = readFileSync(examples, 'utf8');
  for (const real of ['decbed', 'FACADE', '4711', app.origin.split(':')[2] ?? '', '7946'])
    expect(text).not.toContain(real);
  const example = parseJson(JSON.stringify(parse(text)));
  expect(valueAt(example, 'examples.0.credential')).toEqual({
    token: expect.stringMatching(/^tok_live_[b-e]{6}$/),
    origin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  });
  const personId = valueAt(example, 'examples.0.input.personId');
  expect(personId).toMatch(/^P-[A-F]{6}\d{4}$/);
  // The app repeats the id, which is replaced by the same text.
  expect(valueAt(example, 'examples.0.response.body.person')).toBe(personId);
  const checked = await runCli(['connectors', 'check', file], env);
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('1 examples replayed')]);
});

test('values inside of lists and objects of a body match their patterns', async () => {
  using home = tempHome();
  await using app = await startApp();
  const { examples, file, env } = prepared(home.path);
  const parts = `parts:
        type: array
        items:
          type: object
          properties: { sku: { type: string, pattern: '^K-[A-F]{4}-[0-9]{4}$' } }`;
  writeFileSync(
    file,
    FILE.replace('note: {', () => `${parts}\n      note: {`),
  );
  const credential = JSON.stringify({ token: TOKEN, origin: app.origin });
  const input = JSON.stringify({ ticketId: '987654', note: 'K-FADE-4711', parts: [{ sku: 'K-FADE-4711' }] });
  const options = ['--credential', '-', '--allow-writes', '--write', '--input', input];
  const { code, err } = await runCli(['connectors', 'record', 'desk.close_ticket', ...options], env, {
    input: credential,
  });
  expect([code, err]).toEqual([0, expect.stringContaining('its new example replays')]);

  const text = readFileSync(examples, 'utf8');
  for (const real of ['FADE', '4711']) expect(text).not.toContain(real);
  const example = parseJson(JSON.stringify(parse(text)));
  const sku = valueAt(example, 'examples.0.input.parts.0.sku');
  expect(sku).toMatch(/^K-[A-F]{4}-\d{4}$/);
  // Equal values get equal replacements, inside and outside of the list.
  expect(valueAt(example, 'examples.0.input.note')).toBe(sku);
});

test('a write is recorded only with consent, next to examples that stay as they are', async () => {
  using home = tempHome();
  await using app = await startApp();
  const { examples, file, env } = prepared(home.path);
  const key = join(home.path, 'key.json');
  writeFileSync(key, JSON.stringify({ token: TOKEN, origin: app.origin }));
  const args = ['connectors', 'record', 'desk.close_ticket', '--credential', key, '--write'];
  const input = ['--input', '{"ticketId": "987654", "note": "Ask Ada Lovelace"}'];

  const refused = await runCli([...args, ...input], env);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('--allow-writes')]);
  for (const turn of [1, 2]) {
    const { code } = await runCli([...args, ...input, '--allow-writes'], env);
    expect([turn, code]).toEqual([turn, 0]);
  }
  const text = readFileSync(examples, 'utf8');
  for (const real of [TOKEN, 'Lovelace', '987654']) expect(text).not.toContain(real);
  const checked = await runCli(['connectors', 'check', file], env);
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('2 examples replayed')]);
});

test(
  'a credential of the store makes the call, and goes to no other origin',
  async () => {
    using home = tempHome();
    await using app = await startApp();
    const { examples, file, env: own } = prepared(home.path);
    const key = newApiKey('development');
    const env = {
      ...own,
      GATEHOUSE_DEVELOPMENT_KEY: key,
      GATEHOUSE_PRODUCTION_KEY: newApiKey('production'),
    };
    let credentialId = '';
    {
      await using service = await startCli(env);
      const send = async (path: string, body: object, more = {}) => {
        const headers = {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-api-version': '2025-09',
          ...more,
        };
        const answer = await fetch(service.url + path, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        const text = await answer.text();
        if (!answer.ok) throw new Error(text);
        return parseJson(text);
      };
      const userId = String(valueAt(await send('/users', { username: 'ada' }), 'userId'));
      const data = { token: TOKEN, origin: app.origin };
      const made = await send(
        `/users/${userId}/credentials`,
        { connectorId: 'desk', data },
        { 'x-svc-userid': userId },
      );
      credentialId = String(valueAt(made, 'credentialId'));
      await service.stop();
    }
    const record = (...more: string[]) =>
      runCli(['connectors', 'record', 'desk.get_person', '--input', '{"personId": "ada"}', ...more], env);

    const done = await record('--credential-id', credentialId, '--write');
    expect([done.code, done.err]).toEqual([0, expect.stringContaining('its new example replays')]);
    expect(readFileSync(examples, 'utf8')).not.toContain(TOKEN);

    const absent = await record('--credential-id', credentialId, '--environment', 'production');
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining('no credential')]);
    const both = await record('--credential-id', credentialId, '--credential', '-');
    expect([both.code, both.err]).toEqual([1, expect.stringContaining('not both')]);

    writeFileSync(file, FILE.replace("baseUrl: '{origin}'", 'baseUrl: https://elsewhere.example.com'));
    const moved = await record('--credential-id', credentialId);
    expect([moved.code, moved.err]).toEqual([1, expect.stringContaining('was made for another address')]);
  },
  PATIENCE_MS,
);

test('faults of the command are named, and never quote the credential', async () => {
  using home = tempHome();
  const { env } = prepared(home.path);
  const fails = async (args: string[], input = '{}') => {
    const { code, out, err } = await runCli(['connectors', 'record', ...args], env, { input });
    expect([code, out]).toEqual([1, '']);
    return err;
  };
  expect(await fails(['desk'])).toContain('is no <connector>.<action>');
  expect(await fails(['nothing.list_x'])).toContain('There is no ');
  expect(await fails(['desk.list_x', '--credential', '-'], `{"token": "${TOKEN}"}`)).toContain(
    '"list_x" is no action of this connector',
  );
  const broken = await fails(['desk.get_person', '--credential', '-'], `{"token": "${TOKEN}"`);
  expect(broken).toContain('--credential: is not JSON');
  expect(broken).not.toContain(TOKEN);
});
