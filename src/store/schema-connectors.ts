import type { Environment } from './environments.ts';

/** Form of a custom connector: a connector file, the tools of a remote MCP server, an imported OpenAPI document. */
export type CustomKind = 'definition' | 'mcp' | 'openapi';

/** Tables of the custom connectors, which operators add while the service runs. */
export interface ConnectorTables {
  custom_connectors: {
    environment: Environment;
    connector_id: string;
    /** The newest version, also while the connector is deleted. */
    version: number;
    created_at: number;
    updated_at: number;
    /** Time of the deletion, epoch ms; null while it exists. Its id and versions stay for a connector that returns. */
    deleted_at: number | null;
  };
  custom_connector_versions: {
    environment: Environment;
    connector_id: string;
    /** Counts from 1. */
    version: number;
    /** Form of `source`. */
    kind: CustomKind;
    /** The definition as it was sent or imported, as JSON: a connector file as an object, or its YAML text. */
    source: string;
    /** The operator's changes to the source, as a JSON object (RFC 7396); null: none. */
    overlay: string | null;
    /** The choice of operations of an imported OpenAPI document, as JSON; null for other kinds. */
    import_settings: string | null;
    /** Id, name, description and categories, as JSON. */
    head: string;
    /** The checked connector file, as JSON. */
    definition: string;
    /** Hash of the code that checked it. Other code checks the source again. */
    checker: string;
    /** SHA-256 of the source's value; equal for equal files, whatever their spelling. */
    fingerprint: string;
    /** Addresses that its credentials are sent to, as a JSON array; the base address comes first. */
    origins: string;
    created_at: number;
    /** The caller's label: `key:<keyId>`. */
    created_by: string;
  };
  /** Remote MCP servers whose tools are the actions of a custom connector. */
  remote_servers: {
    environment: Environment;
    connector_id: string;
    /** Address, name and form of the credentials, as JSON. */
    settings: string;
    /** The operator's values that read the tools, sealed; null: the credential of a connected user reads them. */
    sealed: string | null;
    /** When the tools are read again, epoch ms. */
    next_at: number;
    /** When they were read last, epoch ms. */
    read_at: number | null;
    /** Why the last read failed. */
    error: string | null;
  };
  /** Rises with each change of an environment's custom connectors, so that processes notice it by one row. */
  custom_connector_revisions: { environment: Environment; revision: number };
}
