import { z } from 'zod';
import { unservedNote } from '../../connect/presence.ts';
import { describeCredential } from '../../credentials/credential.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { writtenOut } from '../../lib/hidden-characters.ts';
import { asJson, type JsonObject } from '../../lib/json.ts';
import { offerLink } from './account-links.ts';
import { tool } from './define-tool.ts';
import { credentialsOf } from './run-action.ts';
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
  async run(scope, { connectorId: named }): Promise<JsonObject> {
    const { connector } = visibleConnector(scope, named);
    const { connectorId } = connector;
    const { userId } = scope.grant;
    if (userId === undefined) {
      throw new GatehouseError(
        'user_id_missing',
        'An account belongs to a user, and this server was called without one.',
      );
    }
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
