import { setTimeout as sleep } from 'node:timers/promises';
import type { Connector } from '../connectors/catalog.ts';
import type { TokenScheme } from '../connectors/format/format.ts';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import type { Context } from './context.ts';
import { credentialNotFound, toCredential, type Credential } from './credential.ts';
import { valuesOf } from './granted.ts';
import { readLeased } from './renewal-lease.ts';
import type { Tokens } from './oauth.ts';
import { openValues, sealValues } from './sealed-values.ts';
import { refreshByOf, renewAtOf } from './renewal-times.ts';
import { endTokens } from './revoke.ts';
import { dropSpares, keepSpare } from './spares.ts';

type SaveContext = Pick<
  Context,
  'db' | 'clock' | 'log' | 'keys' | 'catalog' | 'outbound' | 'credentialMemory'
>;

/** Pauses between attempts to save; a store that restarts is usually back within them. */
const SAVE_AGAIN_MS = [SECOND / 4, SECOND, 4 * SECOND];

/** Renewed tokens and the credential that they were renewed from. */
interface Renewed {
  connector: Connector;
  scheme: TokenScheme;
  credential: Credential;
  /** The values before the renewal; their refresh token stays if the answer has none. */
  values: Record<string, string>;
  tokens: Tokens;
}

/**
 * Saves tokens over the version that they were renewed from, and returns the stored credential.
 * If that version was replaced, the tokens are kept as a spare and the newer credential is returned.
 * @throws GatehouseError `credential_not_found` when the credential was deleted; the tokens are then revoked.
 */
export async function saveTokens(context: SaveContext, renewed: Renewed): Promise<Credential> {
  const { db, clock, log } = context;
  const { connector, scheme, credential, tokens } = renewed;
  const { credentialId, version } = credential;
  const values = valuesOf(renewed);
  const now = clock.now();
  const sealed = sealValues(context, credential, values);
  const { refreshExpiresAt } = tokens;
  const kept = scheme.type === 'oauth2' ? { refreshToken: values['refreshToken'], refreshExpiresAt } : {};
  const row = await patiently(context, () =>
    db
      .updateTable('credentials')
      .set({
        sealed,
        version: version + 1,
        expires_at: tokens.expiresAt ?? null,
        renew_at: renewAtOf(tokens.expiresAt, now),
        refresh_by: refreshByOf(scheme, kept, now) ?? null,
        refresh_failures: 0,
        refresh_after: null,
        ...(tokens.scopes ? { scopes: JSON.stringify(tokens.scopes) } : {}),
        updated_at: now,
      })
      .where('credential_id', '=', credentialId)
      .where('version', '=', version)
      .returningAll()
      .executeTakeFirst(),
  );
  context.credentialMemory.forgetChoices();
  if (row) {
    await dropSpares(db, credentialId);
    log.debug({ credentialId, connectorId: connector.connectorId, version: version + 1 }, 'tokens renewed');
    return toCredential(row);
  }
  const latest = await readLeased(db, credentialId, now);
  if (!latest) {
    await endTokens(context, connector, { credential, values });
    throw credentialNotFound(credentialId);
  }
  // The store lost its connection after the commit: the first attempt to save had worked.
  if (latest.credential.sealed === sealed) return latest.credential;
  if (openValues(context, latest.credential)['refreshToken'] !== values['refreshToken'])
    await keepSpare(context, latest.credential, values);
  log.warn(
    { credentialId, connectorId: connector.connectorId, version, found: latest.credential.version },
    'renewed tokens kept as spare, a newer version exists',
  );
  return latest.credential;
}

/** Retries the save, because the tokens exist only in this process. */
async function patiently<T>({ log }: Pick<Base, 'log'>, save: () => Promise<T>): Promise<T> {
  for (const waitMs of SAVE_AGAIN_MS) {
    try {
      return await save();
    } catch (error) {
      log.error({ err: error, waitMs }, 'renewed tokens not saved, will retry');
      await sleep(waitMs);
    }
  }
  return save();
}
