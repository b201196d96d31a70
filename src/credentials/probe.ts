import { ownAction, type Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format/format.ts';
import type { Context } from './context.ts';
import { GatehouseError } from '../lib/errors.ts';
import { valueAt, type Json } from '../lib/json.ts';
import { callUpstream } from '../upstream/call.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { interpretAnswer } from '../upstream/response.ts';
import type { Account } from './credential.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';

export type ProbeContext = Pick<
  Context,
  'outbound' | 'throttle' | 'clock' | 'log' | 'telemetry' | 'remoteSessions'
>;

/** The result of a probe. `checked` is false when the connector has no probe and nothing was sent. */
export interface Probed {
  checked: boolean;
  account?: Account | undefined;
}

/**
 * Checks at the third party whether a credential works: one call of the connector's probe action.
 * @throws GatehouseError `credential_invalid` when the third party rejects it; also with 403, because every valid
 * credential may make the probe's call. The upstream_* codes when the third party gave no definite answer.
 */
export async function probe(
  context: ProbeContext,
  connector: Connector,
  { credential, signal }: { credential: OpenCredential; signal?: AbortSignal | undefined },
): Promise<Probed> {
  const { definition } = connector;
  const actionId = probeOf(connector, credential.scheme);
  const action = actionId === undefined ? undefined : ownAction(connector, actionId);
  if (!action) return { checked: false };
  const call: UpstreamCall = {
    connector,
    action,
    credential,
    input: {},
    ...(action.paging && 'limitParam' in action.paging && action.paging.limitParam !== undefined
      ? { page: { params: { [action.paging.limitParam]: 1 } } }
      : {}),
    ...(signal ? { signal } : {}),
  };
  try {
    const { value } = await interpretAnswer(call, await callUpstream(context, call));
    return { checked: true, account: accountIn(definition.account, value) };
  } catch (error) {
    throw asRefusal(connector, error);
  }
}

/** Returns the action that shows whether a credential of this scheme works; undefined where there is none. */
export function probeOf({ definition }: Connector, scheme: Authentication | undefined): string | undefined {
  return (scheme && 'probe' in scheme ? scheme.probe : undefined) ?? definition.probe;
}

function accountIn(
  paths: { id: string; name?: string | undefined } | undefined,
  value: Json,
): Account | undefined {
  if (!paths) return undefined;
  const id = textAt(value, paths.id);
  if (id === undefined) return undefined;
  return { id, name: paths.name === undefined ? undefined : textAt(value, paths.name) };
}

function textAt(value: Json, path: string): string | undefined {
  const found = valueAt(value, path);
  return typeof found === 'string' || typeof found === 'number' ? String(found).slice(0, 200) : undefined;
}

function asRefusal(connector: Connector, error: unknown): unknown {
  if (!(error instanceof GatehouseError) || error.code !== 'upstream_rejected') return error;
  const { status, message } = error.details ?? {};
  if (status !== 401 && status !== 403) return error;
  return new GatehouseError(
    'credential_invalid',
    `${connector.name} refused the credential (HTTP ${status}${typeof message === 'string' ? `: ${message}` : ''}). ` +
      'Check that it is complete, live, and may read the account.',
    { details: { reason: 'refused', status, ...(message === undefined ? {} : { message }) }, cause: error },
  );
}
