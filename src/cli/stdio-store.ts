import { createServer, type Server } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { lastServedUrl } from '../connect/presence.ts';
import { readConfig } from '../config.ts';
import { openContext, type OpenContext } from '../context.ts';
import { createLog } from '../log.ts';
import { runStdio, type StdioOptions } from '../mcp/transport/stdio.ts';
import { storeFails } from './store-fails.ts';

interface Streams {
  input: Readable;
  output: Writable;
  signal: AbortSignal;
}

/**
 * Serves one MCP server from the store on these streams. The log goes to standard error.
 * @throws StoreError as soon as the store has failed for good.
 */
export async function serveFromStore(options: StdioOptions, streams: Streams): Promise<void> {
  const config = readConfig();
  const context = await openContext(config, { log: createLog(config.logLevel, process.stderr) });
  // Links lead to the address of the last process that served, whatever its port was.
  if (config.publicUrl === undefined)
    context.publicUrl = (await lastServedUrl(context.db)) ?? context.publicUrl;
  await Promise.race([serveOn(streams, context, options), storeFails(context)]);
}

async function serveOn(streams: Streams, context: OpenContext, options: StdioOptions): Promise<void> {
  const { config } = context;
  let sandbox: Promise<Server> | undefined;
  if (config.sandbox || config.testConnectors) {
    // This process has no port, so the sandbox gets one when it is first called.
    context.outbound.allowSandbox(async () => {
      sandbox ??= serveSandbox(context);
      const address = (await sandbox).address();
      return typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : '';
    });
  }
  try {
    await runStdio(context, options, streams);
  } finally {
    const server = await sandbox;
    server?.closeAllConnections();
    server?.close();
    await context.close();
  }
}

async function serveSandbox(context: OpenContext): Promise<Server> {
  const { createSandboxApp } = await import('../sandbox/router.ts');
  const server = createServer(createSandboxApp(context, { tests: context.config.testConnectors }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}
