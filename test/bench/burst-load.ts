import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/*
 * Sends programs to an MCP server, all at once, when its input has a line. Reads its job from argv, and prints how many answers
 * there were of each kind. It runs only when nothing else needs its core, so that it does not slow the service.
 */
const job = z
  .object({
    url: z.string(),
    code: z.string(),
    calls: z.number(),
    /** Whether each call opens a connection, or has one that was used before. */
    connections: z.enum(['new', 'open']),
    /** Whether a client lists the tools four seconds before the burst. */
    list: z.boolean().optional(),
  })
  .parse(JSON.parse(process.argv[2] ?? ''));

const OPENED_TOGETHER = 20;
const LIST_BEFORE_MS = 4000;
const OPEN_BEFORE_MS = 1500;

interface Answered {
  status: number;
  text: string;
}

function send(agent: Agent | false, method: string, params: object): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(
      job.url,
      {
        agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  });
}

/** Opens the connections a few at a time, each with a request. */
async function openConnections(): Promise<Agent[]> {
  const agents = Array.from({ length: job.calls }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (let from = 0; from < agents.length; from += OPENED_TOGETHER)
    await Promise.all(agents.slice(from, from + OPENED_TOGETHER).map((agent) => send(agent, 'ping', {})));
  await sleep(OPEN_BEFORE_MS);
  return agents;
}

function kindOf({ status, text }: Answered): string {
  const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
  return code ?? (text.includes('"isError":true') ? 'refused' : String(status));
}

execFileSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(process.pid)]);
if (job.list) {
  await send(false, 'tools/list', {});
  await sleep(LIST_BEFORE_MS);
}
const agents = job.connections === 'open' ? await openConnections() : [];
console.log('ready');
await once(process.stdin, 'data');
const params = { name: 'run_code_svc', arguments: { code: job.code } };
const kinds: Record<string, number> = {};
await Promise.all(
  Array.from({ length: job.calls }, async (_, n) => {
    const kind = await send(agents[n] ?? false, 'tools/call', params).then(
      kindOf,
      (error: Error) => error.message,
    );
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }),
);
console.log(JSON.stringify(kinds));
for (const agent of agents) agent.destroy();
