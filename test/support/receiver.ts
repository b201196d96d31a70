import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { until } from './until.ts';

/** A delivery as it arrived. */
export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  at: number;
}

/** A receiver of webhooks on a port of its own, whose answers the test decides. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** Answers the next deliveries; 200 by default. */
  answer: (received: Received, res: ServerResponse) => void;
  /** Number of open requests now, and the maximum so far. */
  open: number;
  mostOpen: number;
  /**
   * Waits until this many deliveries have arrived.
   * @throws Error when they do not within 30 s.
   */
  arrived(count: number): Promise<Received[]>;
}

/**
 * Starts a receiver. `tls`: a certificate for 127.0.0.1 and its key, in PEM; without it the receiver uses plain HTTP.
 */
export async function startReceiver(tls?: { cert: string; key: string }): Promise<Receiver> {
  const received: Received[] = [];
  const listener = (req: IncomingMessage, res: ServerResponse) =>
    // The request of a test that has ended may break off.
    void take(req, res).catch((error: unknown) => {
      if (!req.destroyed) throw error;
    });
  const server = tls ? createHttpsServer(tls, listener) : createServer(listener);
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  const receiver: Receiver = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}/hook`,
    received,
    answer: (_, res) => res.writeHead(200).end(),
    open: 0,
    mostOpen: 0,
    async arrived(count) {
      const state = () => `${received.length} of ${count} deliveries arrived`;
      await until(() => received.length >= count, { state });
      return received;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };

  async function take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    receiver.mostOpen = Math.max(receiver.mostOpen, ++receiver.open);
    res.on('close', () => receiver.open--);
    let body = '';
    req.setEncoding('utf8');
    for await (const chunk of req) body += chunk;
    const headers = Object.fromEntries(
      Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
    );
    const one = { path: req.url ?? '', headers, body, at: Date.now() };
    received.push(one);
    receiver.answer(one, res);
  }
  return receiver;
}

/**
 * Returns the body, if the reference library accepts the signature.
 * @throws WebhookVerificationError when it does not.
 */
export function verified(secret: string, { headers, body }: Received): unknown {
  return new Webhook(secret).verify(body, headers);
}
