import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { MAX_HOOK_BYTES } from '../../sources/webhooks/hook-request.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { defineRoute, type Route } from '../server/route.ts';
import { anyQuery, searchParamsOf } from '../server/shapes.ts';

/** The addresses for webhooks of apps. Some apps check the address with a GET first. */
export const receiveHookRoute = hookRoute('POST', 'receiveHook', 'Receive a webhook of an app');
export const checkHookRoute = hookRoute('GET', 'checkHook', 'Answer the address check of an app');

function hookRoute(method: 'GET' | 'POST', operationId: string, summary: string): Route {
  return defineRoute({
    method,
    path: '/hooks/{connectorId}/{token}',
    operationId,
    tag: 'Webhooks of apps',
    summary,
    description:
      "The webhook is verified by the connector's scheme and stored once by the app's event id. The answer follows after " +
      'the webhook is safe on disk. 503 asks the app to send it again. A genuine webhook whose body cannot be read is ' +
      'refused, and logged.',
    auth: 'none',
    params: z.strictObject({ connectorId: z.string(), token: z.string() }),
    query: anyQuery,
    rawBody: {
      maxBytes: MAX_HOOK_BYTES,
      description: 'The body that the app sent.',
      example: '{"event":"order.created"}',
    },
    success: {
      status: 200,
      description: 'The webhook is stored.',
      schema: z.object({ received: z.literal(true) }),
    },
    errors: ['not_found', 'unauthorized', 'payload_too_large', 'unsupported_media_type', 'unavailable'],
    async handler({ context, params, query, readRaw, header, request }) {
      const search = searchParamsOf(query);
      const path = `/hooks/${params.connectorId}/${params.token}`;
      const url = `${context.publicUrl}${path}${queryOf(request)}`;
      const receive = async () => {
        const intake = await context.sources.intake(context);
        const expected = await intake.expect(params.connectorId, params.token);
        using room = intake.hold(expected);
        const raw = await readRaw(room);
        // Awaited here, because the body must stay reserved until the webhook is stored.
        return await intake.accept(expected, { method, url, query: search, header, raw });
      };
      const accepted = await receive().catch((error: unknown) => {
        if (error instanceof GatehouseError) throw error;
        context.log.error({ err: error }, 'webhook not stored');
        throw new GatehouseError('unavailable', 'The webhook could not be recorded. Send it again.', {
          retryAfterSeconds: 5,
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

/** Returns the query as it came, because apps sign its bytes. */
function queryOf({ url = '' }: IncomingMessage): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start);
}
