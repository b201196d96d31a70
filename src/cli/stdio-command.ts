import { z } from 'zod';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

export type Options =
  | { url: string; headers: Record<string, string> }
  | { server: string; user: string | undefined; environment: Environment };

const options = z.object({
  server: z.string().optional(),
  user: z.string().optional(),
  environment: z.string().optional(),
  url: z.string().optional(),
  header: z.array(z.string()),
});

/** Returns the parsed options, or a sentence about what is wrong with them. */
export function readStdioOptions(given: unknown): Options | string {
  const { server, user, environment = 'development', url, header } = options.parse(given);
  if ((server === undefined) === (url === undefined)) return 'give either --server or --url';
  if (url !== undefined) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      return '--url must be an http:// or https:// address';
    }
    if (user !== undefined)
      return '--user goes with --server; with --url send --header x-svc-userid:<userId>';
    const headers: Record<string, string> = {};
    for (const one of header) {
      const match = /^([\w-]+)\s*:\s*(.+)$/.exec(one);
      if (!match?.[1] || !match[2]) return '--header must be name:value';
      headers[match[1].toLowerCase()] = match[2];
    }
    return { url, headers };
  }
  if (header.length > 0) return '--header goes with --url';
  const known = ENVIRONMENTS.find((one) => one === environment);
  if (!known) return '--environment must be development or production';
  return { server: server ?? '', user, environment: known };
}

/** Runs `gatehouse stdio` until standard input ends, or SIGTERM or SIGINT. Returns the exit code. */
export async function stdio(options: Options): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const streams = { input: process.stdin, output: process.stdout, signal: stop.signal };
  // A client that is gone reads no more, which is a normal end and no fault.
  process.stdout.on('error', () => stop.abort());
  try {
    if ('url' in options) {
      const { runBridge } = await import('../mcp/transport/bridge.ts');
      await runBridge(options, {
        ...streams,
        report: (line) => void process.stderr.write(`gatehouse: ${line}\n`),
      });
    } else {
      const { serveFromStore } = await import('./stdio-store.ts');
      await serveFromStore(options, streams);
    }
    return 0;
  } finally {
    process.stdin.destroy();
  }
}
