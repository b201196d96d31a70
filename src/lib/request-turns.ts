import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientAddress } from './client-address.ts';
import type { ShortTurns } from './short-turns.ts';

/** Paths of probes and scrapers. They wait for no turn, because a late answer counts as a failure. */
const PROBES = ['/health', '/ready', '/metrics'];

/** The path in the beginning of a request. Probes have no other methods. */
const ASKED_PATH = /^(?:GET|HEAD) (\/[a-z]+)[ ?]/;
/** Where the path of a probe has ended. */
const PATH_END = 24;

/** Returns whether the path or URL is that of a probe. */
export function isProbe(url: string): boolean {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  // A Set would hash the path of each request.
  return PROBES.some((probe) => probe === path);
}

/**
 * Returns undefined when the request may begin at once, or else a promise of its turn. A caller is known by its token, or else
 * by its URL.
 */
export function turnOf(
  req: IncomingMessage,
  { turns, trustedProxies }: { turns: ShortTurns; trustedProxies: readonly string[] },
): Promise<void> | undefined {
  const { url = '' } = req;
  if (isProbe(url)) return undefined;
  return turns.begin(() => ({
    address: clientAddress(req, trustedProxies),
    caller: req.headers.authorization ?? url,
  }));
}

/**
 * Gives a new connection to node:http in its turn, and at once when it begins with a probe. node:http would prepare each
 * connection when it is accepted, and this takes longer than to accept it: a probe would wait for that work of all
 * connections before it. A connection that sends nothing is closed after the `headersTimeout` of the server.
 */
export function takeConnectionsInTurn(server: Server, turns: ShortTurns): void {
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
      const path = ASKED_PATH.exec(bytes.toString('latin1', 0, PATH_END))?.[1] ?? '';
      const turn = isProbe(path)
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
  // Without a listener, an error of the socket would end the process.
  socket.on('error', end);
  socket.once('end', end);
  socket.setTimeout(silentMs, end);
  socket.once('data', read);
}
