import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Service } from './service.ts';

/** Path of the sandbox's action `slow`, which also reports its progress. */
export const SLOW = '/sandbox/api/slow';

/** An answer that waits until the test releases it. */
export interface HeldAnswer {
  /** Resolves when the request has arrived. */
  asked: Promise<ServerResponse>;
  release(): void;
}

/** Holds the answer to the next request of a service under a path, such as a call of its sandbox. */
export function holdAnswer({ app: { server } }: Pick<Service, 'app'>, path: string): HeldAnswer {
  const asked = Promise.withResolvers<ServerResponse>();
  const released = Promise.withResolvers<void>();
  const onRequest = ({ url = '' }: IncomingMessage, res: ServerResponse): void => {
    if (!url.startsWith(path)) return;
    server.off('request', onRequest);
    const end = res.end.bind(res);
    const endLater = (...args: Parameters<typeof end>): ServerResponse => {
      void released.promise.then(() => end(...args));
      return res;
    };
    asked.resolve(Object.assign(res, { end: endLater }));
  };
  server.prependListener('request', onRequest);
  return { asked: asked.promise, release: released.resolve };
}
