/** A vendor's document, or several that describe one API together. */
export interface Source {
  connectorId: string;
  /** A file in the folder of documents, or a folder there with several. */
  document: string;
  /** Address of its publication. */
  from: string;
  format: 'openapi' | 'discovery' | 'stone' | 'csdl' | 'graphql' | 'markdown' | 'xsd';
  /** Part before the connector's paths in the document. */
  prefix?: string;
  /** Start of the documents' own addresses; the rest of the address is a prefix of their paths. */
  server?: string;
  /** `each`: one scope of a list is enough for a call. `all`: it needs all of them. */
  scopes?: 'each' | 'all';
  /** The version, where the document does not name it. */
  version?: string;
  /** Schema of the connector's GraphQL documents, in addition to a REST document. */
  graphql?: string;
}

export const SOURCES: Source[] = [
  {
    connectorId: 'bigcommerce',
    document: 'bigcommerce',
    from: 'bigcommerce/docs @ 24f580c, reference',
    server: 'https://api.bigcommerce.com/stores/{store_hash}',
    format: 'openapi',
  },
  {
    connectorId: 'dropbox',
    document: 'dropbox',
    from: 'dropbox/dropbox-api-spec @ 0d994eb',
    format: 'stone',
    version: '2026-08-05',
  },
  {
    connectorId: 'github',
    document: 'github-api.json',
    from: 'npm @octokit/openapi 23.0.2 and @octokit/graphql-schema 15.26.1',
    format: 'openapi',
    graphql: 'github.graphql',
  },
  {
    connectorId: 'gmail',
    document: 'gmail.v1.json',
    from: 'PyPI google-api-python-client 2.201.0, discovery_cache/documents/gmail.v1.json',
    format: 'discovery',
    prefix: '/gmail/v1/users/me',
  },
  {
    connectorId: 'google-calendar',
    document: 'calendar.v3.json',
    from: 'PyPI google-api-python-client 2.201.0, discovery_cache/documents/calendar.v3.json',
    format: 'discovery',
    prefix: '/calendar/v3',
  },
  {
    connectorId: 'google-drive',
    document: 'drive.v3.json',
    from: 'PyPI google-api-python-client 2.201.0, discovery_cache/documents/drive.v3.json',
    format: 'discovery',
  },
  {
    connectorId: 'hubspot',
    document: 'hubspot',
    from: 'HubSpot/HubSpot-public-api-spec-collection @ 9989379, PublicApiSpecs, 2026-03',
    format: 'openapi',
    scopes: 'all',
    version: '2026-03',
  },
  {
    connectorId: 'medusa',
    document: 'medusa-admin.yaml',
    from: 'medusajs/medusa @ 59e6747, www/apps/api-reference/specs/admin/openapi.full.yaml',
    format: 'openapi',
    prefix: '/admin',
  },
  {
    connectorId: 'microsoft-outlook',
    document: 'graph-v1.0.csdl',
    from: 'microsoftgraph/msgraph-metadata @ f54f11b, schemas/v1.0-Prod.csdl',
    format: 'csdl',
    version: 'v1.0 of 2026-08-20',
  },
  {
    connectorId: 'notion',
    document: 'notion.json',
    from: 'makenotion/notion-mcp-server @ 1d38420',
    format: 'openapi',
    prefix: '/v1',
  },
  {
    connectorId: 'quickbooks',
    document: 'quickbooks',
    from: 'intuit/QuickBooks-V3-Java-SDK @ 79b5a3c1, ipp-v3-java-data/src/main/xsd',
    format: 'xsd',
    version: 'v3 of 2024-10-21',
  },
  {
    connectorId: 'shopify',
    document: 'shopify-admin-2026-07.json',
    from: 'npm @shopify/dev-mcp 1.16.0, dist/data/admin_2026-07.json.gz',
    format: 'graphql',
    version: '2026-07',
  },
  {
    connectorId: 'slack',
    document: 'slack-web.json',
    from: 'slackapi/slack-api-specs @ bc08db4',
    format: 'openapi',
  },
  {
    connectorId: 'square',
    document: 'square-api.json',
    from: 'square/connect-api-specification @ 5733f66, api.json',
    format: 'openapi',
    prefix: '/v2',
    scopes: 'all',
    version: '2025-08-20',
  },
  {
    connectorId: 'stripe',
    document: 'stripe-2021.json',
    from: 'stripe/openapi @ e812732f',
    format: 'openapi',
    prefix: '/v1',
  },
  {
    connectorId: 'woocommerce',
    document: 'woocommerce',
    from: 'woocommerce/woocommerce-rest-api-docs @ 13d6196, source/includes/wp-api-v3',
    format: 'markdown',
    prefix: '/wp-json/wc/v3',
  },
  {
    connectorId: 'xero',
    document: 'xero_accounting.yaml',
    from: 'XeroAPI/Xero-OpenAPI @ e952d0b, xero_accounting.yaml',
    format: 'openapi',
  },
  { connectorId: 'zoom', document: 'zoom-v2.json', from: 'zoom/api @ 4429982', format: 'openapi' },
];
