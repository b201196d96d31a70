import { MINUTE, type Clock } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Outbound, OutboundRequest, OutboundStream } from '../../outbound/outbound.ts';
import { createExpiring } from '../../lib/ttl-cache.ts';

const MAX_REDIRECTS = 3;
const REMEMBERED_MS = 10 * MINUTE;
const MAX_REMEMBERED = 2000;
/** Redirects after which the request is repeated as it was. After 303 only GET may follow. */
const REPEATED = new Set([301, 302, 307, 308]);

/** Sends requests to the addresses to which servers redirect. */
export interface Redirects {
  stream(way: Pick<Outbound, 'stream'>, request: OutboundRequest): Promise<OutboundStream>;
}

/**
 * Creates a memory of redirects. Many servers redirect `/mcp` to `/mcp/`. A redirect within the origin is followed with the
 * method and the body, and remembered for ten minutes. Another origin would get the credential of the user.
 */
export function createRedirects(clock: Clock): Redirects {
  const known = createExpiring<string>({ ttlMs: REMEMBERED_MS, max: MAX_REMEMBERED, clock });
  return {
    async stream(way, request) {
      const first = request.url;
      let url = known.get(first) ?? first;
      for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
        const answer = await way.stream({ ...request, url });
        const next = nextOf(answer, url);
        if (next === undefined) {
          if (hop > 0) known.set(first, url);
          return answer;
        }
        known.delete(first);
        await drop(answer.body);
        url = next;
      }
      throw refused(first, `redirected more than ${MAX_REDIRECTS} times`);
    },
  };
}

/** Returns the address of a redirect; undefined for another answer. @throws GatehouseError `upstream_failed` */
function nextOf({ status, headers: { location } }: OutboundStream, url: string): string | undefined {
  if (status < 300 || status > 399 || location === undefined) return undefined;
  const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
  if (next && next.origin !== new URL(url).origin)
    throw refused(url, `redirects to another address, ${(next.origin + next.pathname).slice(0, 200)}`);
  if (!next || !REPEATED.has(status))
    throw refused(url, `redirects with HTTP ${status}, which cannot be followed`);
  next.hash = '';
  return next.href;
}

function refused(url: string, what: string): GatehouseError {
  return new GatehouseError(
    'upstream_failed',
    `The MCP server at ${new URL(url).host} ${what}. Nothing was sent there.`,
    {
      details: { reason: 'redirect' },
      fix: 'If the server has moved, change the url of the connector with PUT /api/connectors/{connectorId}.',
    },
  );
}

async function drop(body: AsyncIterable<Buffer>): Promise<void> {
  // Leaving the loop closes the connection.
  for await (const _ of body) break;
}
