import type { Action, Connector } from '../connectors/catalog.ts';
import { signInScopes, unnamedScopes } from '../connectors/needs.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Credential } from './credential.ts';

/** More scopes would not fit into the address of a consent page. */
const MAX_SCOPES = 50;

/** A call that an app rejected, with the credential that it used. */
interface Rejected {
  connector: Connector;
  action: Action;
  credential: Pick<Credential, 'credentialId' | 'type' | 'scopes'>;
}

/**
 * Explains the refusal of an app by the scopes that its account may lack: `details.needed` in words, and
 * `details.scopes`, which a new sign-in requests. The app knows best. Where it names none, the scopes count that the
 * action needs and the grant does not name. Returns other errors unchanged.
 */
export function withMissingScopes(error: unknown, { connector, action, credential }: Rejected): unknown {
  if (!(error instanceof GatehouseError) || !refusesRight(error)) return error;
  const { code, message, details = {}, headers, fix, cause } = error;
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  const own =
    credential.scopes === null
      ? []
      : unnamedScopes(action.definition, credential.scopes, signInScopes(scheme)).slice(0, MAX_SCOPES);
  const reported = typeof details['needed'] === 'string' ? details['needed'] : undefined;
  if (reported === undefined && own.length === 0) return error;
  const named = namedBy(connector, details);
  const scopes = named.length > 0 ? named : own;
  const sentence =
    reported === undefined
      ? ` Its sign-in names no scope ${own.join(' and ')}, which this action needs.`
      : '';
  const { scopes: _challenged, ...others } = details;
  const explained = {
    ...others,
    credentialId: credential.credentialId,
    needed: reported ?? own.join(' '),
    ...(code === 'upstream_rejected' ? { reason: others['reason'] ?? 'permission' } : {}),
    // Keys have no consent that could be given again.
    ...(scheme?.type === 'oauth2' && scopes.length > 0 ? { scopes } : {}),
  };
  return new GatehouseError(code, message + sentence, { details: explained, headers, fix, cause });
}

/** Returns whether an app refused a credential or its right to make a call. */
function refusesRight({ code, details }: GatehouseError): boolean {
  if (code === 'credential_invalid') return details?.['reason'] === 'refused';
  if (code !== 'upstream_rejected') return false;
  return details?.['reason'] === 'permission' || details?.['status'] === 403;
}

/** Returns the scopes that the app names: those of its challenge, or those of the connector file in its words. */
function namedBy({ definition, actions }: Connector, details: Record<string, unknown>): string[] {
  const { scopes, needed } = details;
  if (Array.isArray(scopes)) return scopes.filter((one) => typeof one === 'string').slice(0, MAX_SCOPES);
  if (typeof needed !== 'string') return [];
  const known = new Set([
    ...definition.authentication.flatMap((scheme) => signInScopes(scheme) ?? []),
    ...[...actions.values()].flatMap((action) => action.definition.scopes.flat()),
  ]);
  return [...new Set(needed.split(/[\s,;`"']+/))].filter((word) => known.has(word)).slice(0, MAX_SCOPES);
}
