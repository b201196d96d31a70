import { z } from 'zod';
import { unservedNote } from '../../connect/presence.ts';
import type { Connector } from '../../connectors/catalog.ts';
import { credentialNotFound, describeCredential, type Credential } from '../../credentials/credential.ts';
import { updateCredential } from '../../credentials/credential-records.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { writtenOut } from '../../lib/hidden-characters.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import { offerLink } from './account-links.ts';
import { accountView, sameNames, unknownAccount, withName } from './account-names.ts';
import { confirm, partiesOf } from './confirm.ts';
import { tool } from './define-tool.ts';
import { InputRequired } from '../scope/input.ts';
import { questionForDefault } from './question.ts';
import { credentialsOf } from './run-action.ts';
import type { ToolScope } from '../scope/tool.ts';
import { visibleConnector } from './visible-names.ts';

/* The tools for the accounts of a user. */

export const listCredentialsTool = tool({
  name: 'list_credentials_svc',
  title: 'List connected accounts',
  description: 'The accounts that the user has connected, and whether each still works.',
  input: z.strictObject({ connectorId: z.string().optional().describe('Only accounts of this app.') }),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  thirdParty: true,
  async run(scope, { connectorId }) {
    const one = connectorId === undefined ? undefined : visibleConnector(scope, connectorId).connector;
    const shown = new Set(scope.visible.connectors.map(({ connector }) => connector.connectorId));
    const credentials = (await credentialsOf(scope, one?.connectorId)).filter((each) =>
      shown.has(each.connectorId),
    );
    return { credentials: credentials.map((one) => writtenOut(asJson(describeCredential(one)))) };
  },
});

export const createCredentialTool = tool({
  name: 'create_credential_svc',
  title: 'Connect an account',
  description:
    'A link for the user to connect an account of an app, valid for 15 minutes. Show it to the user. Calls of the app ' +
    'work after the account is connected.',
  input: z.strictObject({ connectorId: z.string().describe('From list_connectors_svc.') }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  view: 'results',
  async run(scope, { connectorId: named }): Promise<JsonObject> {
    const { connector } = visibleConnector(scope, named);
    const { connectorId } = connector;
    const userId = requireUser(scope);
    if (connector.definition.authentication.every(({ type }) => type === 'none')) {
      return { connectorId, connected: true, next: `${connector.name} needs no account.` };
    }
    const { url, expiresAt, action } = await offerLink(scope, connectorId, userId);
    const link = { connectorId, connectUrl: url, expiresAt: isoTime(expiresAt) };
    if (action === undefined) {
      const note = await unservedNote(scope.context);
      const next = 'Ask the user to open the link. Then call the action that you want.';
      return { ...link, next: note === undefined ? next : `${note} ${next}` };
    }
    if (action !== 'accept') {
      return { connectorId, declined: true, next: 'The user does not want to connect an account now.' };
    }
    return { ...link, next: 'The user has opened the link. Continue when the account is connected.' };
  },
});

export const setDefaultCredentialTool = tool({
  name: 'set_default_credential_svc',
  title: 'Set the default account',
  description:
    'Sets the account that calls of an app use when they name none, after the user agrees. Useful for a user with ' +
    'several accounts of one app.',
  input: z.strictObject({
    credentialId: z.string().describe('Id or exact name of the account, from list_credentials_svc.'),
    connectorId: z.string().optional().describe('The app, where accounts of several apps have this name.'),
    confirmationToken: z
      .string()
      .optional()
      .describe('From the error confirmation_required, after the user agreed.'),
  }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  view: 'questions',
  thirdParty: true,
  async run(scope, { credentialId: named, connectorId, confirmationToken }): Promise<JsonObject> {
    const { connector, credential } = await accountNamed(scope, named, connectorId);
    const { credentialId, isDefault } = credential;
    if (!isDefault) {
      await agree(scope, { connector, credential, token: confirmationToken });
      await markDefault(scope, credential);
    }
    return {
      account: accountView(credential),
      connectorId: connector.connectorId,
      default: true,
      next: `Calls of ${connector.name} without credentialId use ${credentialId}. Another one can still be named.`,
    };
  },
});

/** Returns the user of a call. @throws GatehouseError `user_id_missing` */
function requireUser({ grant: { userId } }: ToolScope): string {
  if (userId !== undefined) return userId;
  throw new GatehouseError(
    'user_id_missing',
    'An account belongs to a user, and this server was called without one.',
  );
}

/**
 * Returns the account of a visible app with this id, or else with exactly this name.
 * @throws GatehouseError `user_id_missing`, `credential_not_found`, `credential_ambiguous`, `credential_invalid`.
 */
async function accountNamed(
  scope: ToolScope,
  named: string,
  connectorId: string | undefined,
): Promise<{ connector: Connector; credential: Credential }> {
  requireUser(scope);
  const one = connectorId === undefined ? undefined : visibleConnector(scope, connectorId).connector;
  const shown = new Map(scope.visible.connectors.map(({ connector }) => [connector.connectorId, connector]));
  const all = (await credentialsOf(scope, one?.connectorId)).filter((each) => shown.has(each.connectorId));
  const byId = all.filter(({ credentialId }) => credentialId === named);
  const [credential, ...others] = byId.length > 0 ? byId : withName(all, named);
  const connector = credential && shown.get(credential.connectorId);
  if (!connector) throw unknownAccount(credentialNotFound(named), all, named);
  if (others.length > 0) throw sameNames([credential, ...others]);
  if (credential.state === 'active') return { connector, credential };
  throw new GatehouseError(
    'credential_invalid',
    `The account ${credential.credentialId} of ${connector.name} does not work now, so it cannot be the default.`,
    { details: { credentialId: credential.credentialId, state: credential.state } },
  );
}

/** Asks the user to agree to a default account. @throws as confirm(); InputRequired */
async function agree(
  scope: ToolScope,
  {
    connector,
    credential,
    token,
  }: { connector: Connector; credential: Credential; token: string | undefined },
): Promise<void> {
  const { connectorId, name } = connector;
  const { credentialId } = credential;
  const actionId = 'set_default_credential_svc';
  try {
    const call = {
      ...partiesOf(scope.grant),
      connectorId,
      actionId,
      definition: '',
      credentialId,
      input: {},
    };
    await confirm(
      scope,
      {
        call,
        question: () => questionForDefault(name, credential),
        needs: `${credentialId} becomes the default account of ${name} only after the user has agreed to it.`,
        declined: `The user did not agree to ${credentialId} as the default account of ${name}.`,
        details: { tool: actionId, connectorId, credentialId },
      },
      token,
    );
  } catch (error) {
    if (error instanceof GatehouseError && error.cause instanceof InputRequired) throw error.cause;
    throw error;
  }
}

async function markDefault(
  { context, grant, requestId }: ToolScope,
  { environment, userId, credentialId }: Credential,
): Promise<void> {
  await updateCredential(context, { environment, userId, credentialId }, { default: true });
  await context.audit.record({
    environment,
    requestId,
    caller: grant.caller,
    operation: 'updateCredential',
    target: `${userId} ${credentialId}`,
    status: 200,
  });
}
