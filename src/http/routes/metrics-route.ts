import { z } from 'zod';
import { hostName } from '../../identity/visit.ts';
import { isLoopback } from '../../lib/addresses.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { sameText } from '../../lib/same-text.ts';
import { defineRoute, type RouteInput } from '../server/route.ts';

export const metricsRoute = defineRoute({
  method: 'GET',
  path: '/metrics',
  operationId: 'getMetrics',
  tag: 'Service',
  summary: 'Read the metrics of this process',
  description:
    "Prometheus' text format; docs/observability.md lists the metrics. With GATEHOUSE_METRICS_TOKEN set, it is the bearer " +
    'token. Without it, only programs on the same machine may read them, and not through a reverse proxy.',
  auth: 'none',
  success: {
    status: 200,
    description: 'The metrics.',
    schema: z.string(),
    contentType: 'text/plain',
    example: 'gatehouse_http_requests_total{route="/health",method="GET",status="200"} 1',
  },
  errors: ['unauthorized', 'not_found'],
  async handler(input) {
    assertReader(input);
    const { text, contentType } = await input.context.metricsPage();
    return { body: text, headers: { 'Content-Type': contentType } };
  },
});

/** Headers by which a reverse proxy on this machine passes on a request of another one. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/** @throws GatehouseError `unauthorized` with a token set, otherwise `not_found` for other machines. */
function assertReader({
  context,
  header,
  peer,
}: Pick<RouteInput<unknown, unknown, unknown>, 'context' | 'header' | 'peer'>): void {
  const { metricsToken } = context.config;
  if (metricsToken !== undefined) {
    const bearer = /^Bearer +(\S+) *$/i.exec(header('authorization') ?? '')?.[1];
    if (bearer !== undefined && sameText(bearer, metricsToken)) return;
    throw new GatehouseError(
      'unauthorized',
      'The metrics need the token of GATEHOUSE_METRICS_TOKEN: Authorization: Bearer <token>.',
      { headers: { 'WWW-Authenticate': 'Bearer' } },
    );
  }
  const isHere = isLoopback(peer.replace(/^::ffff:/, ''));
  const isForwarded = FORWARDED.some((name) => header(name) !== undefined);
  // A page of a browser on this machine reaches a loopback address by a name of its own (DNS rebinding).
  const namesHere = isLoopback(hostName(header('host') ?? ''));
  if (isHere && !isForwarded && namesHere) return;
  throw new GatehouseError(
    'not_found',
    'The metrics are shown only to programs on the same machine. To read them from elsewhere, set GATEHOUSE_METRICS_TOKEN ' +
      'and send it as bearer token.',
  );
}
