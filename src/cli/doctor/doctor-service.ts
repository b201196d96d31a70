import { createSecretKey, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Config } from '../../config.ts';
import { faultLine } from '../../connectors/catalog.ts';
import { servedUrl } from '../../connect/presence.ts';
import { loadCatalog } from '../../connectors/load-catalog.ts';
import { CATALOG_FOLDER } from '../../package.ts';
import { inspectFolder } from '../../custom/folder.ts';
import { allowedHost, isLoopback, urlHost } from '../../lib/addresses.ts';
import { createOidc, redirectUriOf } from '../../identity/oidc.ts';
import { parseJson, valueAt } from '../../lib/json.ts';
import { createOutbound } from '../../outbound/outbound.ts';
import { SECOND, systemClock } from '../../lib/clock.ts';
import { openStore } from '../../store/open-database.ts';
import { findingsOf, type Finding } from './finding.ts';
import { thrownMessage } from '../../lib/errors.ts';

/** Returns the URL of the Gatehouse that serves the store now and is healthy; undefined when there is none. */
export async function runningUrl({ database }: Config): Promise<string | undefined> {
  if (database.kind === 'sqlite' && !existsSync(database.path)) return undefined;
  try {
    await using store = await openStore(database);
    const url = await servedUrl(store.db, systemClock.now());
    return url !== undefined && (await isHealthy(url)) ? url : undefined;
  } catch {
    // The check of the store reports what is wrong with it.
    return undefined;
  }
}

/**
 * Checks that the port is free, or used by a healthy Gatehouse. The service of this store may have another PORT than
 * this command.
 */
export async function checkPort({ host, port }: Config, running: string | undefined): Promise<Finding> {
  const { ok, fail } = findingsOf('port');
  if (port !== 0 && (await isHealthy(`http://${urlHost(host)}:${port}`)))
    return ok(`a healthy Gatehouse answers at ${port} of ${host}`);
  if (running !== undefined)
    return ok(`the Gatehouse of this store runs at ${running}; PORT of this command is ${port}`);
  const code = await bindFault(host, port);
  if (code === undefined) return ok(port === 0 ? 'any free one' : `${port} of ${host} is free`);
  if (code !== 'EADDRINUSE') return fail(`${port} of ${host} cannot be used (${code})`, 'Set PORT and HOST.');
  const other = await freePortAfter(host, port);
  const fix = `Stop what uses it, or choose another: PORT=${other} gatehouse serve`;
  return fail(`${port} of ${host} is in use by something else`, fix);
}

export function checkPublicUrl(config: Config, running: string | undefined): Finding {
  const { host, port, production } = config;
  const { ok, warn } = findingsOf('public URL');
  const publicUrl = config.publicUrl ?? running;
  if (publicUrl === undefined) {
    if (isLoopback(host) && port === 0) return ok(`a free port of ${host}, for this machine alone`);
    if (isLoopback(host)) return ok(`${addressOf(config, running)}, for this machine alone`);
    const fix = 'Set GATEHOUSE_PUBLIC_URL to the address that clients use: every accessUrl begins with it.';
    return warn('is not set, and HOST accepts other machines', fix);
  }
  if (production && publicUrl.startsWith('http:'))
    return warn(
      `${publicUrl} is not https`,
      'Put a proxy with TLS in front: access tokens are part of the address.',
    );
  return ok(publicUrl);
}

/** Returns the address of the service: as configured, as it runs, or as a start would choose it. */
function addressOf({ publicUrl, host, port }: Config, running: string | undefined): string {
  return publicUrl ?? running ?? `http://${urlHost(host)}:${port}`;
}

/** Checks that the OpenID Connect provider of the console answers as its setting says. */
export async function checkOidc(config: Config, running: string | undefined): Promise<Finding[]> {
  const { oidc, console: isOn } = config;
  if (!oidc) return [];
  const { ok, warn, fail } = findingsOf('console sign-in');
  if (!isOn) return [warn('GATEHOUSE_OIDC is set, and GATEHOUSE_CONSOLE=off', 'Unset one of them.')];
  const publicUrl = addressOf(config, running);
  const { allowedNetworks, allowPrivateNetwork, egressProxy, caFile } = config;
  const outbound = createOutbound({
    allowedNetworks: [...allowedNetworks, allowedHost(oidc.issuer)],
    allowPrivateNetwork,
    egressProxy,
    caFile,
  });
  try {
    const hashKey = createSecretKey(randomBytes(32));
    await createOidc(oidc, { clock: systemClock, hashKey, outbound, publicUrl }).begin();
    return [ok(`${oidc.issuer} answers; it must know the redirect address ${redirectUriOf({ publicUrl })}`)];
  } catch (error) {
    const fix =
      'Check issuer in GATEHOUSE_OIDC: <issuer>/.well-known/openid-configuration must be its metadata.';
    return [fail(`${oidc.issuer}: ${thrownMessage(error)}`, fix)];
  } finally {
    await outbound.close();
  }
}

