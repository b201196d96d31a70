/*
 * Bodies of examples, by operation, where the required members alone would make no good request. The sandbox and the shipped
 * workflow starters accept them.
 */

const CUSTOMER = { firstName: 'Ada', lastName: 'Lovelace', email: 'ada@example.com' };
const CREDENTIAL = { connectorId: 'sandbox', type: 'api_key', data: { apiKey: 'sandbox_ada' } };
const INSTALLATION = { config: { recipient: 'ada@example.com', threshold: 20 } };

export const EXAMPLE_BODIES: Record<string, unknown> = {
  createCredential: CREDENTIAL,
  createUnified: CUSTOMER,
  executeAction: { input: { limit: 2, offset: 0 } },
  installWorkflow: INSTALLATION,
  reconnectCredential: {},
  submitConnectForm: CREDENTIAL,
  tryWorkflowVersion: INSTALLATION,
  updateInstallation: INSTALLATION,
  updateServer: { description: 'Tools of the support team.' },
  updateUnified: { email: CUSTOMER.email },
  updateUser: { metadata: { plan: 'pro' } },
};

/** Operations that act for a user by one place that a key must fill, although a JWT leaves it out. */
export const NAMES_USER: Record<string, 'query' | 'header'> = { tryWorkflowVersion: 'query', mcp: 'header' };
