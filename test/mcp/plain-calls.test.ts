import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* Members of `_meta` that the server does not know do not change the answer of tools/call. */
let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, {
    restrictions: { connectors: { allowedIds: ['sandbox'] }, actions: { blockedActions: ['delete_*'] } },
  });
});
afterAll(() => service.stop());

describe('a tools/call', () => {
  test.each<[string, object]>([
    ['of a built-in tool', { name: 'list_connectors_svc' }],
    ['with wrong arguments', { name: 'get_connector_svc', arguments: { connector: 1 } }],
    ['of an action', { name: 'sandbox_list_customers', arguments: { limit: 2 } }],
    ['that the third party refuses', { name: 'sandbox_get_customer', arguments: { customerId: 'cus_0' } }],
    ['of an unknown tool', { name: 'nothing' }],
    ['of a restricted tool', { name: 'sandbox_delete_customer', arguments: { customerId: 'cus_0' } }],
    ['without a name', { arguments: {} }],
    ['whose arguments are a list', { name: 'list_connectors_svc', arguments: [] }],
    ['with a progress token', { name: 'list_connectors_svc', _meta: { progressToken: 'p' } }],
  ])('a tools/call %s is answered the same with unknown members of _meta', async (_, params) => {
    const meta = '_meta' in params ? params['_meta'] : {};
    const plain = await rpc(one.accessUrl, 'tools/call', params, { id: 'q' });
    const checked = await rpc(
      one.accessUrl,
      'tools/call',
      { ...params, _meta: { ...Object(meta), 'example.com/x': 1 } },
      { id: 'q' },
    );
    expect(checked.status).toBe(plain.status);
    expect(withoutRequestId(plain.body)).toBe(withoutRequestId(checked.body));
    expect(plain.at('id')).toBe('q');
  });

  test.each([
    { _meta: 5 },
    { _meta: { 'io.modelcontextprotocol/related-task': 1 } },
    { _meta: { progressToken: {} } },
    { _meta: { progressToken: 1.5 } },
  ])('a tools/call with %j is refused', async (wrong) => {
    const answer = await rpc(one.accessUrl, 'tools/call', { name: 'list_connectors_svc', ...wrong });
    expect(answer.at('error.code')).toBe(-32602);
  });
});

function withoutRequestId(body: unknown): string {
  return JSON.stringify(body).replaceAll(/"requestId":"[^"]+"/g, '"requestId":"…"');
}
