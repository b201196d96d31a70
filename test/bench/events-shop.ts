import { createServer } from 'node:http';

/** A registered webhook: the address that the app posts to, and the secret that signs. */
export interface RegisteredHook {
  address: string;
  secret: string;
}

export interface Shop extends AsyncDisposable {
  url: string;
  /** Resolves with the webhook that the account with this token registers. */
  hookOf(token: string): Promise<RegisteredHook>;
}

/** The app of the events bench: empty lists, and an account for each bearer token that registers a webhook. */
export async function startShop(): Promise<Shop> {
  const hooks = new Map<string, PromiseWithResolvers<RegisteredHook>>();
  const hook = (token: string) => {
    const found = hooks.get(token) ?? Promise.withResolvers<RegisteredHook>();
    hooks.set(token, found);
    return found;
  };
  const server = createServer((req, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      res.setHeader('Content-Type', 'application/json');
      if (req.method !== 'POST') return void res.end('{"orders":[],"hooks":[],"more":false}');
      const registered: { url: string; secret: string } = JSON.parse(body);
      const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
      hook(token).resolve({ address: registered.url, secret: registered.secret });
      res.writeHead(201).end('{"id":"hook_1"}');
    });
  });
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    hookOf: (token) => hook(token).promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
