import { sql } from 'kysely';
import type { Tx } from './schema.ts';
import { index, stamped } from './migration-helpers.ts';

/** Adds OAuth apps, connect sessions, and the columns for renewing tokens. */
export async function accounts(tx: Tx): Promise<void> {
  const { schema } = tx;

  await schema.alterTable('credentials').addColumn('scopes', 'text').execute();
  await schema
    .alterTable('credentials')
    .addColumn('version', 'integer', (c) => c.notNull().defaultTo(1))
    .execute();
  await schema.alterTable('credentials').addColumn('lease_token', 'text').execute();
  await schema.alterTable('credentials').addColumn('lease_until', 'bigint').execute();
  await schema
    .alterTable('credentials')
    .addColumn('fence', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await schema
    .alterTable('credentials')
    .addColumn('refresh_failures', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await schema.alterTable('credentials').addColumn('refresh_after', 'bigint').execute();
  await schema.alterTable('credentials').addColumn('renew_at', 'bigint').execute();
  await schema.alterTable('credentials').addColumn('refresh_by', 'bigint').execute();
  await index(tx, 'credentials', ['refresh_by']);

  await schema
    .createTable('spare_tokens')
    .addColumn('spare_id', 'text', (c) => c.primaryKey())
    .addColumn('credential_id', 'text', (c) =>
      c.notNull().references('credentials.credential_id').onDelete('cascade'),
    )
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'spare_tokens', ['credential_id']);

  await stamped(
    schema
      .createTable('oauth_apps')
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('connector_id', 'text', (c) => c.notNull())
      .addColumn('client_id', 'text', (c) => c.notNull())
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('scopes', 'text'),
  )
    .addPrimaryKeyConstraint('oauth_apps_key', ['environment', 'connector_id'])
    .execute();

  await stamped(
    schema
      .createTable('connect_sessions')
      .addColumn('session_id', 'text', (c) => c.primaryKey())
      .addColumn('token_hash', 'text', (c) => c.notNull().unique())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.user_id').onDelete('cascade'))
      .addColumn('connectors', 'text')
      .addColumn('credential_id', 'text', (c) =>
        c.references('credentials.credential_id').onDelete('cascade'),
      )
      .addColumn('type', 'text')
      .addColumn('prefill', 'text')
      .addColumn('redirect_uri', 'text')
      .addColumn('client_state', 'text')
      .addColumn('via', 'text', (c) => c.notNull())
      .addColumn('browser_hash', 'text')
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('outcome', 'text')
      .addColumn('expires_at', 'bigint', (c) => c.notNull()),
  ).execute();
  await index(tx, 'connect_sessions', ['user_id']);
  await index(tx, 'connect_sessions', ['expires_at']);
  await index(tx, 'connect_sessions', ['credential_id']);

  await schema
    .createTable('oauth_states')
    .addColumn('state_hash', 'text', (c) => c.primaryKey())
    .addColumn('session_id', 'text', (c) =>
      c.notNull().references('connect_sessions.session_id').onDelete('cascade'),
    )
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
  await index(tx, 'oauth_states', ['session_id']);
  await index(tx, 'oauth_states', ['expires_at']);
}

/** Adds the fields of an OAuth app: where it is registered, for connectors of many hosts. */
export async function oauthAppFields({ schema }: Tx): Promise<void> {
  await schema
    .alterTable('oauth_apps')
    .addColumn('fields', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute();
}

/**
 * Adds the key that makes one account one credential. Existing rows keep null, which no unique index compares, so
 * duplicates of earlier releases stay. Each row gets its key at its next write.
 */
export async function oneAccountOneCredential(tx: Tx): Promise<void> {
  const { schema } = tx;
  await schema.alterTable('credentials').addColumn('account_key', 'text').execute();
  await schema
    .alterTable('credentials')
    .addColumn('is_default', 'integer', (c) => c.notNull().defaultTo(0))
    .execute();
  await sql`create unique index credentials_account_once
    on credentials (user_id, connector_id, account_key)`.execute(tx);
  await sql`create unique index credentials_default_once
    on credentials (user_id, connector_id) where is_default = 1`.execute(tx);
}

/** Adds the address of the running process: one row, `service`. `seen_at` 0 means that the process has ended. */
export async function presence({ schema }: Tx): Promise<void> {
  await schema
    .createTable('presence')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .addColumn('public_url', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'bigint', (c) => c.notNull())
    .execute();
}

/** Splits the reasons of earlier releases, which quoted the app inside our sentence, into two columns. */
export async function wordsOfApps(tx: Tx): Promise<void> {
  await tx.schema.alterTable('credentials').addColumn('app_message', 'text').execute();
  const rows = await tx
    .selectFrom('credentials')
    .select(['credential_id', 'reason'])
    .where('reason', 'is not', null)
    .execute();
  for (const { credential_id: credentialId, reason } of rows) {
    const parts = reason === null ? undefined : partsOfReason(reason);
    if (!parts) continue;
    await tx
      .updateTable('credentials')
      .set({ reason: parts.own, app_message: parts.app })
      .where('credential_id', '=', credentialId)
      .execute();
  }
}

/** The beginnings of reasons that quoted an app in brackets, and the texts after the closing bracket. */
const QUOTING = [
  {
    begins: ' refused the credential (',
    ends: [' Check that it is complete, live, and may read the account.'],
  },
  { begins: ' refused the client id and secret (', ends: [' Replace them.'] },
  {
    begins: ' no longer renews the access (',
    ends: [': it was revoked there, or unused for too long. Connect the account anew.'],
  },
];

function partsOfReason(reason: string): { own: string; app: string | null } | undefined {
  for (const { begins, ends } of QUOTING) {
    const at = reason.indexOf(begins);
    if (at === -1) continue;
    const status = /^HTTP \d{3}/.exec(reason.slice(at + begins.length))?.[0];
    const quoted = reason.slice(at + begins.length + (status?.length ?? 0)).replace(/^: /, '');
    const end = ends.find((one) => quoted.endsWith(one));
    const app = (end === undefined ? quoted : quoted.slice(0, -end.length)).replace(/\)\.?$/, '');
    const own = `${reason.slice(0, at)}${begins.slice(0, -2)}${status ? ` (${status})` : ''}.`;
    return { own, app: app === '' ? null : app };
  }
  return undefined;
}

/** Adds the tokens of consents whose account is not chosen yet. */
export async function unchosenGrants({ schema }: Tx): Promise<void> {
  await schema
    .createTable('unchosen_grants')
    .addColumn('session_id', 'text', (c) =>
      c.primaryKey().references('connect_sessions.session_id').onDelete('cascade'),
    )
    .addColumn('connector_id', 'text', (c) => c.notNull())
    .addColumn('sealed', 'text', (c) => c.notNull())
    .addColumn('expires_at', 'bigint', (c) => c.notNull())
    .addColumn('created_at', 'bigint', (c) => c.notNull())
    .execute();
}

/** Adds the scopes that a sign-in requests because the app refused a call without them. */
export async function scopesOfSessions({ schema }: Tx): Promise<void> {
  await schema.alterTable('connect_sessions').addColumn('scopes', 'text').execute();
}
