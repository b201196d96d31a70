import { Server, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { DRAIN_MS } from './drain.ts';

const SWEEP_MS = 50;

/** An HTTP server that completes the responses in flight when it stops. */
export class GracefulServer extends Server {
  /** The connections, each with the response of its last request that began; undefined before the first. */
  readonly #connections = new Map<Socket, ServerResponse | undefined>();
  #isDraining = false;

  constructor(serve: RequestListener) {
    super((req, res) => {
      if (this.#begin(req.socket, res)) serve(req, res);
    });
    this.on('connection', (socket) => {
      this.#connections.set(socket, undefined);
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  /**
   * Stops accepting, and lets the requests that have begun finish, at most 20 s. Their responses say `Connection: close`
   * unless their headers were sent before, so that the client sends no further request on the connection.
   */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const res of this.#connections.values()) if (res) announceClose(res);
    const force = setTimeout(() => {
      for (const socket of this.#connections.keys()) socket.destroy();
    }, DRAIN_MS);
    // A response whose headers were sent before leaves its connection open.
    const sweep = setInterval(() => this.closeIdleConnections(), SWEEP_MS);
    await new Promise<void>((resolve) => {
      this.close(() => resolve());
    });
    clearInterval(sweep);
    clearTimeout(force);
  }

  /**
   * Closes the connections without a request, also those that browsers and pools open in advance. Node.js calls this at the
   * beginning of close(). Its own method would cut a response that the client has not read whole yet.
   */
  override closeIdleConnections(): void {
    for (const [socket, res] of this.#connections) {
      if (res ? res.writableFinished : socket.bytesRead === 0) socket.destroy();
    }
  }

  /** Returns whether a request may begin. */
  #begin(socket: Socket, res: ServerResponse): boolean {
    if (this.#isDraining) {
      const before = this.#connections.get(socket);
      // The connection closes after the response before, so this request would run without a response.
      if (before && !before.writableFinished) return false;
      announceClose(res);
    }
    this.#connections.set(socket, res);
    return true;
  }
}

function announceClose(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
}
