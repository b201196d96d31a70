import { appsOf } from '../../connect/apps.ts';
import { iconOf, inkOn } from '../../connectors/icon.ts';
import type { Connector } from '../../connectors/catalog.ts';
import { isoTime } from '../../lib/clock.ts';
import type { GatehouseError } from '../../lib/errors.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import type { ResultSource } from '../scope/large-results.ts';
import { credentialsOf } from './run-action.ts';
import type { ToolScope } from '../scope/tool.ts';
import { showsViews } from '../scope/view-document.ts';

/** Errors whose details have a link of ours; see withLink(). Their details hold no member that an app named. */
const LINKED = new Set(['credential_required', 'credential_invalid', 'upstream_rejected']);

/** A result that the document shows (src/views/shown-facts.ts). */
interface Viewed {
  /** Name of the tool. */
  tool: string;
  args: unknown;
  /** The action, where the tool is that of one action. */
  source?: ResultSource | undefined;
  /** The answer, where it has no words of an app. */
  ours?: JsonObject | undefined;
  error?: GatehouseError;
}

/**
 * Returns the facts of a result that the document shows, as members of its `_meta`. The result itself stays as other
 * clients get it. An app may write a result of any likeness, so the document takes links and questions only from here.
 * Returns undefined for a client that shows no document.
 */
export async function viewFacts(scope: ToolScope, viewed: Viewed): Promise<JsonObject | undefined> {
  if (!showsViews(scope)) return undefined;
  const { tool, args, source, ours, error } = viewed;
  const own = { ...ours, ...asObject(error?.details) };
  const { connectorId, actionId } = { ...asObject(args), ...source, ...own };
  const shown = scope.visible.connectors.find(({ connector }) => connector.connectorId === connectorId);
  const action = shown?.actions.find((one) => one.actionId === actionId);
  const isLink = ours !== undefined || (error !== undefined && LINKED.has(error.code));
  const url = isLink ? (own['connectUrl'] ?? own['reconnectUrl']) : undefined;
  const { question } = own;
  const isQuestion = error?.code === 'confirmation_required' && typeof question === 'string';
  return {
    'gatehouse/view': {
      tool,
      failed: error !== undefined,
      ...(shown ? { app: appFacts(shown.connector) } : {}),
      // A view repeats only reads, for the next page.
      ...(action ? { action: { name: action.name, pages: action.list && action.effect === 'read' } } : {}),
      ...(isQuestion ? { question, subject: subjectOf(own) } : {}),
      ...(shown && typeof url === 'string'
        ? { connect: { url, ...(await connectFacts(scope, shown.connector, own)) } }
        : {}),
    },
  };
}

/** Returns the action of a question, or its tool, by the ids. A name may be a sentence. */
function subjectOf({ tool, connectorId, actionId }: JsonObject): string {
  return typeof tool === 'string' ? tool : `${String(connectorId)}.${String(actionId)}`;
}

function appFacts(connector: Connector): JsonObject {
  const { letter, color } = iconOf(connector);
  return { connectorId: connector.connectorId, name: connector.name, letter, color, ink: inkOn(color) };
}

/** Returns how the account is connected, and the facts by which the document finds out that it is. */
async function connectFacts(
  scope: ToolScope,
  { connectorId }: Connector,
  { credentialId, scopes }: JsonObject,
): Promise<JsonObject> {
  const { context, grant } = scope;
  const { environment } = grant;
  const lacksScopes = Array.isArray(scopes);
  const type = lacksScopes ? 'oauth2' : null;
  const [app] = await appsOf(context, { environment, connectors: [connectorId], type });
  const ways = (app?.authentication ?? [])
    .filter(({ ready }) => ready)
    .map(({ title, inputSchema }) => ({
      title,
      fields: Object.entries(asObject(inputSchema['properties'])).map(([name, schema]) =>
        String(asObject(schema)['title'] ?? name),
      ),
    }));
  const working = (await credentialsOf(scope, connectorId)).filter(({ state }) => state === 'active');
  const known = working.map((one) => one.credentialId).filter((id) => id !== credentialId || lacksScopes);
  // An authorization server need not name what it granted, so only the record shows that the user signed in again.
  const again = lacksScopes ? working.find((one) => one.credentialId === credentialId) : undefined;
  return {
    ways,
    known,
    ...(again ? { again: { credentialId: again.credentialId, since: isoTime(again.updatedAt) } } : {}),
  };
}
