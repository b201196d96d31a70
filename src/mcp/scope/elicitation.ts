import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Base } from '../../base.ts';
import { MINUTE } from '../../lib/clock.ts';
import { GatehouseError, ownWords } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Abilities, InputRequest } from '../protocol/abilities.ts';
import type { Inputs } from './input.ts';

/** How long a client's user may take to answer. */
export const PATIENCE_MS = 10 * MINUTE;
/** The answer of a user who gave none. */
export const CANCELLED: JsonObject = { action: 'cancel' };

/** A link that the client is asked to open for its user (URL mode elicitation). */
export interface UrlElicitation {
  mode: 'url';
  /** The connect session behind it. */
  elicitationId: string;
  url: string;
  message: string;
}

/** A client that can be asked while a call runs. */
export interface Askable {
  readonly abilities: Abilities;
  /** Requests of Gatehouse that the client has not answered yet. */
  readonly asked: Map<string, (result: JsonObject | undefined) => void>;
  /** Aborts when the session ends. */
  readonly gone: AbortSignal;
  notify(method: string, params?: JsonObject): void;
}

type LookContext = Pick<Base, 'db' | 'clock' | 'log' | 'intervals'>;

/**
 * Returns the inputs of a call in a session. Questions are sent with `send` on the answer's stream while the call
 * runs.
 */
export function sessionInputs(
  context: LookContext,
  session: Askable,
  { send, signal }: { send(message: object): void; signal: AbortSignal },
): Inputs {
  const ended = () => AbortSignal.any([signal, session.gone, AbortSignal.timeout(PATIENCE_MS)]);
  const put = async (
    { method, params }: InputRequest,
    until: AbortSignal,
  ): Promise<JsonObject | undefined> => {
    const id = randomUUID();
    const answer = await new Promise<JsonObject | undefined>((resolve) => {
      if (until.aborted) return resolve(undefined);
      session.asked.set(id, resolve);
      until.addEventListener('abort', () => resolve(undefined), { once: true });
      send({ jsonrpc: '2.0', id, method, params });
    });
    session.asked.delete(id);
    return answer ?? unanswered(method);
  };
  return {
    abilities: session.abilities,
    live: true,
    unrequested: undefined,
    answersOf: () => undefined,
    answeredStep: undefined,
    isComplete: () => false,
    complete: () => {},
    take: async () => {},
    async ask({ requests, keep = null }) {
      const until = ended();
      const given = await Promise.all(
        Object.entries(requests).map(async ([key, request]): Promise<[string, JsonObject][]> => {
          const answer = await put(request, until);
          return answer ? [[key, answer]] : [];
        }),
      );
      return { answers: Object.fromEntries(given.flat()), kept: keep };
    },
    announce(elicitationId) {
      void announce(context, session, elicitationId);
    },
  };
}

/** Returns the answer to a question that got none: it counts as cancelled by the user. Other requests have none. */
export function unanswered(method: string): JsonObject | undefined {
  return method === 'elicitation/create' ? CANCELLED : undefined;
}

/** Returns the error of a call that can be repeated after its user has opened a link (-32042). */
export function elicitationRequired(error: GatehouseError, elicitation: UrlElicitation): GatehouseError {
  const message = `${ownWords(error)} The user connects an account at the link; then call again.`;
  return new GatehouseError('url_elicitation_required', message, {
    details: { ...error.details, elicitations: [elicitation] },
    cause: error,
  });
}

/** Notifies the client when the account behind a link is connected: notifications/elicitation/complete. */
async function announce(context: LookContext, session: Askable, elicitationId: string): Promise<void> {
  try {
    if ((await connectEnd(context, elicitationId, session.gone)) === 'gone') return;
    session.notify('notifications/elicitation/complete', { elicitationId });
  } catch (error) {
    if (!session.gone.aborted)
      context.log.warn({ err: error, elicitationId }, 'elicitation end not reported');
  }
}

/**
 * Waits until a connect session ends. Polls the store, because another process may record the end.
 * Rejects when the signal aborts.
 */
export async function connectEnd(
  { db, clock, intervals }: Pick<Base, 'db' | 'clock' | 'intervals'>,
  sessionId: string,
  signal: AbortSignal,
): Promise<'succeeded' | 'failed' | 'gone'> {
  for (;;) {
    const found = await db
      .selectFrom('connect_sessions')
      .select(['status', 'expires_at'])
      .where('session_id', '=', sessionId)
      .executeTakeFirst();
    if (!found || found.expires_at < clock.now()) return 'gone';
    if (found.status === 'succeeded' || found.status === 'failed') return found.status;
    await sleep(intervals.workMs, undefined, { signal, ref: false });
  }
}
