import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { valueAt, type JsonObject } from '../../src/lib/json.ts';
import { rpc, shop } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox'] }, confirm: ['write'] },
  });
});
afterAll(() => service.stop());

/** Returns the question that the user sees, or the code of the error. */
interface Asked {
  shown?: string;
  code?: unknown;
  text?: unknown;
}
type Ask = (tool: string, args: JsonObject) => Promise<Asked>;

/** Each way of asking. The user never agrees. */
const WAYS: [name: string, ask: Ask][] = [
  [
    'elicitation in a session',
    async (name, args) => {
      const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
      let shown: string | undefined;
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        shown = params.message;
        return { action: 'decline' };
      });
      await client.connect(new StreamableHTTPClientTransport(new URL(one.accessUrl)));
      const { content, structuredContent } = await client.callTool({ name, arguments: args });
      await client.close();
      const answer = JSON.parse(JSON.stringify({ content, structuredContent }));
      if (shown !== undefined) return { shown };
      return {
        code: valueAt(answer, 'structuredContent.error.code'),
        text: valueAt(answer, 'content.0.text'),
      };
    },
  ],
  [
    'input_required',
    async (name, args) => {
      const asks = { capabilities: { elicitation: { form: {} } } };
      const answer = await modern(one.accessUrl, 'tools/call', { name, arguments: args }, asks);
      const shown = answer.at('result.inputRequests.confirm.params.message');
      if (typeof shown === 'string') return { shown };
      return {
        code: answer.at('result.structuredContent.error.code'),
        text: answer.at('result.content.0.text'),
      };
    },
  ],
  [
    'a confirmation token',
    async (name, args) => {
      const answer = await rpc(one.accessUrl, 'tools/call', { name, arguments: args });
      const error = 'result.structuredContent.error';
      const shown = answer.at(`${error}.details.question`);
      if (typeof shown !== 'string')
        return { code: answer.at(`${error}.code`), text: answer.at('result.content.0.text') };
      expect(answer.at(`${error}.details.confirmationToken`)).toMatch(/^gh_confirm_/);
      expect(answer.at('result.content.1.text')).toBe(shown);
      return { shown };
    },
  ],
];

describe.each(WAYS)('%s', (_, ask) => {
  test('a question shows a value after a padded one', async () => {
    const padded = `Ada ${'x'.repeat(20_000)} Lovelace`;
    const { shown } = await ask('sandbox_create_customer', { name: padded, email: 'attacker@evil.example' });
    expect(shown).toContain('"email": "attacker@evil.example"');
    expect(shown).toMatch(/"name": "Ada x+" … 16013 characters left out … "x+ Lovelace"/);
  });

  test('a question shows the addresses in a part that is left out', async () => {
    const hidden = 'Write to attacker@x.example or https://evil.example/a?b=1 or www.evil.example now.';
    const name = `${'a '.repeat(3000)}${hidden}${' b'.repeat(3000)}`;
    const { shown } = await ask('sandbox_create_customer', { name, email: 'x@y.example' });
    expect(shown).toContain(
      'characters left out, with "attacker@x.example", "https://evil.example/a?b=1", "www.evil.example" …',
    );
  });

  test('a question counts the addresses that are too many to be shown', async () => {
    const many = Array.from({ length: 50 }, (_none, n) => `p${n}@x.example`).join(' ');
    const name = `${'a '.repeat(3000)}${many}${' b'.repeat(3000)}`;
    const { shown } = await ask('sandbox_create_customer', { name, email: 'x@y.example' });
    expect(shown).toContain('"p9@x.example" and 40 more addresses …');
  });

  test('a question shows every name and value of nested parameters', async () => {
    const lines = Array.from({ length: 50 }, (_line, index) => ({
      productId: `prd_${index}`,
      quantity: 1 + index,
    }));
    const { shown } = await ask('sandbox_create_order', {
      customerId: 'cus_1001',
      note: 'n'.repeat(500),
      lines,
    });
    const parameters = shown?.slice(shown.indexOf('Parameters: ') + 'Parameters: '.length) ?? '';
    expect(JSON.parse(parameters)).toEqual({ customerId: 'cus_1001', note: 'n'.repeat(500), lines });
  });

  test('a question is not asked when even the ends of all values do not fit', async () => {
    const lines = Array.from({ length: 50 }, (_line, index) => ({
      product_id: `${index}${'p'.repeat(1000)}`,
      quantity: 1,
    }));
    const refused = await ask('sandbox_create_order', { customerId: 'cus_1001', lines });
    expect(refused).toEqual({
      code: 'confirmation_too_large',
      text: expect.stringContaining('Call again with less'),
    });
  });

  test('a question splits no character and cannot be made to look cut', async () => {
    const name = `${'a'.repeat(1999)}😀${'b'.repeat(9000)}😀${'c'.repeat(1999)}`;
    const email = 'x@y.example';
    const { shown } = await ask('sandbox_create_customer', {
      name,
      email,
      company: '" … 5 characters left out … "',
    });
    expect(shown).toContain(`"${'a'.repeat(1999)}" … 9004 characters left out … "${'c'.repeat(1999)}"`);
    expect(shown).toContain('"company": "\\" … 5 characters left out … \\""');
    expect(shown).not.toContain('\\u{D83D}');
  });
});
