import { ownAction, type Connector } from '../../connectors/catalog.ts';
import type { Context } from '../context.ts';
import type { Credential } from '../../credentials/credential.ts';
import { judgeFailure } from '../../credentials/refusal.ts';
import { openCredential } from '../../credentials/sealed-values.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import { withFreshTokens } from '../../credentials/refresh.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import { recordInput } from '../../unified/inputs.ts';
import { saysGone } from '../../unified/map.ts';
import { sourceModelOf } from '../../connectors/source-model.ts';
import { callUpstream } from '../../upstream/call.ts';
import { interpretAnswer, reportsNone } from '../../upstream/response.ts';
import type { Source } from '../source.ts';

/**
 * Returns the present state of a record. Returns null only when the app reports that the record does not
 * exist.
 * @throws GatehouseError `upstream_failed` for an answer without a record; as withFreshTokens, callUpstream,
 * interpretAnswer.
 */
export async function fetchRecord(
  context: Context,
  source: Source,
  { connector, remoteId, signal }: { connector: Connector; remoteId: string; signal: AbortSignal },
): Promise<Json> {
  const model = sourceModelOf(connector, source.scope);
  const { get } = model;
  const action = get && ownAction(connector, get.action);
  const credential = await findConnection(context.db, source.environment, source.credentialId);
  if (!get || !action || !credential) throw sourceGone(source);
  let used = credential;
  return withFreshTokens(context, { connector, credential }, async (fresh) => {
    used = fresh;
    const open = openCredential(context, connector, fresh);
    const input = recordInput(connector, get, { credential: open, remoteId });
    const call = { connector, action, credential: open, input, signal };
    try {
      const answer = await callUpstream(context, call);
      const { value } = await interpretAnswer(call, answer);
      if (reportsNone(call, answer) || saysGone(value, model)) return null;
      if (value !== null) return value;
      throw new GatehouseError('upstream_failed', `${connector.name} answered without a record.`, {
        details: { status: answer.status, connectorId: connector.connectorId, reason: 'no_record' },
      });
    } catch (error) {
      const status = error instanceof GatehouseError ? error.details?.['status'] : undefined;
      if (status === 404 || status === 410) return null;
      throw error;
    }
  }).catch(async (error: unknown) => {
    throw await judgeFailure(context, { connector, action, credential: used, effect: 'read' }, error);
  });
}

/**
 * Returns the connector and the credential of a source.
 * @throws GatehouseError `connector_not_found` when one of them is missing.
 */
export async function accountOf(
  { catalog, db }: Context,
  source: Source,
): Promise<{ connector: Connector; credential: Credential }> {
  const { environment, connectorId, credentialId } = source;
  const connector = catalog.connector(environment, connectorId);
  const credential = await findConnection(db, environment, credentialId);
  if (!connector || !credential) throw sourceGone(source);
  return { connector, credential };
}

function sourceGone({ connectorId }: Source): GatehouseError {
  return new GatehouseError('connector_not_found', `There is no ${connectorId}.`);
}

/**
 * Returns whether the credential of a source works, so that the app can be called. A deleted credential
 * counts as working.
 */
export async function isConnected({ db }: Context, { environment, credentialId }: Source): Promise<boolean> {
  const credential = await findConnection(db, environment, credentialId);
  return credential === undefined || credential.state === 'active';
}
