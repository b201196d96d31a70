import { compileConnector } from '../connectors/compile.ts';
import { keepsOrigins } from '../connectors/origins.ts';
import type { Connector } from '../connectors/catalog.ts';
import { toCredential } from '../credentials/credential.ts';
import { withFreshTokens } from '../credentials/refresh.ts';
import { openCredential, unsavedCredential } from '../credentials/sealed-values.ts';
import { requireDefinition } from '../custom/custom-definition.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject, isJsonObject, type JsonObject } from '../lib/json.ts';
import { callUpstream } from '../upstream/call.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import { interpretAnswer } from '../upstream/response.ts';
import type { Context } from './context.ts';
import type { Remote } from './remote-rows.ts';
import type { Offers } from './context-actions.ts';
import { fileWith, TOOLS_ACTION } from './tools-file.ts';

/** The tools of a server, and its further parts. */
interface Listing {
  tools: readonly unknown[];
  offers: Offers;
}

type ReadContext = Omit<Context, 'remoteServers' | 'customConnectors' | 'builds'>;

/**
 * Returns the tools of a remote server. Reads them with the operator's values, or without a credential if the server needs
 * none, else with the oldest active credential of a user. Returns undefined while there is no such credential.
 * @throws GatehouseError credential_invalid, upstream_*
 */
export async function readTools(
  context: ReadContext,
  remote: Pick<Remote, 'key' | 'settings' | 'values'>,
  { isRoutine = false }: { isRoutine?: boolean } = {},
): Promise<Listing | undefined> {
  const connector = listingConnector(remote);
  const [scheme] = connector.definition.authentication;
  if (!scheme) return undefined;
  if (remote.values || scheme.type === 'none') {
    const own = { credentialId: 'operator', values: remote.values ?? {} };
    const credential = scheme.type === 'none' ? undefined : unsavedCredential(connector, scheme, own);
    return listWith(context, connector, { credential, isRoutine });
  }
  const row = await oldestAccount(context, connector, remote.key);
  if (!row) return undefined;
  return withFreshTokens(context, { connector, credential: toCredential(row) }, (fresh) =>
    listWith(context, connector, { credential: openCredential(context, connector, fresh), isRoutine }),
  );
}

/** Returns the oldest working credential that the server may get; one of an earlier address or OAuth server never is. */
async function oldestAccount(
  { db }: ReadContext,
  connector: Connector,
  { environment, connectorId }: Remote['key'],
) {
  const active = db
    .selectFrom('credentials')
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('state', '=', 'active');
  const bindings = await active.select('origins').distinct().execute();
  const kept = bindings.map(({ origins }) => origins).filter((origins) => keepsOrigins(connector, origins));
  if (kept.length === 0) return undefined;
  return active.selectAll().where('origins', 'in', kept).orderBy('created_at').executeTakeFirst();
}

/** Returns the connector of a server without any tool, which can list the tools. */
function listingConnector({ key, settings }: Pick<Remote, 'key' | 'settings'>): Connector {
  const source = fileWith(settings, '2000-01-01');
  const { file } = requireDefinition({ source, kind: 'mcp', overlay: undefined });
  return compileConnector(file, {
    environments: [key.environment],
    served: false,
    custom: true,
    recorded: () => [],
  });
}

async function listWith(
  context: ReadContext,
  connector: Connector,
  { credential, isRoutine }: { credential: OpenCredential | undefined; isRoutine: boolean },
): Promise<Listing> {
  const action = connector.internal.get(TOOLS_ACTION);
  if (!action) throw new Error(`The connector of a remote server has no action ${TOOLS_ACTION}.`);
  const call = { connector, action, credential, input: {}, isRoutine };
  const { value } = await interpretAnswer(call, await callUpstream(context, call));
  const { tools, capabilities } = asObject(value);
  if (Array.isArray(tools)) return { tools, offers: offersOf(asObject(capabilities)) };
  throw new GatehouseError('upstream_failed', `${connector.name} answered without a list of tools.`);
}

/** Returns the parts that a server declared. */
function offersOf({ resources, prompts, completions }: JsonObject): Offers {
  return {
    resources: isJsonObject(resources),
    prompts: isJsonObject(prompts),
    completions: isJsonObject(completions),
  };
}
