import { z } from 'zod';
import type { Context } from '../context.ts';
import { isLoopback } from '../../lib/addresses.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { readSettings, type Settings } from '../../servers/environment-settings.ts';
import { ENVIRONMENTS, type Environment } from '../../store/environments.ts';
import { hasVersion } from '../server/stored-document.ts';
import { connectPage, connectPolicy, type PageKind } from './connect-page.ts';
import { defineRoute, type Reply, type Route } from '../server/route.ts';
import { readWebFiles, type WebFiles } from '../server/web-files.ts';

/** Origins of pages that a developer runs on this machine. */
const LOOPBACK = ['http://localhost:*', 'http://127.0.0.1:*', 'https://localhost:*', 'https://127.0.0.1:*'];
const YEAR_SECONDS = 31_536_000;
/** Short enough that a page with the SDK's fixed address gets a new release within minutes. */
const SDK_SECONDS = 300;

/**
 * Returns the routes of the files that browsers load: the SDK, and the connect page with its files. Reads them from
 * `folder` at the first request.
 */
export function webRoutes(folder: string): Route[] {
  let read: WebFiles | undefined;
  const web = () => (read ??= readWebFiles(folder));
  const file = (name: string, header: (name: string) => string | undefined, cache: string): Reply => {
    const found = web().files.get(name);
    if (!found) throw new GatehouseError('not_found', 'There is no such file.');
    const headers = {
      'Content-Type': found.type,
      'Cache-Control': cache,
      ETag: found.etag,
      // Pages of any origin may load the SDK. The `origins` of the settings limit what it can do there.
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    };
    return hasVersion(header('if-none-match'), found.etag)
      ? { status: 304, body: '', headers }
      : { body: found.body, headers };
  };
  const page = async (context: Context, kind: PageKind, environment?: Environment): Promise<Reply> => ({
    body: connectPage(kind, new URL(context.publicUrl).pathname.replace(/\/$/, ''), web()),
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': connectPolicy(await policyOf(context, environment)),
      'Cache-Control': 'no-store',
      // The window of a consent must reach the page that opened it.
      'Cross-Origin-Opener-Policy': 'unsafe-none',
    },
  });

  return [
    sdkRoute('sdk.js', 'getSdkScript', file),
    sdkRoute('sdk.mjs', 'getSdkModule', file),
    sdkRoute('sdk.d.ts', 'getSdkTypes', file),
    defineRoute({
      method: 'GET',
      path: '/connect/assets/{version}/{name}',
      operationId: 'getConnectAsset',
      tag: 'Connecting accounts',
      summary: 'A file of the connect page',
      auth: 'none',
      params: z.strictObject({ version: z.string(), name: z.string() }),
      success: { status: 200, description: 'The file.', schema: z.string(), contentType: 'text/javascript' },
      errors: ['not_found'],
      // During an update, an older process may still serve pages with the version of another release.
      handler: async ({ params: { version, name }, header }) =>
        file(
          name,
          header,
          version === web().version ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
        ),
    }),
    defineRoute({
      ...pageFacts('getConnectEnd', 'The page that ends a consent without a redirect address'),
      path: '/connect/ended',
      query: z.strictObject({ session: z.string().optional(), error: z.string().optional() }),
      handler: async ({ context }) => page(context, 'ended'),
    }),
    defineRoute({
      ...pageFacts('getConnectLink', 'The page behind a connect link'),
      description: 'Changes nothing, so a preview of a link does not use it up.',
      path: '/connect/s/{link}',
      params: z.strictObject({ link: z.string() }),
      handler: async ({ context, params: { link }, header }) =>
        toPublicAddress(context, header('host'), `/connect/s/${encodeURIComponent(link)}`) ??
        (await page(context, 'link')),
    }),
    defineRoute({
      ...pageFacts('getConnectModal', 'The page inside the modal of the SDK'),
      description:
        'Pages of the environment’s origins may frame it, in development those of this machine too.',
      path: '/connect/{environment}',
      params: z.strictObject({ environment: z.enum(ENVIRONMENTS) }),
      handler: async ({ context, params: { environment } }) => page(context, 'modal', environment),
    }),
    defineRoute({
      ...pageFacts('getPortalPage', 'The page in which users see their connections and deliveries'),
      description:
        'The SDK opens it (`Gatehouse.manage`). Pages of the environment’s origins may frame it, in development those of this ' +
        'machine too.',
      path: '/portal/{environment}',
      params: z.strictObject({ environment: z.enum(ENVIRONMENTS) }),
      handler: async ({ context, params: { environment } }) => page(context, 'portal', environment),
    }),
  ];
}

/**
 * Redirects a link to the public address. On one machine `localhost` and `127.0.0.1` are the same page, but they
 * have different cookies, and apps send people back to the public address.
 */
function toPublicAddress(
  { publicUrl }: Pick<Context, 'publicUrl'>,
  host: string | undefined,
  path: string,
): Reply | undefined {
  const ours = new URL(publicUrl);
  const requested = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : ours;
  if (requested.host === ours.host || requested.port !== ours.port) return undefined;
  if (!isLoopback(requested.hostname) || !isLoopback(ours.hostname)) return undefined;
  return { status: 307, body: '', headers: { Location: publicUrl + path } };
}

type FileReply = (name: string, header: (name: string) => string | undefined, cache: string) => Reply;

function sdkRoute(name: string, operationId: string, file: FileReply): Route {
  return defineRoute({
    method: 'GET',
    path: `/${name}`,
    operationId,
    tag: 'Connecting accounts',
    summary: `The browser SDK: ${name}`,
    auth: 'none',
    success: { status: 200, description: 'The file.', schema: z.string(), contentType: 'text/javascript' },
    handler: async ({ header }) => file(name, header, `public, max-age=${SDK_SECONDS}`),
  });
}

function pageFacts(operationId: string, summary: string) {
  return {
    method: 'GET',
    operationId,
    tag: 'Connecting accounts',
    summary,
    auth: 'none',
    success: { status: 200, description: 'An HTML page.', schema: z.string(), contentType: 'text/html' },
  } as const;
}

/**
 * Returns the policy of a page. No page may frame a page behind a link. Its
 * environment is not known yet, so the logos of both are allowed.
 */
async function policyOf({ db }: Context, environment?: Environment) {
  const named = environment === undefined ? ENVIRONMENTS : [environment];
  const settings: Settings[] = [];
  for (const one of named) settings.push(await readSettings(db, one));
  const logos = settings.flatMap(({ branding: { logoUrl } }) =>
    logoUrl === undefined ? [] : [new URL(logoUrl).origin],
  );
  if (environment === undefined) return { framedBy: [], logos };
  const origins = settings.flatMap((one) => one.origins);
  return { framedBy: environment === 'development' ? [...origins, ...LOOPBACK] : origins, logos };
}
