import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../log.ts';
import { createAccounts, REQUESTS_PER_SECOND, type Account } from './accounts.ts';
import { Refusal, sendRefusal } from './answers.ts';
import { listRoutes } from './lists.ts';
import { troubleRoutes } from './trouble.ts';
import { writeRoutes } from './writes.ts';

const MAX_BODY = '64kb';
const KEY_PREFIX = 'sandbox_';

/**
 * A small third party of our own (contract.md section 10), for an app to mount under /sandbox. It knows nothing of
 * Gatehouse: its keys, paging, amounts and errors have a style of their own, and Gatehouse reaches it over HTTP
 * through an ordinary connector file. Any key that begins with `sandbox_` opens an account; its data follow from the
 * key, what is written to it stays in memory.
 */
export function createSandbox({ clock, log }: { clock: Clock; log: Logger }): Router {
  const accounts = createAccounts(clock);
  const opened = new WeakMap<Response, Account>();
  const accountOf = (res: Response): Account => {
    const account = opened.get(res);
    if (!account) throw new Error('The request has no account.');
    return account;
  };

  const api = express.Router();
  api.use((req: Request, res: Response, next: NextFunction) => {
    const key = req.get('x-sandbox-key') ?? '';
    if (!key.startsWith(KEY_PREFIX) || key.length > 200) {
      throw new Refusal(
        401,
        'unknown_key',
        `Send X-Sandbox-Key with a value that begins with ${KEY_PREFIX}.`,
      );
    }
    const account = accounts.of(key);
    const waitMs = account.admit();
    if (waitMs > 0) {
      res.set('Retry-After', String(Math.ceil(waitMs / 1000)));
      throw new Refusal(429, 'too_fast', `A key may make ${REQUESTS_PER_SECOND} requests a second.`);
    }
    opened.set(res, account);
    next();
  });
  api.use(express.json({ limit: MAX_BODY }));
  api.use(listRoutes(accountOf));
  api.use(writeRoutes(accountOf, clock));
  api.use(troubleRoutes());

  const router = express.Router();
  router.use('/api', api);
  router.use((req: Request) => {
    throw new Refusal(404, 'no_such_page', `${req.method} here leads nowhere.`);
  });
  // Express knows an error handler by its four parameters.
  router.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    sendRefusal(res, refusalOf(error, log));
  });
  return router;
}

/** The sandbox as a server of its own, for a process that has none. */
export function createSandboxApp(context: { clock: Clock; log: Logger }): Express {
  return express().disable('x-powered-by').use('/sandbox', createSandbox(context));
}

function refusalOf(error: unknown, log: Logger): Refusal {
  if (error instanceof Refusal) return error;
  // Errors of express.json carry a status below 500 and a sentence that may be shown.
  if (error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500) {
    return new Refusal(error.status, 'bad_body', error.message);
  }
  log.error({ err: error }, 'sandbox request failed');
  return new Refusal(500, 'broken', 'The sandbox itself failed.');
}
