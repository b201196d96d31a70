import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ShortTurns } from './short-turns.ts';

/** Paths of probes and scrapers. They wait for no turn, because a late answer counts as a failure. */
export const PROBES: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);

/** The start of a request line. Probes have no other methods. */
const ASKED_PATH = /^(?:GET|HEAD) (\/[a-z]+)[ ?]/;
/** Where the path of a probe has ended. */
const PATH_END = 24;

/**
 * Gives a new connection to node:http in its turn, and at once when it begins with a probe. node:http would prepare each
 * connection when it is accepted, and this takes longer than to accept it: a probe would wait for that work of all
 * connections before it. A connection that sends nothing is closed after the `headersTimeout` of the server.
 */
export function serveProbesFirst(server: Server, turns: ShortTurns): void {
  const handlers = server.listeners('connection');
  const serve = (socket: Socket) => {
    for (const handler of handlers) handler.call(server, socket);
    socket.resume();
  };
  const wait = async (turn: Promise<void>, socket: Socket) => {
    await turn;
    if (!socket.destroyed) serve(socket);
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    turns.connectionArrived();
    onFirstBytes(socket, server.headersTimeout, (bytes) => {
      const turn = isProbe(bytes)
        ? undefined
        : turns.begin(() => ({ address: socket.remoteAddress ?? '', caller: '' }));
      if (turn) void wait(turn, socket);
      else serve(socket);
    });
  });
}

/** Reads the first bytes, and puts them back. The connection is paused then. */
function onFirstBytes(socket: Socket, silentMs: number, then: (bytes: Buffer) => void): void {
  const end = () => socket.destroy();
  const read = (bytes: Buffer) => {
    socket.setTimeout(0, end);
    socket.off('end', end);
    socket.pause();
    socket.unshift(bytes);
    then(bytes);
  };
  // Without a listener, an error of the socket would end the process. It is followed by `close`.
  socket.on('error', end);
  socket.once('end', end);
  socket.setTimeout(silentMs, end);
  socket.once('data', read);
}

function isProbe(bytes: Buffer): boolean {
  const path = ASKED_PATH.exec(bytes.toString('latin1', 0, PATH_END))?.[1];
  return path !== undefined && PROBES.has(path);
}
