import type { Action, ConnectorActions } from '../../connectors/catalog.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { Environment } from '../../store/environments.ts';
import type { ToolDefinition } from './tool-definition.ts';

/**
 * The connectors, tools and instructions that a server shows. Derived from its restrictions and the catalogue; cached
 * until either changes.
 */
export interface Visible {
  /** Connectors with at least one allowed action, and those actions. */
  readonly connectors: readonly ConnectorActions[];
  /** `direct` tools by name, empty in discovery mode. */
  readonly direct: ReadonlyMap<string, Action>;
  /** Every listed tool: the built-in ones, then direct ones in the order of the catalogue. */
  readonly tools: readonly ToolDefinition[];
  /** The result of tools/list as JSON bytes, ready to send. Undefined when the list has several pages. */
  readonly listBytes: Buffer | undefined;
  readonly instructions: string;
}

/** A client that shows documents of MCP Apps. `asked`: it also asks its user itself, by a form. */
export type Viewer = 'asked' | 'unasked';

export interface Visibility {
  /**
   * Returns what a server shows. The direct tools of connectors in `several` also take an account, because the user
   * has more than one. For a viewer, tools name the document that shows their results.
   */
  of(live: LiveServer, several?: ReadonlySet<string>, viewer?: Viewer): Visible;
  /** Returns the action of a direct tool's name anywhere in the catalogue, allowed or not. */
  actionOf(environment: Environment, toolName: string): Action | undefined;
}
