import { makeFromSource } from '../custom/make.ts';
import { changeConnector, createConnector, requireStored, type Change } from '../custom/custom-records.ts';
import { findNewest, type ConnectorKey, type Version } from '../custom/custom-rows.ts';
import { sourceOf } from '../custom/parts.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject, type JsonObject } from '../lib/json.ts';
import type { Tx } from '../store/schema.ts';
import type { Context } from './context.ts';
import { readTools } from './read-tools.ts';
import { findRemote, recordRead, saveRemote, type Remote } from './remote-rows.ts';
import { followSignIn, keptSignIn, oauth2With, ownAddresses, renewClient, saveClient } from './sign-in.ts';
import { split, type RemoteAuthentication, type RemoteSettings } from './remote-settings.ts';
import { idsIn, type ToolIds } from './tool-ids.ts';
import { fileOfTools, type Report } from './tools-file.ts';

/** A remote MCP server as an operator describes it. */
export interface RemoteServer {
  connectorId: string;
  name?: string | undefined;
  url: string;
  authentication: RemoteAuthentication;
}

/** The connector of a remote server after a change. */
export interface Imported {
  connectorId: string;
  version: number;
  report: Report;
  /** Whether its tools are unknown until the first user connects an account. */
  pending: boolean;
  /** Changes of the tools that make existing calls fail. The server has already made them. */
  breaking?: string[];
}

/**
 * Adds a remote MCP server as a connector, with an action for each of its tools. Without the operator's values the
 * tools are read with the first credential of a user.
 * @throws GatehouseError as createConnector() and readTools()
 */
export async function createRemote(
  context: Context,
  environment: ConnectorKey['environment'],
  { server, caller, dryRun }: { server: RemoteServer; caller: string; dryRun?: boolean | undefined },
): Promise<Imported> {
  const { source, report, readAt, save, client } = await prepare(context, environment, { server, dryRun });
  const change = remoteChange(context, environment, { source, caller, save });
  const made = await createConnector(context, environment, { ...change, dryRun });
  if (!dryRun) await saveClient(context, { environment, connectorId: made.connectorId }, client);
  return { ...made, report, pending: readAt === undefined };
}

/**
 * Changes a connector to a remote MCP server, as createRemote() adds one. Values of the operator that are not given
 * again are deleted.
 * @throws GatehouseError as changeConnector() and readTools()
 */
export async function changeRemote(
  context: Context,
  key: ConnectorKey,
  { server, caller, dryRun }: { server: RemoteServer; caller: string; dryRun?: boolean | undefined },
): Promise<Imported> {
  await requireStored(context.db, key);
  const { source, report, readAt, save, client } = await prepare(context, key.environment, {
    server,
    dryRun,
  });
  const change = remoteChange(context, key.environment, { id: key.connectorId, source, caller, save });
  const { version } = await changeConnector(context, key, { ...change, dryRun });
  if (!dryRun) await saveClient(context, key, client);
  return { connectorId: key.connectorId, version, report, pending: readAt === undefined };
}

/**
 * Reads the tools of a remote server again. Changed tools make a version.
 * @throws GatehouseError `connector_not_found`, `invalid_request` for a connector of another form, as readTools()
 */
export async function readAgain(context: Context, key: ConnectorKey, caller: string): Promise<Imported> {
  await requireStored(context.db, key);
  let remote = await findRemote(context, key);
  if (remote && (await renewClient(context, remote, { caller })))
    remote = (await findRemote(context, key)) ?? remote;
  if (!remote)
    throw new GatehouseError(
      'invalid_request',
      `The connector "${key.connectorId}" is not a remote MCP server. Send a document in "openapi", or change it with PUT.`,
    );
  return update(context, remote, { caller });
}

/**
 * Reads the tools of a server, and stores a version where they changed. A failure is recorded too. Without a working
 * account it also looks whether users sign in elsewhere now; `mayLook` says whether it is time for that.
 */
export async function update(
  context: Context,
  remote: Remote,
  { caller, mayLook = () => true }: { caller: string; mayLook?: (() => boolean) | undefined },
): Promise<Imported> {
  const { key, settings, values } = remote;
  try {
    const listing = await readTools(context, remote, { isRoutine: caller === 'service' });
    if (listing === undefined && mayLook()) await followSignIn(context, remote, caller);
    const readAt = listing === undefined ? remote.readAt : context.clock.now();
    const { file, report } = await fileOfTools(settings, {
      ...(listing ?? { tools: [] }),
      readOn: await readOn(context, key),
      before: await idsBefore(context, key),
    });
    if (listing === undefined) {
      await recordRead(context, key, 'pending');
      const { version } = await requireStored(context.db, key);
      return { connectorId: key.connectorId, version, report, pending: readAt === undefined };
    }
    const save = (tx: Tx) => saveRemote(context, tx, { key, settings, values, readAt });
    const change = remoteChange(context, key.environment, {
      id: key.connectorId,
      source: file,
      caller,
      save,
    });
    const { version, before } = await changeConnector(context, key, change);
    const breaking = version === before.version ? [] : await breaksSince(context, key, before);
    return { connectorId: key.connectorId, version, report, pending: false, breaking };
  } catch (error) {
    if (error instanceof GatehouseError) {
      if (mayLook()) await followSignIn(context, remote, caller);
      await recordRead(context, key, { error: error.message.slice(0, 500) });
    }
    throw error;
  }
}

