import { SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import type { Context } from '../context.ts';
import { SANDBOX_HOST } from '../lib/sandbox.ts';

/**
 * An address of a connector as a person's browser reaches it. Only the built-in sandbox has two: its file names a host
 * that exists nowhere, which the outbound door leads to our own port (lib/outbound.ts); browsers reach it at the
 * public address of this process. Every other address stays as it is.
 */
export function browserAddress(
  { publicUrl }: Pick<Context, 'publicUrl'>,
  { connectorId }: Pick<Connector, 'connectorId'>,
  url: string,
): string {
  if (connectorId !== SANDBOX_ID) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return protocol === 'http:' && host === SANDBOX_HOST ? publicUrl + pathname + search : url;
}
