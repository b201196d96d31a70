import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { HOUR } from '../../src/lib/clock.ts';
import { valueAt, type Json } from '../../src/lib/json.ts';
import { storeResult, readResultPage } from '../../src/mcp/scope/large-results.ts';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const order = z.looseObject({ id: z.string(), customerId: z.string() });
const partOfText = z.object({ data: z.string(), pagination: z.object({ nextOffset: z.int().optional() }) });

describe.each(STORE_KINDS)('on %s, a result over the budget', (kind) => {
  let ahead = 0;
  const clock = { now: () => Date.now() + ahead };
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind, clock });
    one = await shop(service);
  });
  afterAll(async () => {
    await service.stop();
  });

  const grantOf = async ({ serverId, userId }: { serverId: string; userId: string }) => {
    const live = await service.context.servers.byId('development', serverId);
    if (!live) throw new Error('no server');
    const common = { credentialHeader: undefined, endsAt: Infinity, redirectUri: undefined };
    return { environment: 'development' as const, live, caller: 'test', userId, ...common };
  };
  const execute = (args: object, url = one.accessUrl) =>
    rpc(url, 'tools/call', { name: 'execute_action_svc', arguments: { connectorId: 'sandbox', ...args } });
  const read = (uri: string, url = one.accessUrl, headers: Record<string, string> = {}) =>
    rpc(url, 'resources/read', { uri }, { headers });
  const orders = (args: object) => execute({ actionId: 'list_orders', ...args });

  test('a large list shows whole records and the offset of the next one', async () => {
    const seen: Json[] = [];
    let offset = 0;
    for (let call = 0; call < 100; call += 1) {
      const page = await orders({ parameters: { limit: 50, offset }, maxBytes: 4096 });
      const text = page.at('result.content.0.text');
      expect(Buffer.byteLength(String(text))).toBeLessThanOrEqual(4096);
      expect(JSON.parse(String(text))).toEqual(page.at('result.structuredContent'));
      const data = page.at('result.structuredContent.data');
      if (Array.isArray(data)) seen.push(...data.map((order) => valueAt(order, 'id') ?? null));
      if (page.at('result.structuredContent.pagination.hasMore') !== true) break;
      offset = Number(page.at('result.structuredContent.pagination.nextOffset'));
    }
    expect(new Set(seen).size).toBe(240);
    expect(seen).toHaveLength(240);
  });

  test('a large list links to a resource with all its pages', async () => {
    const whole = await orders({ parameters: { limit: 50 } });
    const short = await orders({ parameters: { limit: 50 }, maxBytes: 2000 });
    const uri = String(short.at('result.structuredContent.result.uri'));
    expect(short.at('result.content.1')).toMatchObject({ type: 'resource_link', uri });
    const page = await read(`${uri}?page=1`);
    expect(page.at('result.contents.0._meta')).toEqual({
      'gatehouse/page': 1,
      'gatehouse/pages': 1,
      'gatehouse/source': 'third_party',
    });
    expect(JSON.parse(String(page.at('result.contents.0.text')))).toEqual(
      whole.at('result.structuredContent'),
    );
  });

  test('a large list is read by page, words, fields and an expression', async () => {
    const whole = await orders({ parameters: { limit: 50 } });
    const short = await orders({ parameters: { limit: 50 }, maxBytes: 2000 });
    const resultId = String(short.at('result.structuredContent.result.resultId'));
    expect(short.at('result.structuredContent.result.note')).toContain('read_result_svc');
    const part = async (args: object) => {
      const read = { name: 'read_result_svc', arguments: { resultId, ...args } };
      return (await rpc(one.accessUrl, 'tools/call', read)).at('result.structuredContent');
    };
    const all = z.array(order).parse(whole.at('result.structuredContent.data'));

    expect(await part({ offset: 48, fields: ['id'] })).toEqual({
      data: all.slice(48).map(({ id }) => ({ id })),
      total: 50,
      pagination: { hasMore: false },
    });
    expect(await part({ limit: 2, fields: ['id', 'nothing'] })).toEqual({
      data: all.slice(0, 2).map(({ id }) => ({ id })),
      total: 50,
      pagination: { hasMore: true, nextOffset: 2 },
      unmatchedFields: ['nothing'],
    });
    const [first] = all;
    const named = all.filter(({ customerId }) => customerId === first?.customerId);
    const query = `${first?.customerId} ORD`;
    expect(await part({ query, fields: ['id'] })).toMatchObject({ total: named.length });
    expect(await part({ expression: '$count(id)' })).toEqual({ data: 50 });
    expect(await part({ expression: '$[0].id' })).toEqual({ data: first?.id });
    expect(await part({ expression: '{"ids": id}', fields: ['ids'] })).toEqual({
      data: { ids: all.map(({ id }) => id) },
    });
    expect(await part({ expression: '$sum(' })).toMatchObject({
      error: { code: 'expression_failed', next: 'Correct the expression and call again.' },
    });
    expect(await part({ resultId: 'res_1' })).toMatchObject({
      error: { code: 'not_found', next: expect.stringContaining('Run the action again') },
    });
  });

  test('a large result of one long text is read in parts', async () => {
    const grant = await grantOf(one);
    const text = JSON.stringify({ data: { body: 'abcdefghij'.repeat(4000) } });
    const caller = `token:${one.serverId}`;
    const stored = await storeResult(service.context, { ...grant, caller }, { text, source: undefined });
    const part = async (offset?: number) => {
      const read = { name: 'read_result_svc', arguments: { resultId: stored.uri, offset } };
      return (await rpc(one.accessUrl, 'tools/call', read)).at('result.structuredContent');
    };
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const { data, pagination } = partOfText.parse(await part(offset));
      parts.push(data);
      offset = pagination.nextOffset;
    }
    expect(JSON.parse(parts.join(''))).toEqual({ body: 'abcdefghij'.repeat(4000) });
    expect(parts).toHaveLength(3);
  });

  test('a large result of one record shows its start and links to the whole', async () => {
    const lines = Array.from({ length: 30 }, (_, at) => ({ productId: `prd_${101 + at}`, quantity: 1 }));
    const parameters = { customerId: 'cus_1001', lines };
    const made = await execute({ actionId: 'create_order', parameters, maxBytes: 1024 });
    expect(Buffer.byteLength(String(made.at('result.content.0.text')))).toBeLessThanOrEqual(1024);
    const uri = String(made.at('result.structuredContent.result.uri'));
    const begins = String(made.at('result.structuredContent.result.begins'));
    const client = await connectClient(one.accessUrl);
    const { contents } = await client.readResource({ uri });
    await client.close();
    const [content] = contents;
    const text = content && 'text' in content ? content.text : '';
    expect(text.startsWith(begins)).toBe(true);
    expect(valueAt(JSON.parse(text), 'data.lines.29.productId')).toBe('prd_130');
    expect((await read(`${uri}?page=2`)).at('error.code')).toBe(-32002);
  });

  test('a large result is readable for an hour, by the same caller, user and server', async () => {
    const uri = String((await orders({ maxBytes: 1024 })).at('result.structuredContent.result.uri'));
    const other = await shop(service);
    const withKey = { authorization: `Bearer ${service.developmentKey}`, 'x-svc-userid': one.userId };
    const part = async (resultId: string, url = one.accessUrl) => {
      const read = { name: 'read_result_svc', arguments: { resultId } };
      return (await rpc(url, 'tools/call', read)).at('result.structuredContent.error') ?? 'read';
    };
    expect((await read(uri)).at('result.contents.0.uri')).toBe(uri);
    expect(await part(uri)).toBe('read');
    expect(await part(uri, other.accessUrl)).toMatchObject({ code: 'not_found' });
    expect((await read(uri, other.accessUrl)).at('error.code')).toBe(-32002);
    // The same user and server with another token.
    expect((await read(uri, one.url, withKey)).at('error.code')).toBe(-32002);
    await service.call('PUT', `/api/servers/${one.serverId}`, {
      body: { restrictions: { actions: { blockedActions: ['list_orders'] } } },
    });
    expect((await read(uri)).at('error.code')).toBe(-32003);
    expect(await part(uri)).toMatchObject({ code: 'restricted' });
    await service.call('PUT', `/api/servers/${one.serverId}`, { body: { restrictions: {} } });
    ahead += HOUR;
    expect((await read(uri)).at('error.code')).toBe(-32002);
    expect(await part(uri)).toMatchObject({ code: 'not_found' });
  });

  test('a large result is sealed in the store and deleted with its user', async () => {
    const other = await shop(service);
    const answer = await execute({ actionId: 'list_customers', maxBytes: 1024 }, other.accessUrl);
    const resultId = String(answer.at('result.structuredContent.result.resultId'));
    const pages = () =>
      service.context.db.selectFrom('result_pages').selectAll().where('result_id', '=', resultId).execute();
    expect(JSON.stringify(await pages())).not.toContain('cus_1');
    expect(await pages()).toHaveLength(1);
    await service.call('DELETE', `/users/${other.userId}`);
    expect(await pages()).toHaveLength(0);
  });

  test('a large result has pages that do not split a character', async () => {
    const grant = await grantOf(one);
    for (const text of ['🦉'.repeat(50_000), `x${'🦉'.repeat(50_000)}`]) {
      const { resultId, pages } = await storeResult(service.context, grant, { text, source: undefined });
      const read = await Promise.all(
        Array.from({ length: pages }, (_, at) =>
          readResultPage(service.context, grant, { resultId, page: at + 1 }),
        ),
      );
      expect(read.map((page) => page?.text).join('') === text).toBe(true);
      expect(read.every((page) => page?.text.isWellFormed())).toBe(true);
    }
  });

  test('a full store evicts the oldest large results, first of the same user', async () => {
    const { context } = service;
    const mine = await grantOf(await shop(service));
    const theirs = await grantOf(await shop(service));
    await context.db.deleteFrom('results').execute();
    const limits = { perUser: 100, all: 150 };
    const keep = async (grant: typeof mine, size: number) => {
      ahead += 1;
      const stored = await storeResult(context, grant, { text: 'x'.repeat(size), source: undefined, limits });
      return { grant, id: stored.resultId };
    };
    const isThere = async ({ grant, id }: { grant: typeof mine; id: string }) =>
      (await readResultPage(context, grant, { resultId: id, page: 1 })) !== undefined;

    const first = await keep(mine, 60);
    const foreign = await keep(theirs, 50);
    const second = await keep(mine, 60);
    expect(await Promise.all([first, foreign, second].map(isThere))).toEqual([false, true, true]);
    const third = await keep(theirs, 50);
    expect(await Promise.all([foreign, second, third].map(isThere))).toEqual([false, true, true]);
  });
});
