import type { ConnectorFile, ActionDefinition, JsonSchema, Paging } from './format.ts';

export type Effect = 'read' | 'write' | 'destructive';

/** An action, ready to be shown and run. Built once when its connector is loaded. */
export interface Action {
  readonly connectorId: string;
  readonly actionId: string;
  readonly name: string;
  readonly description: string;
  readonly effect: Effect;
  readonly method: string;
  /** The path template below the base URL. */
  readonly path: string;
  /** Whether it answers with pages of records. */
  readonly list: boolean;
  readonly paging: Paging | undefined;
  /** JSON Schema 2020-12 of `input`; a list action's has `limit` and `offset`. */
  readonly inputSchema: JsonSchema;
  /** JSON Schema 2020-12 of the answer: `{data}` or `{data: [...], pagination}`. */
  readonly outputSchema: JsonSchema;
  readonly definition: ActionDefinition;
}

/** A connector of the catalogue. */
export interface Connector {
  readonly connectorId: string;
  readonly name: string;
  readonly description: string;
  readonly categories: string[];
  readonly definition: ConnectorFile;
  readonly actions: ReadonlyMap<string, Action>;
}

/** What is installed. Reads are synchronous: the catalogue is in memory. `version` rises when anything changes. */
export interface Catalog {
  readonly version: number;
  connectors(): readonly Connector[];
  connector(connectorId: string): Connector | undefined;
  action(connectorId: string, actionId: string): Action | undefined;
}
