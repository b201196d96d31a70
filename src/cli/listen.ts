import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readConfig, type Config } from '../config.ts';
import { sourceScope, type SourceScope } from '../connectors/event-scopes.ts';
import type { OpenContext } from '../context.ts';
import { requireConnection } from '../credentials/credential-records.ts';
import { READ_BYTES } from '../outbox/delivery-attempt.ts';
import { TIMING } from '../outbox/delivery-timing.ts';
import {
  closeListener,
  takeEvents,
  openListener,
  renewListener,
  type ListenerEvent,
  type Listener,
  type ListenerInput,
} from '../subscriptions/listener.ts';
import { isLoopback } from '../lib/addresses.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { createOutbound, type Outbound } from '../outbound/outbound.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import { openStarted } from './started.ts';

export interface ListenOptions {
  /** Address that deliveries are forwarded to; undefined if they are only printed. */
  forward: URL | undefined;
  environment: Environment;
  source: { connectionId: string; scope: SourceScope } | undefined;
  secret: string | undefined;
  json: boolean;
}

const options = z.object({
  forward: z.string().optional(),
  environment: z.string().default('development'),
  connection: z.string().optional(),
  scope: z.string().optional(),
  secret: z.string().optional(),
  json: z.boolean().default(false),
});

/** Returns the parsed options, or a message about the wrong one. */
export function readListenOptions(given: unknown): ListenOptions | string {
  const { forward, environment, connection, scope, secret, json } = options.parse(given);
  const known = ENVIRONMENTS.find((one) => one === environment);
  if (!known) return '--environment must be development or production';
  const url = forward !== undefined && URL.canParse(forward) ? new URL(forward) : undefined;
  if (forward !== undefined && !/^https?:$/.test(url?.protocol ?? ''))
    return '--forward must be an http:// or https:// address';
  if ((connection === undefined) !== (scope === undefined)) return '--connection and --scope go together';
  const parsed = scope === undefined ? undefined : sourceScope.safeParse(scope);
  if (parsed && !parsed.success)
    return '--scope must be a unified model such as commerce/orders, or <connectorId>/<event source>';
  if (secret !== undefined && !/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(secret))
    return '--secret must be whsec_ and 24 to 64 bytes as base64';
  const source = connection && parsed ? { connectionId: connection, scope: parsed.data } : undefined;
  return { forward: url, environment: known, source, secret, json };
}

const POLL_INTERVAL_MS = 200;
const BATCH = 50;

/** Runs `gatehouse listen`: prints and forwards events until SIGTERM or SIGINT. Returns the exit code. */
export async function listen(options: ListenOptions): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  // A reader that closes the pipe (`| head`) ends this command.
  process.stdout.on('error', () => stop.abort());
  const config = readConfig();
  const context = await openStarted(config);
  const outbound = createOutbound({
    ...config,
    egressProxy: forwardProxy(config, options),
    allowedNetworks: forwardAllowed(options),
  });
  try {
    await listenUntil(context, options, { outbound, signal: stop.signal });
  } finally {
    await outbound.close();
    await context.close();
  }
  return 0;
}

/** Allows any forward address, also a private one, because the operator of this machine gave it. */
function forwardAllowed({ forward }: ListenOptions) {
  if (!forward) return [];
  const port = Number(forward.port) || (forward.protocol === 'https:' ? 443 : 80);
  return [{ kind: 'host' as const, host: forward.hostname, port }];
}

/**
 * Returns the proxy; undefined for a forward address on this machine, because the proxy would call its own machine.
 */
function forwardProxy({ egressProxy }: Pick<Config, 'egressProxy'>, { forward }: ListenOptions) {
  return forward && isLoopback(forward.hostname) ? undefined : egressProxy;
}

/** Prints and forwards events until the signal aborts. */
export async function listenUntil(
  context: OpenContext,
  options: ListenOptions,
  { outbound, signal }: { outbound: Outbound; signal: AbortSignal },
): Promise<void> {
  const { environment, source, secret } = options;
  const what: ListenerInput = { environment, secret };
  if (source) {
    const { connectionId: credentialId, scope } = source;
    what.source = {
      credential: await requireConnection(context.db, { environment, credentialId }),
      scope,
    };
  }
  let listener = await openListener(context, what);
  printStart(options, listener);
  let renewedAt = context.clock.now();
  const renew = async () => {
    if (context.clock.now() - renewedAt <= MINUTE) return;
    renewedAt = context.clock.now();
    // The service removes a listener that is silent for long, for example while this machine sleeps.
    if (!(await renewListener(context, listener)))
      listener = await openListener(context, { ...what, secret: listener.secret });
  };
  try {
    while (!signal.aborted) {
      await renew();
      const events = await takeEvents(context, listener, BATCH);
      for (const one of events) {
        // A program that hangs makes one batch take longer than a listener may be silent.
        await renew();
        const done = await forwarded(outbound, options.forward, { received: one, signal });
        if (signal.aborted) break;
        print(options, one, done);
      }
      if (events.length < BATCH) await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    await closeListener(context, listener.subscriptionId);
  }
}

function printStart({ environment, source, forward }: ListenOptions, { secret }: Listener): void {
  const what = source ? `${source.scope} of ${source.connectionId}` : `all events of ${environment}`;
  const where = forward ? `, forwarded to ${forward.href}` : '';
  process.stderr.write(`Listening to ${what}${where}.\nSigning secret: ${secret}\nCtrl-C ends.\n`);
}

/** The result of forwarding; each delivery is tried once. */
interface Forwarded {
  status: number | null;
  error: string | null;
  durationMs: number;
}

async function forwarded(
  outbound: Outbound,
  to: URL | undefined,
  { received: { headers, body }, signal }: { received: ListenerEvent; signal: AbortSignal },
): Promise<Forwarded | undefined> {
  if (!to) return undefined;
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  try {
    const { status } = await outbound.request({
      method: 'POST',
      url: to.href,
      headers,
      body,
      timeoutMs: TIMING.attemptMs,
      maxBytes: READ_BYTES,
      statusDecides: true,
      signal,
    });
    return { status, error: null, durationMs: took() };
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return { status: null, error: error.message, durationMs: took() };
  }
}

function print({ json }: ListenOptions, received: ListenerEvent, done: Forwarded | undefined): void {
  const { deliveryId, scope, event, recordId, headers } = received;
  const body = parseJson(received.body);
  if (json) {
    const line = { deliveryId, scope, event, recordId, ...done, headers, body };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    return;
  }
  const outcome =
    done && (done.status === null ? `-> ${done.error}` : `-> ${done.status}, ${done.durationMs} ms`);
  const time = new Date().toISOString().slice(11, 19);
  process.stdout.write(`${[time, scope, event, recordId, outcome ?? ''].join(' ').trimEnd()}\n`);
  if (!done) process.stdout.write(`${JSON.stringify(body, null, 2)}\n`);
}
