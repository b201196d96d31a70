import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Outbound, OutboundRequest } from '../../outbound/outbound.ts';

const TIMEOUT_MS = 5 * SECOND;
const ENDPOINT = /^event: ?endpoint\r?$/m;

/**
 * Refuses a server of the transport of MCP 2024-11-05 (HTTP with SSE) with a sentence that names it. Such a server refuses
 * every POST to this address, and begins its stream with the address for messages.
 * @throws GatehouseError `upstream_failed`
 */
export async function refuseOlderTransport(
  calls: Pick<Outbound, 'stream'>,
  { url, headers, allowSandbox }: Pick<OutboundRequest, 'url' | 'headers' | 'allowSandbox'>,
): Promise<void> {
  let begin: string | undefined;
  try {
    const { status, body } = await calls.stream({
      method: 'GET',
      url,
      headers: { ...headers, accept: 'text/event-stream' },
      timeoutMs: TIMEOUT_MS,
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
    });
    for await (const chunk of body) {
      begin = status === 200 ? chunk.toString('utf8') : '';
      break;
    }
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
  }
  if (begin === undefined || !ENDPOINT.test(begin)) return;
  throw new GatehouseError(
    'upstream_failed',
    `The MCP server at ${new URL(url).host} speaks the transport of MCP 2024-11-05 (HTTP with SSE), and Gatehouse speaks streamable HTTP.`,
    {
      details: { reason: 'older_transport' },
      fix: 'Use the address of its streamable HTTP, which often ends in /mcp in place of /sse.',
    },
  );
}
