import type { Connector } from '../connectors/catalog.ts';
import type { Context as Credentials } from '../credentials/context.ts';
import type { Context as Custom } from '../custom/context.ts';
import type { RemoteEvent } from '../upstream/remote/remote-sessions.ts';

/** The parts that remote MCP servers use. */
export interface Context extends Credentials, Pick<Custom, 'catalog' | 'customConnectors' | 'builds'> {
  readonly catalog: Custom['catalog'];
  readonly remoteServers: RemoteServers;
}

/** Keeps the actions of remote servers equal to their tools. */
export interface RemoteServers {
  start(context: Context): void;
  /** Reads a server soon, because its tools changed, or because it refused an account. */
  noticed(connector: Connector, event: RemoteEvent): void;
  close(): Promise<void>;
}
