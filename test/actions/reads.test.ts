import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';
import { rpc } from '../support/mcp.ts';
import { openOAuth, runAction } from '../support/oauth.ts';
import { startService, type Service } from '../support/service.ts';
import { SHOP, startThirdParty, type SetAnswer, type ThirdParty } from '../support/third-party.ts';

/** Lists of ids that are completed, and writes that are filled in. */
const READS = `${SHOP}  read_part: {internal: true, description: A part., request: 'GET /parts/{partId}', path: {partId: {type: string}}}
  list_completed:
    description: Things with their labels.
    request: GET /cursors
    paging: cursor
    parts:
      bare: {type: boolean}
    each:
      - {unless: {parameter: bare}, action: get_thing, input: {thingId: '{record.key}'}}
    response: {data: data, map: '{"key": id}'}
  answer_thing:
    description: An answer.
    request: POST /answers
    before:
      reads:
        thing: {action: get_thing, input: {thingId: '{input.thingId}'}}
        parts: {action: read_part, for: thing.parts, input: {partId: '{item}'}}
      fill: {title: '"Re: " & thing.title', total: $sum(parts.price)}
    parts: {thingId: {type: string, required: true}}
    body:
      text: {type: string, required: true}
      title: {type: string}
      total: {type: number}
`;

/** The same, of which an account may call four times in a while: the probe, a list and two reads. */
const LIMITED = READS.replace('id: shop', 'id: limited').replace(
  'actions:',
  'rateLimit: {requests: 4, perSeconds: 600}\nactions:',
);

