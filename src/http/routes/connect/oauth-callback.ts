import { z } from 'zod';
import { finishAuthorization } from '../../../connect/finish.ts';
import { publicError } from '../../../lib/errors.ts';
import { browserOf } from '../../server/browser.ts';
import { returnAddress } from './connect-view.ts';
import { defineRoute } from '../../server/route.ts';
import { anyQuery, searchParamsOf } from '../../server/shapes.ts';

/**
 * Handles the return from an app's consent page. A user sees the answer, so it is always a redirect: to the
 * application with the result, or else to our own page with the result.
 */
export const oauthCallbackRoute = defineRoute({
  method: 'GET',
  path: '/oauth/callback/{connectorId}',
  operationId: 'oauthCallback',
  tag: 'Connecting accounts',
  summary: 'Return from the consent page of an app',
  description:
    'The redirect address to register at the app, one for each connector. Works once for each consent, in the browser ' +
    'that began it; a repeated request shows the same result. HEAD, and a page that a browser loads ahead, have no effect.',
  auth: 'none',
  actsOnGet: true,
  params: z.strictObject({ connectorId: z.string() }),
  query: anyQuery,
  success: {
    status: 303,
    description: 'Redirect to the application, or to the page with the result.',
    schema: z.string(),
  },
  async handler({ context, params, query, header, requestId }) {
    try {
      const { session, outcome, isRepeated } = await finishAuthorization(context, {
        connectorId: params.connectorId,
        query: searchParamsOf(query),
        browserId: browserOf(context, header('cookie')),
      });
      if (!isRepeated)
        await context.audit.record({
          environment: session.environment,
          requestId,
          caller: `connect:${session.userId}`,
          operation: 'oauthCallback',
          target: outcome?.success ? outcome.credentialId : (outcome?.error ?? 'choosing'),
          status: 303,
        });
      return to(
        (outcome && returnAddress({ ...session, outcome })) ??
          `${context.publicUrl}/connect/ended?session=${session.sessionId}`,
      );
    } catch (error) {
      const { code } = publicError(error);
      if (code === 'internal') context.log.error({ requestId, err: error }, 'consent not finished');
      return to(`${context.publicUrl}/connect/ended?error=${code}`);
    }
  },
});

function to(location: string) {
  return {
    body: '',
    headers: {
      Location: location,
      // A redirect can also cut the connection of a window to its opener.
      'Cross-Origin-Opener-Policy': 'unsafe-none',
    },
  };
}
