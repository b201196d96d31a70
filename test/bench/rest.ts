import { cpuSeconds, drive, LOAD_CORE, median, SERVER_CORE, start, type Talking } from './processes.ts';
import { table } from './table.ts';

interface RestBench {
  rounds: number;
  seconds: number;
  connections: number;
}

interface Job {
  name: string;
  url: string;
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

interface Started {
  urls: Record<string, string>;
  origin: string;
  apiKey: string;
  userId: string;
}

const WARM_UP = { requests: 5000, seconds: 10 };
const here = (name: string) => new URL(name, import.meta.url).pathname;

/**
 * Compares single REST reads with Express that answers a constant of the same kind, and an action over REST with the same
 * action over MCP.
 */
export async function benchRest(
  upstream: string,
  { rounds, seconds, connections }: RestBench,
): Promise<void> {
  const samples = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    await using express = await start(SERVER_CORE, [here('peer-express.ts')]);
    await using gatehouse = await start(SERVER_CORE, [here('gatehouse.ts'), upstream, '10']);
    const floor = {
      name: 'Express, a constant',
      url: `http://127.0.0.1:${express.line}/record`,
      method: 'GET',
    };
    const all: [Talking, Job][] = [
      [express, floor],
      ...jobsOf(gatehouse).map((job): [Talking, Job] => [gatehouse, job]),
    ];
    for (const [target, { name, ...job }] of all) {
      const load = { method: 'GET', body: '', ...job, connections };
      await drive({ ...load, ...WARM_UP });
      const pid = target.process.pid ?? 0;
      const before = cpuSeconds(pid);
      const { requests } = await drive({ ...load, requests: 1e9, seconds });
      const cpu = ((cpuSeconds(pid) - before) * 1e6) / requests;
      samples.set(name, [...(samples.get(name) ?? []), cpu]);
    }
  }
  const cpu = (name: string) => median(samples.get(name) ?? []);
  table(
    `rest (c=${connections}, core ${SERVER_CORE}, load on core ${LOAD_CORE})`,
    ['request', 'CPU µs/req', '÷ Express', '÷ the action over MCP'],
    [...samples.keys()].map((name) => [
      name,
      cpu(name).toFixed(0),
      (cpu(name) / cpu('Express, a constant')).toFixed(2),
      name.startsWith('action') ? (cpu(name) / cpu('action over MCP')).toFixed(2) : '',
    ]),
  );
}

function jobsOf(gatehouse: Talking): Job[] {
  const { urls, origin, apiKey, userId }: Started = JSON.parse(gatehouse.line);
  const url = urls['10'] ?? '';
  const serverId = new URL(url).pathname.split('/')[2] ?? '';
  const headers = { Authorization: `Bearer ${apiKey}`, 'x-api-version': '2025-09', 'x-svc-userid': userId };
  const read = (path: string): Job => ({
    name: `GET ${path.replace(userId, '{userId}').replace(serverId, '{serverId}')}`,
    url: origin + path,
    headers,
  });
  const execute = JSON.stringify({ input: { itemId: '1' } });
  const call = { name: 'bench10_get_item', arguments: { itemId: '1' } };
  return [
    read(`/users/${userId}`),
    read(`/users/${userId}/credentials`),
    read(`/api/servers/${serverId}`),
    read(`/api/servers/${serverId}?token=false`),
    read('/api/servers?token=false'),
    read('/api/executions?limit=1'),
    read('/connectors'),
    read('/.well-known/jwks.json'),
    read('/openapi.json'),
    read('/docs'),
    {
      name: 'action over MCP',
      url,
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    },
    {
      name: 'action over REST',
      url: `${origin}/connectors/bench10/actions/get_item/execute`,
      method: 'POST',
      body: execute,
      headers,
    },
  ];
}
