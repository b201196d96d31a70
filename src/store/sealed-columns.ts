import type { Tables } from './schema.ts';

/** A column of sealed boxes. */
export interface SealedColumn {
  readonly table: keyof Tables;
  readonly column: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /**
   * The text that a box is bound to (KeyRing); `{name}` stands for a column of the row. A box that was copied to another
   * row does not open.
   */
  readonly bound: string;
  /** A table that has the columns which the row lacks, and the column that joins both. */
  readonly parent?: { readonly table: keyof Tables; readonly key: string };
}

/**
 * Every sealed column of the store, by table and column. The rotation of the master key reseals the columns of this
 * list, so a column that is missing here would be lost with the old key.
 */
export const SEALED_COLUMNS = {
  'secrets.sealed': { table: 'secrets', column: 'sealed', key: ['name'], bound: 'secret|{name}' },
  'signing_keys.sealed': { table: 'signing_keys', column: 'sealed', key: ['kid'], bound: 'signing|{kid}' },
  'servers.token_sealed': {
    table: 'servers',
    column: 'token_sealed',
    key: ['server_id'],
    bound: 'server-token|{environment}|{server_id}',
  },
  'remote_servers.sealed': {
    table: 'remote_servers',
    column: 'sealed',
    key: ['environment', 'connector_id'],
    bound: 'remote|{environment}|{connector_id}',
  },
  'credentials.sealed': {
    table: 'credentials',
    column: 'sealed',
    key: ['credential_id'],
    bound: 'credential|{environment}|{user_id}|{credential_id}|{connector_id}|{type}|{origins}',
  },
  'spare_tokens.sealed': {
    table: 'spare_tokens',
    column: 'sealed',
    key: ['spare_id'],
    bound: 'spare|{environment}|{user_id}|{credential_id}|{spare_id}',
    parent: { table: 'credentials', key: 'credential_id' },
  },
  'oauth_apps.sealed': {
    table: 'oauth_apps',
    column: 'sealed',
    key: ['environment', 'connector_id'],
    // A changed client id or origin in the row would otherwise send the secret to another app.
    bound: 'oauth-app|{environment}|{connector_id}|{client_id}|{origins}',
  },
  'oauth_states.sealed': {
    table: 'oauth_states',
    column: 'sealed',
    key: ['state_hash'],
    bound: 'oauth_state|{state_hash}',
  },
  'unchosen_grants.sealed': {
    table: 'unchosen_grants',
    column: 'sealed',
    key: ['session_id'],
    bound: 'unchosen_grant|{session_id}',
  },
  'connect_sessions.prefill': {
    table: 'connect_sessions',
    column: 'prefill',
    key: ['session_id'],
    bound: 'connect_session|{session_id}',
  },
  'console_sessions.id_token': {
    table: 'console_sessions',
    column: 'id_token',
    key: ['session_hash'],
    bound: 'console_session|{session_hash}',
  },
  'idempotency.body': {
    table: 'idempotency',
    column: 'body',
    key: ['key_hash'],
    bound: 'idempotency|{key_hash}',
  },
  'page_positions.position': {
    table: 'page_positions',
    column: 'position',
    key: ['list_hash', 'item_offset'],
    bound: 'position|{list_hash}|{item_offset}',
  },
  'result_pages.sealed': {
    table: 'result_pages',
    column: 'sealed',
    key: ['result_id', 'page'],
    bound: 'result|{result_id}|{page}',
  },
  'programs.sealed': {
    table: 'programs',
    column: 'sealed',
    key: ['program_id'],
    bound: 'program|{environment}|{server_id}|{program_id}',
  },
  'tasks.sealed': {
    table: 'tasks',
    column: 'sealed',
    key: ['task_id'],
    bound: 'task|{environment}|{server_id}|{task_id}',
  },
  'execution_payloads.sealed': {
    table: 'execution_payloads',
    column: 'sealed',
    key: ['execution_id'],
    bound: 'payload|{execution_id}',
  },
  'undos.sealed': {
    table: 'undos',
    column: 'sealed',
    key: ['execution_id'],
    bound: 'undo|{environment}|{execution_id}|{connector_id}|{action_id}',
  },
  'files.sealed': { table: 'files', column: 'sealed', key: ['file_id'], bound: 'file|{file_id}' },
  'sources.hook_sealed': {
    table: 'sources',
    column: 'hook_sealed',
    key: ['source_id'],
    bound: 'source|{source_id}',
  },
  'manual_hooks.sealed': {
    table: 'manual_hooks',
    column: 'sealed',
    key: ['credential_id'],
    bound: 'manual_hook|{credential_id}',
  },
  'subscriptions.secret_sealed': {
    table: 'subscriptions',
    column: 'secret_sealed',
    key: ['subscription_id'],
    bound: 'subscription|{subscription_id}|secret',
  },
  'subscriptions.previous_secrets_sealed': {
    table: 'subscriptions',
    column: 'previous_secrets_sealed',
    key: ['subscription_id'],
    bound: 'subscription|{subscription_id}|previous',
  },
  'subscriptions.headers_sealed': {
    table: 'subscriptions',
    column: 'headers_sealed',
    key: ['subscription_id'],
    bound: 'subscription|{subscription_id}|headers',
  },
  'workflow_installations.config_sealed': {
    table: 'workflow_installations',
    column: 'config_sealed',
    key: ['installation_id'],
    bound: 'workflow_installation|{installation_id}',
  },
  'workflow_runs.config_sealed': {
    table: 'workflow_runs',
    column: 'config_sealed',
    key: ['run_id'],
    bound: 'workflow_run|{run_id}',
  },
  'workflow_steps.sealed': {
    table: 'workflow_steps',
    column: 'sealed',
    key: ['run_id', 'position', 'item'],
    bound: 'workflow_step|{run_id}|{position}|{item}|input',
  },
  'workflow_steps.output_sealed': {
    table: 'workflow_steps',
    column: 'output_sealed',
    key: ['run_id', 'position', 'item'],
    bound: 'workflow_step|{run_id}|{position}|{item}|output',
  },
} as const satisfies Record<string, SealedColumn>;

type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Bound<Column extends keyof typeof SEALED_COLUMNS> = (typeof SEALED_COLUMNS)[Column]['bound'];

/** Returns the text that binds a box of this column. `row`: the columns that the text names. */
export function boundTo<Column extends keyof typeof SEALED_COLUMNS>(
  column: Column,
  row: Readonly<Record<Names<Bound<Column>>, string | number>>,
): string {
  return boundText(SEALED_COLUMNS[column].bound, row);
}

/**
 * Returns the text in `SealedColumn.bound` for a row. A separator inside of a value has a backslash before it;
 * otherwise a client id such as `a|b` gives the text of a row with one value more.
 */
export function boundText(text: string, row: Readonly<Record<string, unknown>>): string {
  let bound = '';
  for (const [at, part] of partsOf(text).entries())
    bound += at % 2 === 0 ? part : String(row[part]).replaceAll(/[\\|]/g, '\\$&');
  return bound;
}

const known = new Map<string, string[]>();

/** Returns the parts of a text: literals at even places, names of columns at odd ones. */
function partsOf(text: string): string[] {
  let parts = known.get(text);
  if (!parts) known.set(text, (parts = text.split(/[{}]/)));
  return parts;
}