/** Returns the change that stores the tools of a server, with the overlay of the version before. */
function remoteChange(
  context: Context,
  environment: ConnectorKey['environment'],
  given: { id?: string; source: JsonObject; caller: string; save(tx: Tx): Promise<void> },
): Change {
  const { caller, save, ...source } = given;
  return {
    caller,
    remote: { save },
    make: (before) => makeFromSource(context, environment, { ...source, kind: 'mcp', before }),
  };
}

/** Returns the changes since a version after which calls fail. */
async function breaksSince({ db }: Context, key: ConnectorKey, before: Version): Promise<string[]> {
  const after = await findNewest(db, key);
  const { changesBetween } = await import('../custom/listed-changes.ts');
  return after ? changesBetween(before.definition, after.definition).breaking : [];
}

/** Returns the source of a server's connector, with its tools where they can be read now. */
async function prepare(
  context: Context,
  environment: ConnectorKey['environment'],
  { server, dryRun }: { server: RemoteServer; dryRun?: boolean | undefined },
) {
  const { connectorId, name, url } = server;
  const key = { environment, connectorId };
  const { authentication, values, client } = await resolved(context, { key, server, dryRun });
  const settings: RemoteSettings = {
    connectorId,
    url,
    authentication,
    ...(name === undefined ? {} : { name }),
  };
  const listing = await readTools(context, { key, settings, values });
  const readAt = listing === undefined ? undefined : context.clock.now();
  const day = isoTime(context.clock.now()).slice(0, 10);
  const { file, report } = await fileOfTools(settings, {
    ...(listing ?? { tools: [] }),
    readOn: day,
    before: await idsBefore(context, key),
  });
  const save = (tx: Tx) => saveRemote(context, tx, { key, settings, values, readAt });
  return { source: file satisfies JsonObject, report, readAt, save, client };
}

/** Returns the form of the credentials, with the values of the operator or the client at the server's OAuth server. */
async function resolved(
  context: Context,
  {
    key,
    server: { url, authentication },
    dryRun,
  }: { key: ConnectorKey; server: RemoteServer; dryRun: boolean | undefined },
) {
  if (authentication.type !== 'oauth2') return { ...split(authentication), client: undefined };
  const { scopes } = authentication;
  const { clientAt, findOAuthServer } = await import('../upstream/remote/discovery.ts');
  const found = await findOAuthServer(context.outbound, url, scopes);
  const before = await findRemote(context, key);
  const kept = before?.settings.url === url ? await keptSignIn(context, before, found.server) : undefined;
  if (kept) return { authentication: oauth2With(kept, scopes), values: undefined, client: undefined };
  // A check registers no client.
  const { registration_endpoint: _, ...metadata } = found.metadata;
  const asked = dryRun ? { ...found, metadata } : found;
  const { server, client } = await clientAt(context.outbound, asked, ownAddresses(context, key.connectorId));
  return { authentication: oauth2With({ server, client }, scopes), values: undefined, client };
}

/** Returns the day in the stored file, so that equal tools make an equal file. */
async function readOn({ db }: Pick<Context, 'db'>, key: ConnectorKey): Promise<string> {
  const { firstAt } = await requireStored(db, key);
  return isoTime(firstAt).slice(0, 10);
}

/** Returns the ids that the tools have in the newest version of the connector; none for a new connector. */
async function idsBefore({ db }: Pick<Context, 'db'>, key: ConnectorKey): Promise<ToolIds> {
  const newest = await findNewest(db, key);
  return idsIn(newest ? asObject(sourceOf(newest.source)) : {});
}

/** Returns the metadata document of Gatehouse as the OAuth client of a connector. */
export async function clientDocument(context: Pick<Context, 'publicUrl' | 'config'>, connectorId: string) {
  const { clientMetadata } = await import('../upstream/remote/discovery.ts');
  const own = ownAddresses(context, connectorId);
  return { client_id: own.clientMetadataUrl, ...clientMetadata(own) };
}
