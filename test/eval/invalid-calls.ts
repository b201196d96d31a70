import type { Json, JsonObject } from '../../src/lib/json.ts';

/*
 * Kinds of invalid calls that models make over the sandbox. Each is either forgiven, and the answer says so, or refused with
 * what a model needs to correct it in one turn.
 */

export type Ends = 'forgiven' | 'repaired';
/** The kind, how it ends, the tool, its arguments, and the facts of the model's task. */
export type InvalidCall = [kind: string, ends: Ends, name: string, args: Json, facts?: JsonObject];

const LIST = { connectorId: 'sandbox', actionId: 'list_customers' };
const GET = { connectorId: 'sandbox', actionId: 'get_customer' };
const ADD = { connectorId: 'sandbox', actionId: 'create_customer' };
const ADA = { name: 'Ada', country: 'FR' };
const LINE = { productId: 'prd_101', quantity: 1 };
let people = 0;
/** Returns an address that no customer has. */
const email = () => `ada${(people += 1)}@example.com`;

/** Calls at a server that lists a tool for each action. */
export const AT_DIRECT: InvalidCall[] = [
  ['name of a tool in other letter case', 'forgiven', 'Execute_Action_Svc', { ...LIST }],
  ['name of a tool in camel case', 'forgiven', 'searchActionsSvc', { query: 'customers' }],
  ['name of a tool with hyphens', 'forgiven', 'sandbox-list-customers', {}],
  ['connector.action as the name of a tool', 'forgiven', 'sandbox.list_customers', {}],
  ['name of a tool without its ending', 'repaired', 'execute_action', { ...LIST }],
  ['name of a tool with a wrong letter', 'repaired', 'serch_actions_svc', { query: 'customers' }],
  ['name of a tool with the prefix of a host', 'repaired', 'mcp_gatehouse_list_connectors_svc', {}],
  ['id of an action as the name of a tool', 'repaired', 'list_customers', {}],
  ['name of a tool in the singular', 'repaired', 'sandbox_list_customer', {}],
  ['arguments as JSON text', 'forgiven', 'execute_action_svc', JSON.stringify(LIST)],
  [
    'arguments of a direct tool as JSON text',
    'forgiven',
    'sandbox_get_customer',
    '{"customerId":"cus_1001"}',
  ],
  [
    'parameters as JSON text',
    'forgiven',
    'execute_action_svc',
    { ...GET, parameters: '{"customerId":"cus_1001"}' },
  ],
  ['a list as JSON text', 'forgiven', 'execute_batch_svc', { calls: JSON.stringify([LIST]) }],
  ['an object in a list as JSON text', 'forgiven', 'execute_batch_svc', { calls: [JSON.stringify(LIST)] }],
  ['null for an optional argument', 'forgiven', 'execute_action_svc', { ...LIST, credentialId: null }],
  ['null for an optional parameter', 'forgiven', 'sandbox_list_customers', { segment: null }],
  ['null for parameters', 'forgiven', 'execute_action_svc', { ...LIST, parameters: null }],
  ['a number as text', 'forgiven', 'sandbox_list_customers', { limit: '5' }],
  ['a number as text in an argument', 'forgiven', 'search_actions_svc', { query: 'customers', limit: '3' }],
  ['a parameter in snake case', 'forgiven', 'sandbox_get_customer', { customer_id: 'cus_1001' }],
  ['a parameter in other letter case', 'forgiven', 'sandbox_get_customer', { CustomerID: 'cus_1001' }],
  ['an argument in snake case', 'forgiven', 'get_connector_svc', { connector_id: 'sandbox' }],
  [
    'names inside a list in snake case',
    'forgiven',
    'sandbox_create_order',
    { customerId: 'cus_1001', lines: [{ product_id: 'prd_101', quantity: '2' }] },
  ],
  ['id of a connector in other letter case', 'forgiven', 'get_connector_svc', { connectorId: 'SandBox' }],
  ['id of an action in camel case', 'forgiven', 'execute_action_svc', { ...LIST, actionId: 'listCustomers' }],
  ['connector.action in actionId', 'forgiven', 'execute_action_svc', { actionId: 'sandbox.list_customers' }],
  [
    'connector.action in connectorId',
    'forgiven',
    'execute_action_svc',
    { connectorId: 'sandbox.list_customers' },
  ],
  [
    'connector.action next to the connector',
    'forgiven',
    'execute_action_svc',
    { connectorId: 'sandbox', actionId: 'sandbox.list_customers' },
  ],
  [
    'connector.action in a list of actions',
    'forgiven',
    'get_action_svc',
    { actions: ['sandbox.list_customers'] },
  ],
  ['connector.action in a batch', 'forgiven', 'execute_batch_svc', { calls: ['sandbox.list_customers'] }],
  ['parameters next to parameters', 'forgiven', 'execute_action_svc', { ...GET, customerId: 'cus_1001' }],
  [
    'parameters next to parameters in a batch',
    'forgiven',
    'execute_batch_svc',
    { calls: [{ ...GET, customerId: 'cus_1001' }] },
  ],
  [
    'parameters in a member of another name',
    'repaired',
    'execute_action_svc',
    { ...GET, input: { customerId: 'cus_1001' } },
  ],
  [
    'parameters under the name of the protocol',
    'repaired',
    'execute_action_svc',
    { ...GET, arguments: { customerId: 'cus_1001' } },
  ],
  [
    'parameters inside parameters',
    'repaired',
    'execute_action_svc',
    { ...GET, parameters: { parameters: { customerId: 'cus_1001' } } },
  ],
  [
    'parameters of a direct tool in a member',
    'repaired',
    'sandbox_get_customer',
    { parameters: { customerId: 'cus_1001' } },
  ],
  [
    'id of a connector with a wrong letter',
    'repaired',
    'execute_action_svc',
    { ...LIST, connectorId: 'sandbx' },
  ],
  [
    'id of a connector of another name',
    'repaired',
    'get_connector_svc',
    { connectorId: 'shop' },
    { connectorId: 'sandbox' },
  ],
  [
    'id of an action with a wrong letter',
    'repaired',
    'execute_action_svc',
    { ...LIST, actionId: 'list_custmers' },
  ],
  [
    'id of an action with its words in another order',
    'repaired',
    'execute_action_svc',
    { ...LIST, actionId: 'customers_list' },
  ],
  [
    'id of an action of another name',
    'repaired',
    'execute_action_svc',
    { ...LIST, actionId: 'fetch_clients' },
    { actionId: 'list_customers' },
  ],
  [
    'name of a direct tool as the id of an action',
    'repaired',
    'execute_action_svc',
    { ...LIST, actionId: 'sandbox_list_customers' },
  ],
  ['no connector', 'repaired', 'execute_action_svc', { actionId: 'list_customers' }],
  ['no connector in a batch', 'repaired', 'execute_batch_svc', { calls: [{ actionId: 'list_customers' }] }],
  ['no action', 'repaired', 'execute_action_svc', { connectorId: 'sandbox' }, { actionId: 'list_customers' }],
  [
    'an argument of a shorter name',
    'repaired',
    'execute_action_svc',
    { connector: 'sandbox', action: 'list_customers' },
  ],
  ['an action to read without a connector', 'repaired', 'get_action_svc', { actionId: 'list_customers' }],
  ['an action to read outside the list', 'repaired', 'get_action_svc', { ...LIST }],
  ['an id in a list without a connector', 'repaired', 'get_action_svc', { actions: ['list_customers'] }],
  ['an object where a list belongs', 'repaired', 'get_action_svc', { actions: LIST }],
  ['text where a list belongs', 'repaired', 'execute_action_svc', { ...LIST, fields: 'id' }],
  ['a required argument under another name', 'repaired', 'search_actions_svc', { q: 'customers' }],
  [
    'no required argument',
    'repaired',
    'search_actions_svc',
    { connectorId: 'sandbox' },
    { query: 'customers' },
  ],
  ['too many items', 'repaired', 'get_action_svc', { actions: Array.from({ length: 6 }, () => LIST) }],
  [
    'a number above the maximum of an argument',
    'repaired',
    'search_actions_svc',
    { query: 'customers', limit: 50 },
  ],
  ['a number above the maximum of a parameter', 'repaired', 'sandbox_list_customers', { limit: 500 }],
  ['a number below the minimum', 'repaired', 'sandbox_list_customers', { offset: -1 }],
  ['a word where a number belongs', 'repaired', 'sandbox_list_customers', { limit: 'ten' }, { limit: 10 }],
  [
    'a number where text belongs',
    'repaired',
    'sandbox_create_customer',
    { ...ADA, email: email(), phone: 331234 },
  ],
  ['no required parameter', 'repaired', 'sandbox_get_customer', {}, { customerId: 'cus_1001' }],
  [
    'no required parameter in execute_action_svc',
    'repaired',
    'execute_action_svc',
    GET,
    { customerId: 'cus_1001' },
  ],
  ['no required parameters at all', 'repaired', 'execute_action_svc', ADD, { name: 'Ada', email: email() }],
  [
    'no required member inside a list',
    'repaired',
    'sandbox_create_order',
    { customerId: 'cus_1001', lines: [{ productId: 'prd_101' }] },
    { quantity: 1 },
  ],
  ['a parameter with a wrong letter', 'repaired', 'sandbox_get_customer', { custmerId: 'cus_1001' }],
  ['a parameter of a shorter name', 'repaired', 'sandbox_get_customer', { id: 'cus_1001' }],
  [
    'a member of another name inside a list',
    'repaired',
    'sandbox_create_order',
    { customerId: 'cus_1002', lines: [{ productId: 'prd_101', qty: 2 }] },
  ],
  ['a parameter that does not exist', 'repaired', 'sandbox_list_customers', { sortOrder: 'desc' }],
  [
    'one parameter under two names',
    'repaired',
    'sandbox_get_customer',
    { customerId: 'cus_1001', customer_id: 'cus_1001' },
  ],
  [
    'an object where a list of objects belongs',
    'repaired',
    'sandbox_create_order',
    { customerId: 'cus_1003', lines: LINE },
  ],
  ['a value of a list in other letter case', 'repaired', 'sandbox_list_customers', { segment: 'VIP' }],
  ['a value of a list with a wrong letter', 'repaired', 'sandbox_list_orders', { status: 'shiped' }],
  ['a value outside a list', 'repaired', 'sandbox_list_orders', { status: 'done' }, { status: 'shipped' }],
  [
    'a value outside the list of an argument',
    'repaired',
    'search_actions_svc',
    { query: 'customers', effect: 'delete' },
  ],
  ['a time in words', 'repaired', 'sandbox_list_orders', { since: 'yesterday' }],
  ['a date where a time belongs', 'repaired', 'sandbox_list_orders', { since: '2026-03-01' }],
  [
    'text that breaks a pattern',
    'repaired',
    'sandbox_create_customer',
    { name: 'Ada', email: email(), country: 'France' },
    { country: 'FR' },
  ],
  [
    'text that is too long',
    'repaired',
    'sandbox_create_order',
    { customerId: 'cus_1001', lines: [LINE], note: 'x'.repeat(600) },
  ],
  [
    'an address without @',
    'repaired',
    'sandbox_send_message',
    { to: 'ada', text: 'Hello.' },
    { to: 'ada@example.com' },
  ],
];

/** Calls at a server that lists no tool for each action. */
export const AT_DISCOVERY: InvalidCall[] = [
  ['name of a tool that is not listed', 'repaired', 'sandbox_list_customers', {}],
  ['connector.action as the name of a tool that is not listed', 'repaired', 'sandbox.list_customers', {}],
  [
    'id of an action as the name of a tool that is not listed',
    'repaired',
    'get_customer',
    { customerId: 'cus_1001' },
  ],
];

/** Calls for a user with the accounts Home and Work of one app. */
export const AT_SEVERAL: InvalidCall[] = [
  ['no account among several', 'repaired', 'sandbox_list_customers', {}, { account: 'Work' }],
  ['name of an account in other letter case', 'repaired', 'sandbox_list_customers', { credentialId: 'work' }],
  ['name of an account with a wrong letter', 'repaired', 'sandbox_list_customers', { credentialId: 'Homee' }],
  [
    'id of no account',
    'repaired',
    'execute_action_svc',
    { ...LIST, credentialId: 'cred_none' },
    { account: 'Home' },
  ],
];
