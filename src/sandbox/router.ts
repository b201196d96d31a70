import { createHmac, type KeyObject } from 'node:crypto';
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import type { Clock } from '../lib/clock.ts';
import { errorHandler } from '../lib/http/express-errors.ts';
import type { Logger } from '../log.ts';
import type { Db } from '../store/schema.ts';
import { createAccounts, keyOfName, REQUESTS_PER_SECOND, type OpenAccount } from './accounts.ts';
import { Refusal, refusalOf, sendRefusal } from './answers.ts';
import { createEverything } from './everything.ts';
import { listRoutes } from './lists.ts';
import { oauthRoutes } from './authorization-server.ts';
import { createGrants, type Scope } from './oauth-tokens.ts';
import { troubleRoutes } from './trouble.ts';
import { createAnnouncer, webhookRoutes } from './webhook-registrations.ts';
import { writeRoutes } from './writes.ts';

const MAX_BODY = '64kb';
const KEY_PREFIX = 'sandbox_';

export interface SandboxContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** Holds the writes. */
  readonly db: Db;
  /**
   * The address at which browsers reach this process, without trailing slash. It may be final only after the sandbox
   * is created.
   */
  readonly publicUrl: string;
  /** A secret that outlives the process, so that tokens do. Only keys derived from it sign. */
  readonly hashKey: KeyObject;
}

/**
 * Creates a small third party of our own, which an app mounts under /sandbox. It knows nothing of Gatehouse but its store. Its
 * keys, paging, amounts and errors have their own style. Gatehouse reaches it over HTTP through an ordinary connector
 * file. Any key that begins with `sandbox_` opens an account, and so do the tokens of its OAuth side. The seeded data
 * depend on the key or the account's name. Writes are rows of the store, for a day.
 */
export function createSandbox(context: SandboxContext): Router {
  const { clock, log } = context;
  const accounts = createAccounts(context);
  const key = createHmac('sha256', context.hashKey).update('sandbox').digest();
  const grants = createGrants({ clock, key });
  const opened = new WeakMap<Response, OpenAccount>();
  const accountOf = (res: Response): OpenAccount => {
    const account = opened.get(res);
    if (!account) throw new Error('The request has no account.');
    return account;
  };

  /**
   * Returns the key of the account that a request may use.
   * @throws Refusal 401, or 403 when the token lacks a scope.
   */
  const accountKeyOf = (req: Request, res: Response): string => {
    const token = /^Bearer +(.+)$/i.exec(req.get('authorization') ?? '')?.[1];
    const apiKey = req.get('x-sandbox-key') ?? '';
    if (token === undefined) {
      if (apiKey.startsWith(KEY_PREFIX) && apiKey.length <= 200) return apiKey;
      throw new Refusal(
        { status: 401, kind: 'unknown_key' },
        `Send X-Sandbox-Key with a value that begins with ${KEY_PREFIX}, or an access token.`,
      );
    }
    const consent = grants.open(token);
    if (!consent) {
      res.set('WWW-Authenticate', 'Bearer error="invalid_token"');
      throw new Refusal(
        { status: 401, kind: 'unknown_token' },
        'The access token is unknown, revoked, or over 5 minutes old.',
      );
    }
    const needed: Scope = req.method === 'GET' || req.method === 'HEAD' ? 'read' : 'write';
    if (!consent.scopes.includes(needed)) {
      res.set('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${needed}"`);
      throw new Refusal({ status: 403, kind: 'scope_missing' }, `The person did not allow "${needed}".`);
    }
    return keyOfName(consent.account);
  };

  const api = express.Router();
  api.use(async (req: Request, res: Response, next: NextFunction) => {
    const accountKey = accountKeyOf(req, res);
    const waitMs = accounts.admit(accountKey);
    if (waitMs > 0) {
      res.set('Retry-After', String(Math.ceil(waitMs / 1000)));
      throw new Refusal(
        { status: 429, kind: 'too_fast' },
        `A key may make ${REQUESTS_PER_SECOND} requests a second.`,
      );
    }
    opened.set(res, await accounts.open(accountKey));
    next();
  });
  api.use(express.json({ limit: MAX_BODY }));
  api.use(listRoutes(accountOf));
  api.use(webhookRoutes(accountOf, context));
  api.use(writeRoutes(accountOf, clock, createAnnouncer(context)));
  api.use(troubleRoutes());

  const router = express.Router();
  router.use('/api', api);
  router.use('/oauth', oauthRoutes(context, { grants, key }));
  router.use((req: Request) => {
    throw new Refusal({ status: 404, kind: 'no_such_page' }, `There is no ${req.method} at this path.`);
  });
  router.use(errorHandler((error, res) => sendRefusal(res, refusalOf(error, log))));
  return router;
}

/**
 * Returns the sandbox as a separate server for a process without one; with `tests` also the third party for tests.
 */
export function createSandboxApp(context: SandboxContext, { tests = false } = {}): Express {
  const app = express().disable('x-powered-by');
  if (tests) app.use('/sandbox/everything', createEverything());
  return app.use('/sandbox', createSandbox(context));
}