describe('an action with further reads', () => {
  let folder: string;
  let service: Service;
  let party: ThirdParty;
  let userId: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-connectors-'));
    for (const [id, text] of Object.entries({ shop: READS, limited: LIMITED })) {
      mkdirSync(join(folder, id));
      writeFileSync(join(folder, id, 'connector.yaml'), text);
    }
    party = await startThirdParty();
    service = await startService({ catalogFolder: folder });
  });
  afterAll(async () => {
    await service.stop();
    await party[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    party.answer = undefined;
    party.total = 12;
    const body = { username: `ada ${Math.random()}` };
    userId = (await service.call('POST', '/users', { body })).text('userId');
    const data = { apiKey: party.otherKey(), origin: party.origin };
    await call('POST', `/users/${userId}/credentials`, { connectorId: 'shop', data });
    party.seen.length = 0;
  });

  const call = (method: string, path: string, body?: object) =>
    service.call(method, path, {
      headers: { 'x-svc-userid': userId },
      ...(body === undefined ? {} : { body }),
    });
  const execute = (actionId: string, input: object = {}) =>
    call('POST', `/connectors/shop/actions/${actionId}/execute`, { input });
  /** Answers reads of things by their id. */
  const things = (answer: (id: string) => SetAnswer) => {
    party.answer = ({ path }) => (path.startsWith('/things/') ? answer(path.slice(8)) : undefined);
  };
  const labelled = (id: string): SetAnswer => ({ status: 200, body: { label: `thing ${id}` } });
  const paths = () => party.seen.map(({ method, path }) => `${method} ${path}`);

  test('a list action with further reads completes each record and keeps its paging', async () => {
    things(labelled);
    const first = await execute('list_completed', { limit: 10 });
    expect(first.at('data.9')).toEqual({ key: 10, label: 'thing 10' });
    expect(first.at('pagination')).toEqual({ hasMore: true, nextOffset: 10 });
    const rest = await execute('list_completed', { limit: 10, offset: 10 });
    expect(rest.at('data')).toEqual([
      { key: 11, label: 'thing 11' },
      { key: 12, label: 'thing 12' },
    ]);
    expect(rest.at('pagination')).toEqual({ hasMore: false });
    expect(paths().filter((path) => path === 'GET /cursors')).toHaveLength(2);
  });

  test('an action with further reads reads five records at the same time', async () => {
    const held: (() => void)[] = [];
    let answered = 0;
    let most = 0;
    const answer = () => {
      answered++;
      held.shift()?.();
    };
    let holds = true;
    things((id) => {
      if (!holds) return labelled(id);
      const after = new Promise<void>((resolve) => held.push(resolve));
      most = Math.max(most, held.length);
      return { ...labelled(id), after };
    });
    const listed = execute('list_completed');
    for (const arrived of [5, 6, 7]) {
      await expect.poll(() => held.length + answered).toBe(arrived);
      answer();
    }
    holds = false;
    while (held.length > 0) answer();
    expect((await listed).status).toBe(200);
    expect(most).toBe(5);
  });

  test('an action with further reads makes no reads where the caller declines them', async () => {
    expect((await execute('list_completed', { bare: true, limit: 1 })).at('data')).toEqual([{ key: 1 }]);
    expect(paths()).toEqual(['GET /cursors']);
  });

  test('a record that cannot be read has the reason, with the words of the app apart', async () => {
    things((id) => (id === '2' ? { status: 404, body: { message: 'it went away' } } : labelled(id)));
    const { status, at } = await execute('list_completed', { limit: 3 });
    expect(status).toBe(200);
    expect(at('data')).toEqual([
      { key: 1, label: 'thing 1' },
      {
        key: 2,
        readError: {
          code: 'upstream_rejected',
          message: 'Shop refused the call (HTTP 404).',
          said: 'it went away',
        },
      },
      { key: 3, label: 'thing 3' },
    ]);
  });

  test('further reads of an action count toward the limit of the connector', async () => {
    things(labelled);
    const data = { apiKey: party.otherKey(), origin: party.origin };
    await call('POST', `/users/${userId}/credentials`, { connectorId: 'limited', data });
    const path = '/connectors/limited/actions/list_completed/execute';
    const listed = await call('POST', path, { input: { limit: 3 } });
    expect(listed.at('data')).toMatchObject([
      { key: 1, label: 'thing 1' },
      { key: 2, label: 'thing 2' },
      { key: 3, readError: { code: 'upstream_rate_limited' } },
    ]);
    expect(paths().filter((one) => one.startsWith('GET /things/'))).toHaveLength(2);
  });

  test('an action fails as a whole where every further read exceeds the limit', async () => {
    things(() => ({ status: 429, headers: { 'retry-after': '90' } }));
    const limited = await execute('list_completed', { limit: 3 });
    expect([limited.status, limited.at('code')]).toEqual([429, 'upstream_rate_limited']);
  });

  test('an action with further reads fails as a whole where the credential is dead', async () => {
    party.answer = ({ path }) => (path === '/cursors' ? undefined : { status: 401 });
    expect((await execute('list_completed', { limit: 20 })).at('code')).toBe('credential_invalid');
  });

  test('an action makes no further read that the server does not allow', async () => {
    const server = await call('POST', '/api/servers', {
      name: `s ${userId}`,
      toolMode: 'direct',
      restrictions: { actions: { mode: 'blocklist', blockedActions: ['shop.get_thing'] } },
    });
    const run = (name: string, args: object) =>
      rpc(server.text('accessUrl'), 'tools/call', { name, arguments: args });
    const listed = await run('shop_list_completed', { limit: 1 });
    expect(listed.at('result.structuredContent.data')).toMatchObject([
      { key: 1, readError: { code: 'restricted' } },
    ]);
    const refused = await run('shop_answer_thing', { thingId: '1', text: 'x' });
    expect(refused.at('result.structuredContent.error.code')).toBe('restricted');
    const simulated = await call('POST', `/api/servers/${server.text('serverId')}/simulate`, {
      userId,
      connectorId: 'shop',
      actionId: 'answer_thing',
      input: { thingId: '1', text: 'x' },
    });
    expect(simulated.body).toMatchObject({ outcome: 'denied', rule: 'actions.blockedActions' });
    expect(paths()).toEqual(['GET /cursors']);
  });

  test('an action fills parameters from its reads, and callers cannot set them', async () => {
    things(() => ({ status: 200, body: { title: 'Lamp', parts: ['a', 'b'] } }));
    const { answer } = party;
    party.answer = (seen) =>
      seen.path.startsWith('/parts/')
        ? { status: 200, body: { price: seen.path.endsWith('a') ? 2 : 3 } }
        : seen.path === '/answers'
          ? { status: 200, body: JSON.parse(seen.body) }
          : answer?.(seen);
    expect((await execute('answer_thing', { thingId: '7', text: 'Yes' })).at('data')).toEqual({
      text: 'Yes',
      title: 'Re: Lamp',
      total: 5,
    });
    expect(paths()[0]).toBe('GET /things/7');
    expect(paths().at(-1)).toBe('POST /answers');
    const given = await execute('answer_thing', { thingId: '7', text: 'Yes', title: 'Mine' });
    expect(given.at('code')).toBe('invalid_request');
  });

  test('an action sends nothing after a read before it fails', async () => {
    things(() => ({ status: 404 }));
    expect((await execute('answer_thing', { thingId: '7', text: 'Yes' })).at('code')).toBe(
      'upstream_rejected',
    );
    expect(paths()).toEqual(['GET /things/7']);
  });

  test.each([
    [
      "action: get_thing, input: {thingId: '{record",
      "action: list_none, input: {thingId: '{record",
      /must read, be no list/,
    ],
    ['{record.key}', '{recrod.key}', /"recrod" is none of input, record/],
    ["input: {thingId: '{record.key}'}", 'input: {}', /lacks thingId, which "get_thing" requires/],
    ['total: $sum', 'sum: $sum', /fill\.sum: is no parameter of this action|sum.*is no parameter/],
    ['unless: {parameter: bare}', 'unless: {parameter: bear}', /names no parameter/],
    ['$sum(parts.price)', '$sum(', /is not a valid JSONata expression/],
    [
      'request: GET /me}',
      'request: GET /me, before: {reads: {a: {action: get_thing}}, fill: {a: a}}}',
      /probe: must be one call/,
    ],
  ])('the check of further reads refuses %s as %s', async (from, to, fault) => {
    expect(READS).toContain(from);
    const file = join(folder, 'changed.yaml');
    writeFileSync(file, READS.replace(from, to));
    const { faults } = await checkFile(file);
    expect(faults.map(({ path, rule }) => `${path}: ${rule}`).join('\n')).toMatch(fault);
  });
});

test('reads whose token ends in between share one renewal and start again', async () => {
  await using bench = await openOAuth();
  await bench.connect();
  bench.party.endsAfterLists = 1;
  const { data } = await runAction(bench, { actionId: 'list_notes' });
  expect(data).toEqual([1, 2, 3].map((note) => ({ note, id: 'acc_1', name: 'Ada' })));
  expect(bench.party.asked).toHaveLength(1);
  expect(bench.party.reused).toBe(0);
});
