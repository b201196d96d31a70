import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { notify, type Session } from './sessions.ts';

/** How long a client's person may take to answer. */
const PATIENCE_MS = 10 * MINUTE;
const LOOK_EVERY_MS = SECOND;

/** A link that the client is asked to open for its person (MCP 2025-11-25, URL mode elicitation). */
export interface UrlElicitation {
  mode: 'url';
  /** The connect session behind it. */
  elicitationId: string;
  url: string;
  message: string;
}

/** What a client that takes URL elicitations offers to a running call. */
export interface Elicits {
  /** Asks to open the link now: `accept`, `decline` or `cancel`. */
  ask(elicitation: UrlElicitation): Promise<string>;
  /** Tells the client when the account behind the link is connected: notifications/elicitation/complete. */
  announce(elicitationId: string): void;
}

/** Whether a client's capabilities take URL elicitations. */
export function takesUrls(capabilities: Json | undefined): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities['elicitation'] : undefined;
  return isJsonObject(elicitation) && isJsonObject(elicitation['url']);
}

/** The elicitations of a session, for a call whose messages go out by `send`. */
export function elicitsOf(
  context: Pick<Context, 'db' | 'clock' | 'log'>,
  session: Session,
  send: (message: object) => void,
  signal: AbortSignal,
): Elicits {
  return {
    async ask(elicitation) {
      const id = randomUUID();
      const ended = AbortSignal.any([signal, session.gone, AbortSignal.timeout(PATIENCE_MS)]);
      const reply = await new Promise<JsonObject | undefined>((resolve) => {
        session.asked.set(id, resolve);
        ended.addEventListener('abort', () => resolve(undefined), { once: true });
        send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: elicitation });
      });
      session.asked.delete(id);
      const action = isJsonObject(reply) ? reply['action'] : undefined;
      return typeof action === 'string' ? action : 'cancel';
    },
    announce(elicitationId) {
      void announce(context, session, elicitationId);
    },
  };
}

/** The refusal of a call that can go on once its person has opened a link (-32042). */
export function elicitationRequired(error: GatehouseError, elicitation: UrlElicitation): GatehouseError {
  return new GatehouseError('url_elicitation_required', error.message, {
    details: { ...error.details, elicitations: [elicitation] },
    cause: error,
  });
}

/** Another process may see the end first: the store tells, once a second while the session lives. */
async function announce(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  session: Session,
  elicitationId: string,
): Promise<void> {
  try {
    for (;;) {
      await sleep(LOOK_EVERY_MS, undefined, { signal: session.gone, ref: false });
      const found = await db
        .selectFrom('connect_sessions')
        .select(['status', 'expires_at'])
        .where('session_id', '=', elicitationId)
        .executeTakeFirst();
      if (!found || found.expires_at < clock.now()) return;
      if (found.status === 'succeeded' || found.status === 'failed') {
        notify(session, 'notifications/elicitation/complete', { elicitationId });
        return;
      }
    }
  } catch (error) {
    if (!session.gone.aborted)
      log.warn({ err: error, elicitationId }, 'the end of an elicitation was missed');
  }
}
