import { SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { SANDBOX_HOST } from '../lib/sandbox-names.ts';

/**
 * Returns the address at which a person's browser reaches a connector. Only the built-in sandbox differs from its
 * file. The file names a host that does not exist; lib/outbound.ts maps it to our own port. Browsers reach it at the
 * public address of this process.
 */
export function browserAddress(
  { publicUrl }: Pick<Base, 'publicUrl'>,
  { connectorId }: Pick<Connector, 'connectorId'>,
  url: string,
): string {
  if (connectorId !== SANDBOX_ID) return url;
  const { protocol, host, pathname, search } = new URL(url);
  return protocol === 'http:' && host === SANDBOX_HOST ? publicUrl + pathname + search : url;
}