const CHECK_FILE = 'Run: gatehouse connectors check <file>';

/** Checks every connector file of `folder`. A start leaves out a faulty file, and this check fails for it. */
export async function checkCatalogue(
  { sandbox }: Pick<Config, 'sandbox'>,
  folder = CATALOG_FOLDER,
): Promise<Finding> {
  const { ok, fail } = findingsOf('connectors');
  try {
    const catalogue = await loadCatalog({ folder, sandbox });
    if (catalogue.faults.length > 0) return fail(catalogue.faults.map(faultLine).join('\n'), CHECK_FILE);
    const ids = catalogue.connectors('development').map(({ connectorId }) => connectorId);
    return ok(`${ids.length}: ${ids.join(', ')}`);
  } catch (error) {
    return fail(thrownMessage(error), CHECK_FILE);
  }
}

/** Checks the folder of custom connectors. A start leaves out its faulty files. */
export async function checkFolder({ sandbox, connectorsFolder }: Config): Promise<Finding> {
  const { ok, fail } = findingsOf('own connectors');
  try {
    const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox });
    const { ids, faults } = await inspectFolder(catalog, connectorsFolder);
    if (faults.length > 0) return fail(faults.join('\n'), CHECK_FILE);
    return ok(ids.length === 0 ? `none in ${connectorsFolder}` : `${ids.length}: ${ids.join(', ')}`);
  } catch (error) {
    return fail(thrownMessage(error), CHECK_FILE);
  }
}

/** Checks which addresses outbound calls may reach, and whether the extra CA can be read. */
export function checkOutbound(config: Config): Finding {
  const { ok, warn, fail } = findingsOf('outbound');
  const { allowedNetworks, allowPrivateNetwork, egressProxy, caFile } = config;
  try {
    void createOutbound({ allowedNetworks, allowPrivateNetwork, egressProxy, caFile }).close();
  } catch (error) {
    return fail(thrownMessage(error), 'Fix GATEHOUSE_CA_FILE.');
  }
  const proxy = egressProxy ? ', through the proxy' : '';
  if (allowPrivateNetwork) {
    const fix = 'Use it only for development; otherwise unset GATEHOUSE_ALLOW_PRIVATE_NETWORK.';
    return warn(`public and every private address${proxy}`, fix);
  }
  const more = allowedNetworks.length === 0 ? '' : ` and ${allowedNetworks.length} allowed networks`;
  return ok(`public addresses over https${more}${proxy}`);
}

/** Checks whether the egress proxy accepts connections, where one is set. */
export async function checkProxy({ egressProxy }: Config): Promise<Finding[]> {
  if (egressProxy === undefined) return [];
  const { ok, fail } = findingsOf('egress proxy');
  const { hostname, port, protocol } = new URL(egressProxy);
  const fault = await connectFault(hostname, Number(port) || (protocol === 'https:' ? 443 : 80));
  if (fault === undefined) return [ok(`${hostname} accepts connections`)];
  const found = `${hostname} accepts no connections (${fault}), so every outgoing call fails`;
  return [fail(found, 'Start it, or change GATEHOUSE_EGRESS_PROXY.')];
}

/** Returns the error code of a connection to the address, or undefined when it succeeds. */
function connectFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port, timeout: 3 * SECOND });
    const end = (fault: string | undefined) => {
      socket.destroy();
      resolve(fault);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end('timeout'));
    socket.once('error', (error) => end(codeOf(error)));
  });
}

/** Returns the error code of listening on the port, or undefined when it is free. */
function bindFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}

/** Returns a free port, the next ones first. */
async function freePortAfter(host: string, port: number): Promise<number> {
  const next = Array.from({ length: 20 }, (_, index) => port + 1 + index);
  for (const one of [...next, 3000, 8080])
    if (one <= 65_535 && (await bindFault(host, one)) === undefined) return one;
  return 0;
}

async function isHealthy(address: string): Promise<boolean> {
  const outbound = createOutbound({
    allowedNetworks: [allowedHost(address)],
    allowPrivateNetwork: true,
  });
  try {
    const { status, body } = await outbound.request({
      method: 'GET',
      url: `${address}/health`,
      timeoutMs: 2 * SECOND,
      maxBytes: 4096,
    });
    return status === 200 && valueAt(parseJson(body.toString('utf8')), 'status') === 'healthy';
  } catch {
    return false;
  } finally {
    await outbound.close();
  }
}
