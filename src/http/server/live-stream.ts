import { Readable } from 'node:stream';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Context } from '../context.ts';

const MAX_STREAMS = 200;
const MAX_OF_ONE_KEY = 20;
/** A page that reads this much too slowly is disconnected, and connects again. */
const MAX_WAITING_BYTES = 64 * 1024;
const PING_MS = 15 * SECOND;

/**
 * Opens a stream of server-sent events with the topics that change. It ends with the session and at the stop of this
 * process.
 * @throws GatehouseError `rate_limited` when too many streams are open.
 */
export async function openLiveStream(
  { liveTopics }: Pick<Context, 'liveTopics'>,
  { caller, renew, signal }: { caller: Caller; renew: () => Promise<void>; signal: AbortSignal },
): Promise<Readable> {
  const { environment, label } = caller;
  const { own, all } = liveTopics.count(label);
  if (own >= MAX_OF_ONE_KEY || all >= MAX_STREAMS)
    throw new GatehouseError('rate_limited', 'Too many pages of the console are open. Close some.', {
      retryAfterSeconds: 60,
    });
  const stream = new Readable({ read() {} });
  const end = () => {
    if (!stream.readableEnded) stream.push(null);
  };
  const send = (text: string) => {
    if (stream.readableEnded || stream.destroyed) return;
    if (stream.readableLength > MAX_WAITING_BYTES) end();
    else stream.push(text);
  };
  const unwatch = await liveTopics.watch({
    environment,
    label,
    changed: (topics) => send(`event: changed\ndata: ${JSON.stringify({ topics })}\n\n`),
    closed: end,
  });
  const ping = setInterval(() => {
    send(': ping\n\n');
    renew().catch(end);
  }, PING_MS);
  stream.once('close', () => {
    clearInterval(ping);
    unwatch();
  });
  signal.addEventListener('abort', () => stream.destroy(), { once: true });
  if (signal.aborted) stream.destroy();
  send('event: ready\ndata: {}\n\n');
  return stream;
}
