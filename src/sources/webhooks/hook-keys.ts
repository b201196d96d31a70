import type { Connector } from '../../connectors/catalog.ts';
import type { SourceScope } from '../../connectors/event-scopes.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { templateNames } from '../../connectors/templates.ts';
import type { HookVerification } from '../../connectors/format/verify-format.ts';
import type { Context } from '../../credentials/context.ts';
import type { Credential } from '../../credentials/credential.ts';
import { findOAuthApp } from '../../credentials/oauth-apps.ts';
import { openCredential } from '../../credentials/sealed-values.ts';
import { isBlank } from './signed-content.ts';

type KeysContext = Pick<Context, 'db' | 'clock' | 'keys' | 'catalog' | 'credentialMemory'>;

/**
 * Returns the values that templates of a verification may name in addition to `{secret}`. These are the
 * fields of the credential, and `{clientSecret}` of the OAuth app that granted it.
 */
export async function keysOf(
  context: KeysContext,
  connector: Connector,
  credential: Credential,
): Promise<(name: string) => string | undefined> {
  const { values } = openCredential(context, connector, credential);
  const app =
    credential.type === 'oauth2'
      ? await findOAuthApp(context, credential.environment, connector.connectorId)
      : undefined;
  return (name) => values[name]?.open() ?? (name === 'clientSecret' ? app?.clientSecret?.open() : undefined);
}

/**
 * Returns whether an app's webhooks can serve a scope of an account; otherwise the source is polled. The
 * connector file must have topics for the scope and allow credentials of this type. All values for
 * registering and verifying must be known.
 */
export async function isNative(
  context: KeysContext,
  connector: Connector,
  { credential, scope }: { credential: Credential; scope: SourceScope },
): Promise<boolean> {
  const { webhooks } = connector.definition;
  if (!webhooks?.register || topicsOf(webhooks, scope).length === 0) return false;
  const create = connector.definition.actions[webhooks.register.create.action];
  const names = Object.values(create?.fixed?.headers ?? {}).flatMap(templateNames);
  return canVerify(context, connector, { credential, names });
}

/**
 * Returns whether webhooks for a credential can be verified: its type is allowed, its account is known where events
 * name one, and the values of the scheme and of `names` are known.
 */
export async function canVerify(
  context: KeysContext,
  connector: Connector,
  { credential, names = [] }: { credential: Credential; names?: readonly string[] },
): Promise<boolean> {
  const { webhooks } = connector.definition;
  if (!webhooks || webhooks.authentication?.includes(credential.type) === false) return false;
  // Without the account id, events of other accounts look like those of this one.
  if (webhooks.account !== undefined && credential.account === null) return false;
  const value = await keysOf(context, connector, credential);
  return [...keyNames(webhooks.verify), ...names].every((name) => name === 'secret' || !isBlank(value(name)));
}

function keyNames(verify: HookVerification): string[] {
  switch (verify.type) {
    case 'hmac':
    case 'standard':
      return templateNames(verify.key);
    case 'public_key':
      return templateNames(verify.key ?? '');
    case 'header':
    case 'secret':
      return templateNames(verify.value);
    case 'basic':
      return [...templateNames(verify.username), ...templateNames(verify.password)];
  }
}
