import { z } from 'zod';
import { bodyOf, type HookRequest } from '../../sources/webhooks/hook-request.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http-body.ts';
import type { Json } from '../../lib/json.ts';
import { defineRoute, type Route } from '../server/route.ts';
import { anyQuery, searchParamsOf } from '../server/shapes.ts';

/** Largest accepted webhook, bytes. Shopify and GitHub limit theirs to 25 MB, and other apps send far less. */
const MAX_BYTES = 10 * MIB;

/** The addresses for webhooks of apps. Some apps check the address with a GET first. */
export const receiveHookRoute = hookRoute('POST', 'receiveHook', 'Receive a webhook of an app');
export const checkHookRoute = hookRoute('GET', 'checkHook', 'Answer the address check of an app');

/** Parses the body only on demand, so that requests to an unknown address do not cost it. */
class ReceivedHook implements HookRequest {
  readonly method: string;
  readonly url: string;
  readonly query: URLSearchParams;
  readonly header: HookRequest['header'];
  readonly raw: Buffer;
  #parsed: { body: Json } | undefined;

  constructor({ method, url, query, header, raw }: Omit<HookRequest, 'body'>) {
    this.method = method;
    this.url = url;
    this.query = query;
    this.header = header;
    this.raw = raw;
  }

  get body(): Json {
    this.#parsed ??= { body: bodyOf(this.raw, this.header('content-type') ?? '') };
    return this.#parsed.body;
  }
}

function hookRoute(method: 'GET' | 'POST', operationId: string, summary: string): Route {
  return defineRoute({
    method,
    path: '/hooks/{connectorId}/{token}',
    operationId,
    tag: 'Webhooks of apps',
    summary,
    description:
      "The webhook is verified by the connector's scheme and stored once by the app's event id. The answer follows after " +
      'the webhook is safe on disk. 503 asks the app to send it again.',
    auth: 'none',
    params: z.strictObject({ connectorId: z.string(), token: z.string() }),
    query: anyQuery,
    rawBody: {
      maxBytes: MAX_BYTES,
      description: 'The body that the app sent.',
      example: '{"event":"order.created"}',
    },
    success: {
      status: 200,
      description: 'The webhook is stored.',
      schema: z.object({ received: z.literal(true) }),
    },
    errors: ['not_found', 'unauthorized', 'unavailable'],
    async handler({ context, params, query, readRaw, header }) {
      const search = searchParamsOf(query);
      const text = search.toString();
      const path = `/hooks/${params.connectorId}/${params.token}`;
      const url = `${context.publicUrl}${path}${text === '' ? '' : `?${text}`}`;
      const receive = async () => {
        const intake = await context.sources.intake(context);
        const expected = await intake.expect(params.connectorId, params.token);
        using room = intake.hold(expected);
        const raw = await readRaw(room);
        // Awaited here, because the body must stay reserved until the webhook is stored.
        return await intake.accept(expected, new ReceivedHook({ method, url, query: search, header, raw }));
      };
      const accepted = await receive().catch((error: unknown) => {
        if (error instanceof GatehouseError) throw error;
        context.log.error({ err: error }, 'webhook not stored');
        throw new GatehouseError('unavailable', 'The webhook could not be recorded. Send it again.', {
          headers: { 'Retry-After': '5' },
          cause: error,
        });
      });
      return {
        status: accepted.status,
        body: accepted.body,
        headers: { 'Content-Type': accepted.contentType, 'X-Content-Type-Options': 'nosniff' },
      };
    },
  });
}
