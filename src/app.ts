import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OpenContext } from './context.ts';
import { ConfigError } from './config.ts';
import { startPresence } from './connect/presence.ts';
import { startKeepAlive } from './credentials/keep-alive.ts';
import { urlHost } from './lib/addresses.ts';
import { answerError, thrownMessage } from './lib/errors.ts';
import { GracefulServer } from './lib/http/graceful-server.ts';
import { loadLazy } from './load-lazy.ts';
import { loadOnce } from './lib/memo.ts';
import { isOpenedInBrowser } from './http/pages/mcp-address-page.ts';
import { createMcpHandler, type McpHandler } from './mcp/transport/http.ts';
import { reportChanges } from './servers/approvals.ts';
import { DRAIN_MS } from './lib/http/drain.ts';
import type { ProbePort } from './runtime/probe-port.ts';
import { notReady } from './runtime/readiness.ts';

/** Connections that may wait to be accepted. The system drops further ones, and their clients try again after a second. */
const BACKLOG = 4096;
/** Delay of background work after a start, because the first client may wait for its answer. */
const LOOPS_AFTER_MS = 100;
/** Delay of a call that prepares the process for its clients; see warm-up.ts. */
const WARM_UP_AFTER_MS = 1000;
/** Delay of loading further code, because the first answers come before. */
const LOAD_AFTER_MS = 5000;
/** Delay of the comparison of definitions with the approved ones, because a start still has work to do. */
const REPORT_AFTER_MS = 30_000;

/** A running HTTP server of Gatehouse. */
export interface App {
  readonly server: Server;
  readonly port: number;
  /** The port of GATEHOUSE_PROBE_PORT. */
  readonly probePort: number | undefined;
  /**
   * Stops accepting, lets running requests finish (at most 20 s), then closes what listen() opened. The context stays
   * open.
   */
  close(): Promise<void>;
}

/**
 * Serves everything on one port: MCP before Express, because its requests are the hot path, then REST with the pages.
 * @throws Error of node:net with `code` EADDRINUSE or EACCES when the port cannot be opened.
 */
export async function listen(context: OpenContext): Promise<App> {
  const { config } = context;
  const mcp = await createMcpHandler(context);
  const rest = restOf(context, mcp);

  const server = new GracefulServer((req, res) => {
    if (req.url?.startsWith('/mcp/') && !isOpenedInBrowser(req)) void mcp.handle(req, res);
    else rest(req, res);
  });
  // Idle sockets must outlive the usual minute of load balancers, so that a balancer never writes to a closing
  // socket.
  server.keepAliveTimeout = 65_000;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port: config.port, host: config.host, backlog: BACKLOG }, resolve);
    });
  } catch (error) {
    await mcp.close();
    throw error;
  }
  const probes = await openProbes(context).catch(async (error: unknown) => {
    server.close();
    await mcp.close();
    throw error;
  });
  const { address, port } = addressOf(server);
  if (config.publicUrl === undefined) {
    const host = urlHost(config.host);
    context.publicUrl = `http://${host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host}:${port}`;
  }
  if (config.sandbox || config.testConnectors)
    context.outbound.allowSandbox(async () => `http://${urlHost(address)}:${port}`);
  context.serving = true;
  const presence = await startPresence(context);
  const keepAlive = startKeepAlive(context);
  const loops = setTimeout(() => {
    context.dispatcher.start();
    context.sources.start(context);
    context.remoteServers.start(context);
    context.runs.start(context);
  }, LOOPS_AFTER_MS);
  const later = [
    afterStart(context, { delayMs: WARM_UP_AFTER_MS, what: 'warm-up' }, mcp.warmUp),
    afterStart(context, { delayMs: LOAD_AFTER_MS, what: 'load of further code' }, loadLazy),
    afterStart(context, { delayMs: REPORT_AFTER_MS, what: 'comparison of definitions' }, () =>
      reportChanges(context),
    ),
  ];
  return {
    server,
    port,
    probePort: probes?.port,
    async close() {
      context.stopping = true;
      clearTimeout(loops);
      for (const timer of later) clearTimeout(timer);
      mcp.closeStreams();
      await context.liveTopics.close();
      await Promise.all([
        server.drain(),
        mcp.drain(DRAIN_MS),
        keepAlive.close(),
        presence.close(),
        context.sources.close(),
        context.runs.close(),
        context.dispatcher.close(),
      ]);
      await mcp.close();
      await probes?.close();
    },
  };
}

/** Opens the port of probes, where there is one. It reports until the end of a stop that the process is stopping. */
async function openProbes(context: OpenContext): Promise<ProbePort | undefined> {
  const { host, probePort } = context.config;
  if (probePort === undefined) return undefined;
  const { openProbePort } = await import('./runtime/probe-port.ts');
  const probes = await openProbePort({ host, port: probePort }, () => notReady(context)).catch(
    (cause: unknown) => {
      throw new ConfigError([`GATEHOUSE_PROBE_PORT cannot be used: ${thrownMessage(cause)}`]);
    },
  );
  context.readiness.watch();
  return probes;
}

/** Does work of the background some time after the start. */
function afterStart(
  context: OpenContext,
  { delayMs, what }: { delayMs: number; what: string },
  work: () => Promise<void>,
): NodeJS.Timeout {
  const run = async () => {
    try {
      await work();
      context.log.debug(`${what} done`);
    } catch (error) {
      if (!context.stopping) context.log.warn({ err: error }, `${what} failed`);
    }
  };
  return setTimeout(() => void run(), delayMs).unref();
}

/**
 * Loads REST at its first request. Express and all route schemas would take a third of a start, and MCP needs
 * neither.
 */
function restOf(context: OpenContext, { callTool }: Pick<McpHandler, 'callTool'>): RequestListener {
  let listener: RequestListener | undefined;
  const load = loadOnce(async () => {
    const { createRest } = await import('./rest.ts');
    listener = createRest(Object.assign(context, { callTool }));
    // Watching starts after the load, because the load itself blocks the event loop. /ready is part of the loaded
    // code.
    context.readiness.watch();
  });
  return (req, res) => {
    if (listener) return listener(req, res);
    load().then(
      () => listener?.(req, res),
      (cause: unknown) => {
        context.log.error({ err: cause }, 'loading REST failed');
        const { status, code, message } = answerError(cause);
        res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
        res.end(JSON.stringify({ error: message, code }));
      },
    );
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return address;
}
