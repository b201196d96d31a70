import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { connectClient, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

const FOLDER = new URL('../../data/phrases/', import.meta.url);
const LANGUAGES = ['de', 'en', 'es', 'fr', 'pt'];
const read = (connectorId: string) =>
  z
    .record(z.string(), z.record(z.string(), z.array(z.string().min(2))))
    .parse(JSON.parse(readFileSync(new URL(`${connectorId}.json`, FOLDER), 'utf8')));

describe('phrases of people', () => {
  let service: Service;
  let client: Client;
  beforeAll(async () => {
    service = await startService();
    client = await connectClient((await shop(service)).accessUrl);
  });
  afterAll(async () => {
    await client.close();
    await service.stop();
  });

  const search = async (query: string) => {
    const answer = await client.callTool({ name: 'search_actions_svc', arguments: { query, limit: 5 } });
    return z
      .object({ actions: z.array(z.object({ connectorId: z.string(), actionId: z.string() })) })
      .parse(answer.structuredContent)
      .actions.map(({ connectorId, actionId }) => `${connectorId}.${actionId}`);
  };

  test('phrases of people exist for each shipped action in five languages', () => {
    for (const { connectorId, actions } of service.context.catalog.connectors('development')) {
      const phrases = read(connectorId);
      expect(Object.keys(phrases).sort()).toEqual([...actions.keys()].sort());
      for (const languages of Object.values(phrases)) {
        expect(Object.keys(languages).sort()).toEqual(LANGUAGES);
        for (const texts of Object.values(languages)) expect(texts.length).toBeGreaterThanOrEqual(3);
      }
    }
    expect(readdirSync(FOLDER)).toHaveLength(service.context.catalog.connectors('development').length);
  });

  test.for(LANGUAGES)('phrases of people find their actions among the first five (%s)', async (language) => {
    const asked = ['slack', 'zoom', 'google-calendar', 'notion'].flatMap((connectorId) =>
      Object.entries(read(connectorId)).map(([actionId, languages]) => ({
        name: `${connectorId}.${actionId}`,
        query: languages[language]?.at(-1) ?? '',
      })),
    );
    const missed = [];
    for (const { name, query } of asked) if (!(await search(query)).includes(name)) missed.push(name);
    expect(missed.length / asked.length).toBeLessThan(0.2);
  });
});
