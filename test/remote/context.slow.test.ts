import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { connectClient } from '../support/mcp.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** Adds resources and prompts to a remote server. `owner` is in their texts. */
function addContext(server: McpServer, owner: string): void {
  const text = (words: string) => [{ uri: 'note://a', text: `${words} of ${owner}` }];
  server.registerResource('first', 'note://a', { description: 'The first note.' }, () => ({
    contents: text('note'),
  }));
  const colours = {
    complete: { colour: (begin: string) => ['red', 'rose'].filter((c) => c.startsWith(begin)) },
  };
  server.registerResource(
    'coloured',
    new ResourceTemplate('note://{colour}/all', { list: undefined, ...colours }),
    { title: 'By colour' },
    (uri, { colour }) => ({ contents: [{ uri: uri.href, text: String(colour) }] }),
  );
  const argsSchema = { topic: completable(z.string(), (begin) => [`${begin}!`]) };
  server.registerPrompt('summary', { description: 'Sums up.', argsSchema }, ({ topic }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Sum up ${topic} of ${owner}.` } }],
  }));
}

describe.each(STORE_KINDS)('resources and prompts of remote servers over %s', (kind) => {
  let service: Service;
  let remote: RemoteServer;
  let other: RemoteServer;
  beforeAll(async () => {
    remote = await startRemoteServer();
    other = await startRemoteServer();
    other.tools = (server) => addContext(server, 'other');
    service = await startService({ kind });
  });
  afterAll(async () => {
    await service.stop();
    await remote[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    remote.instead = undefined;
    remote.tools = (server) => addContext(server, 'remote');
  });

  const add = (connectorId: string, url: string) =>
    service.call('POST', '/api/connectors', { body: { mcp: { connectorId, url } } });
  const urlOf = async (name: string, restrictions: object) =>
    (await service.call('POST', '/api/servers', { body: { name, restrictions } })).text('accessUrl');

  test('two servers with equal addresses and names do not clash', async () => {
    expect((await add('one', remote.url)).at('report.tools')).toBe(6);
    await add('two', other.url);
    const client = await connectClient(await urlOf('both', { connectors: { allowedIds: ['one', 'two'] } }));
    const { resources } = await client.listResources();
    const theirs = resources.filter(({ uri }) => uri.startsWith('svc://remote/'));
    expect(theirs.map(({ uri }) => uri)).toEqual(['svc://remote/one/note://a', 'svc://remote/two/note://a']);
    for (const [uri, owner] of [
      ['svc://remote/one/note://a', 'remote'],
      ['svc://remote/two/note://a', 'other'],
    ] as const) {
      const { contents } = await client.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: `note of ${owner}` }]);
    }
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toContainEqual(
      expect.objectContaining({ uriTemplate: 'svc://remote/two/note://{colour}/all', title: 'By colour' }),
    );
    const red = await client.readResource({ uri: 'svc://remote/two/note://red/all' });
    expect(red.contents).toMatchObject([{ text: 'red' }]);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['one_summary', 'two_summary', 'connect_app']),
    );
    const { messages } = await client.getPrompt({ name: 'two_summary', arguments: { topic: 'fish' } });
    expect(messages).toMatchObject([{ content: { text: 'Sum up fish of other.' } }]);
    await client.close();
  });

  test('arguments of prompts and templates are completed by their server', async () => {
    await add('guess', remote.url);
    const client = await connectClient(await urlOf('guess', { connectors: { allowedIds: ['guess'] } }));
    const ofPrompt = await client.complete({
      ref: { type: 'ref/prompt', name: 'guess_summary' },
      argument: { name: 'topic', value: 'fi' },
    });
    expect(ofPrompt.completion.values).toEqual(['fi!']);
    const ofTemplate = await client.complete({
      ref: { type: 'ref/resource', uri: 'svc://remote/guess/note://{colour}/all' },
      argument: { name: 'colour', value: 'ro' },
    });
    expect(ofTemplate.completion.values).toEqual(['rose']);
    await client.close();
  });

  test('restrictions of a server hold for resources and prompts', async () => {
    await add('closed', remote.url);
    const client = await connectClient(
      await urlOf('closed', {
        connectors: { allowedIds: ['closed'] },
        actions: { mode: 'allowlist', allowedActions: ['closed.add_numbers', 'closed.list_resources'] },
      }),
    );
    const uri = 'svc://remote/closed/note://a';
    expect((await client.listResources()).resources.map((one) => one.uri)).toContain(uri);
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002 });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).not.toContain('closed_summary');
    await expect(client.getPrompt({ name: 'closed_summary' })).rejects.toThrow('no prompt');
    await expect(client.subscribeResource({ uri })).rejects.toMatchObject({ code: -32002 });
    await client.close();
  });

  test('a read is recorded, and runs over REST too', async () => {
    await add('plain', remote.url);
    const userId = (await service.call('POST', '/users', { body: { username: 'bea' } })).text('userId');
    const read = await service.call('POST', '/connectors/plain/actions/read_resource/execute', {
      headers: { 'x-svc-userid': userId },
      body: { input: { uri: 'note://a' } },
    });
    expect(read.at('data.contents.0.text')).toBe('note of remote');
    await until(async () => {
      const rows = await service.call('GET', '/api/executions?connectorId=plain&actionId=read_resource');
      return rows.at('data.0.outcome') === 'succeeded';
    });
  });

  test('a server that fails or lies is left out of the lists of the others', async () => {
    await add('liar', remote.url);
    await add('honest', other.url);
    const client = await connectClient(
      await urlOf('mixed', { connectors: { allowedIds: ['liar', 'honest'] } }),
    );
    const answered = (result: object) => {
      remote.instead = (_req, res, body) => {
        const { id, method } = Object(JSON.parse(body || '{}'));
        if (method !== 'resources/list' && method !== 'resources/read') return false;
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
        return true;
      };
    };
    const listed = async () =>
      (await client.listResources()).resources.map(({ uri }) => uri).filter((uri) => uri.includes('remote'));
    answered({ resources: [{ uri: 'a:b', name: 'x\u200by' }, { uri: 7, name: 'z' }, null] });
    expect(await listed()).toEqual(['svc://remote/honest/note://a']);
    answered({ resources: 'none' });
    expect(await listed()).toEqual(['svc://remote/honest/note://a']);
    answered({ contents: [{ uri: 'note://a', blob: '***' }] });
    await expect(client.readResource({ uri: 'svc://remote/liar/note://a' })).rejects.toThrow(
      'no valid content',
    );
    remote.instead = (_req, res) => {
      res.writeHead(500).end();
      return true;
    };
    expect(await listed()).toEqual(['svc://remote/honest/note://a']);
    await client.close();
  });
});
