import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import type { Caller } from '../../identity/caller.ts';
import { isLoopback } from '../../lib/addresses.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { readSettings } from '../../servers/settings.ts';
import { ENVIRONMENTS, type Environment } from '../../store/environments.ts';

/** Returns the Origin of another site's page; undefined for our own pages and for clients other than browsers. */
export function foreignOrigin(
  { config, publicUrl }: Pick<Context, 'config' | 'publicUrl'>,
  req: Pick<IncomingMessage, 'headers'>,
): string | undefined {
  const { origin } = req.headers;
  if (origin === undefined || origin === '' || origin === new URL(publicUrl).origin) return undefined;
  // On one machine 127.0.0.1 and localhost are the same page.
  const own = URL.canParse(origin) && new URL(origin).host === req.headers.host;
  return own && isLoopback(config.host) ? undefined : origin;
}

/**
 * Checks the origin of a browser page that is not ours (docs/embedding.md, Settings). With a user's JWT it may call the
 * connect routes, if the environment lists its origin. An API key is always rejected, because keys stay on servers.
 * @throws GatehouseError `forbidden`
 */
export async function assertOriginFits(
  context: Context,
  req: IncomingMessage,
  { caller, open, cors }: { caller: Caller; open: boolean; cors: boolean },
): Promise<void> {
  const origin = foreignOrigin(context, req);
  if (origin === undefined || open) return;
  if (caller.kind === 'api_key') {
    throw new GatehouseError(
      'forbidden',
      'An API key was sent by a web page. Keys stay on your server; give pages a user JWT, and replace this key.',
    );
  }
  if (caller.kind === 'jwt' && cors && (await isAllowedOrigin(context, origin, [caller.environment]))) return;
  throw new GatehouseError(
    'forbidden',
    'Pages of this origin may not call this. An operator can add it to the origins of the settings, for connecting accounts alone.',
  );
}

/**
 * Returns whether pages of `origin` may show and call the connect routes. Without a JWT, either environment may
 * list it.
 */
export async function isAllowedOrigin(
  { db }: Pick<Context, 'db'>,
  origin: string,
  environments: readonly Environment[] = ENVIRONMENTS,
): Promise<boolean> {
  const loopback = URL.canParse(origin) && isLoopback(new URL(origin).hostname);
  if (loopback && environments.includes('development')) return true;
  for (const environment of environments) {
    if ((await readSettings(db, environment)).origins.includes(origin)) return true;
  }
  return false;
}
