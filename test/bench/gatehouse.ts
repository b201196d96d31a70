import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { createApiKey } from '../../src/identity/api-keys.ts';
import { createUser } from '../../src/identity/users.ts';
import { createLog } from '../../src/log.ts';
import { createServer } from '../../src/servers/server-records.ts';
import { benchConnector } from './fixtures.ts';
import { populate } from './population.ts';

/*
 * One Gatehouse process for the bench, with a server for each number of tools and every check on: token, restrictions,
 * rate limit, credential, record of executions. Arguments: upstream origin, numbers of tools, number of further users,
 * credentials and servers in the store. Prints a JSON line with access URLs, an API key and a user.
 */
const upstream = process.argv[2] ?? '';
const COUNTS = (process.argv[3] ?? '10,200,2000').split(',').map(Number);
const home = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const catalogFolder = join(home, 'catalog');
for (const count of COUNTS) {
  mkdirSync(join(catalogFolder, `bench${count}`), { recursive: true });
  writeFileSync(
    join(catalogFolder, `bench${count}`, 'connector.yaml'),
    benchConnector(`bench${count}`, count, upstream),
  );
}

const config = readConfig({
  GATEHOUSE_HOME: home,
  PORT: '0',
  GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
  GATEHOUSE_RATE_LIMIT_MCP: '999999999/60s',
  LOG_LEVEL: 'warn',
});
const context = await openContext(config, { log: createLog(config.logLevel), catalogFolder });
const app = await listen(context);
const environment = 'development' as const;
const user = await createUser(context, { environment, username: 'bench' });

const urls: Record<string, string> = {};
for (const count of COUNTS) {
  const connectorId = `bench${count}`;
  await createCredential(context, {
    environment,
    userId: user.userId,
    connectorId,
    data: { token: 'secret-token' },
  });
  const { server, accessToken } = await createServer(context, {
    environment,
    name: connectorId,
    ownerUserId: user.userId,
    bound: false,
    toolMode: 'direct',
    restrictions: {
      connectors: { allowedIds: [connectorId] },
      actions: { blockedActions: ['delete_*'] },
      users: { allowedIds: [user.userId] },
    },
  });
  urls[count] = `http://127.0.0.1:${app.port}/mcp/${server.serverId}/${accessToken}`;
}
await populate(context.db, Number(process.argv[4] ?? 0));
const apiKey = await createApiKey(context, { environment });
const origin = `http://127.0.0.1:${app.port}`;
process.stdout.write(`${JSON.stringify({ urls, origin, apiKey, userId: user.userId })}\n`);
// Needs --expose-gc, so that only live memory counts.
process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  process.stdout.write(`heap ${heapUsed} rss ${rss}\n`);
});
