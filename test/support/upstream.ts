import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buildCatalog } from './build-catalog.ts';
import type { Catalog } from '../../src/connectors/catalog.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { Secret } from '../../src/lib/secret.ts';
import { systemClock, type Clock } from '../../src/lib/clock.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { createLog } from '../../src/log.ts';
import type { UpstreamContext } from '../../src/upstream/call.ts';
import type { UpstreamCall } from '../../src/upstream/upstream-call.ts';
import { createRemoteSessions } from '../../src/upstream/remote/remote-sessions.ts';
import { createThrottle } from '../../src/upstream/throttle.ts';

/** Parts of a connector file, as YAML in flow or block form; the rest of the file is filled in. */
export interface FileParts {
  head?: string;
  authentication?: string;
  baseUrl?: string;
  /** The action `act`, indented by four. */
  action: string;
}

/** Returns one call of the action `act` of a connector file. */
export function callOf(
  parts: FileParts,
  given: { values?: Record<string, string>; input?: JsonObject; credentialId?: string } & Partial<
    Pick<UpstreamCall, 'page' | 'idempotencyKey' | 'signal' | 'onProgress'>
  > = {},
): UpstreamCall & { catalog: Catalog } {
  const text = `
id: app
name: App
description: An app of the tests.
categories: [data]
website: https://app.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: '${parts.baseUrl ?? 'https://api.example.com/v1'}'
${parts.head ?? ''}
authentication:
  - ${parts.authentication ?? '{type: bearer}'}
actions:
  act:
    description: Acts.
${parts.action.replaceAll(/^/gm, '    ')}
`;
  const catalog = buildCatalog([{ path: 'app.yaml', text }]);
  const connector = catalog.connector('development', 'app');
  const action = connector && catalog.action('development', 'app', 'act');
  const scheme = connector?.definition.authentication[0];
  if (!connector || !action || !scheme) throw new Error('the connector of the test is not in its catalogue');
  const { values = { token: 'token_0123456789' }, input = {}, credentialId = 'cred_1', ...rest } = given;
  const secrets = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, new Secret(value)]),
  );
  return {
    connector,
    action,
    input,
    credential: { credentialId, connectorId: 'app', scheme, values: secrets },
    catalog,
    ...rest,
  };
}

/** A third party whose answers the test decides. */
export interface Upstream extends AsyncDisposable {
  origin: string;
  handler: (req: IncomingMessage, res: ServerResponse, count: number) => void;
  count: number;
  closed: number;
}

export async function startUpstream(): Promise<Upstream> {
  const server = createServer((req, res) => {
    res.on('close', () => upstream.closed++);
    upstream.handler(req, res, ++upstream.count);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const upstream: Upstream = {
    origin: `http://127.0.0.1:${address.port}`,
    handler: (_req, res) => res.end('{}'),
    count: 0,
    closed: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return upstream;
}

/** Returns the context of calls, with the lines of its log. */
export function openUpstream(
  clock: Clock = systemClock,
): UpstreamContext & { logged: string[]; close(): Promise<void> } {
  const logged: string[] = [];
  const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true });
  return {
    outbound,
    clock,
    telemetry: createTelemetry(),
    throttle: createThrottle(clock),
    remoteSessions: createRemoteSessions(outbound),
    log: createLog('debug', { write: (line) => void logged.push(line) }),
    logged,
    close: () => outbound.close(),
  };
}

export function json(
  res: ServerResponse,
  status: number,
  body: Json,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
