import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { spend } from '../../actions/confirmation.ts';
import type { Context } from '../../context.ts';
import { keptSecret } from '../../identity/secrets.ts';
import { MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '../../lib/json.ts';
import type { Grant } from './grant.ts';
import type { RpcRequest } from '../protocol/message.ts';

const LIFETIME_MS = 20 * MINUTE;
const MAX_CHARS = 64 * 1024;

type StateContext = Pick<Context, 'db' | 'keys' | 'clock'>;

const keyOf = keptSecret('request-state-key');

/** What a call that waits for its client has done so far; between its requests the client alone keeps it. */
export interface CallState extends Progress {
  /** Of what the call does next. States that come of this one before that is done have the same. */
  stateId: string;
  /** Epoch milliseconds. */
  until: number;
}

interface Progress {
  /** What was asked for, under which keys, and what the asking step keeps. */
  pending: { step: string; keys: string[]; kept: Json };
  /** Answers of steps that are over. */
  done: { [step: string]: JsonObject };
}

/** Makes and reads `requestState` (MCP 2026-07-28, multi round-trip requests). */
export interface RequestStates {
  /** `from`: the state that this one comes of, unless it was taken. */
  seal(progress: Progress, from: CallState | undefined): Promise<string>;
  /** @throws GatehouseError `request_state_invalid` when it was altered, is over, or belongs to another call. */
  open(text: string): Promise<CallState>;
  /**
   * Uses what a state agreed to: one request among all processes can, so that one agreement is one call. A client that
   * went away meanwhile has had nothing of it, and may come again.
   * @throws GatehouseError `request_state_invalid` for all others.
   */
  take(state: CallState, signal: AbortSignal): Promise<void>;
}

/**
 * States of one call. The client carries them and may read them, so they hold no secret that it was not given; a keyed
 * hash binds them to server, user, caller, method, name and arguments, and to a time.
 */
export function requestStates(
  context: StateContext,
  { live, userId, caller, environment }: Grant,
  { method, params = {} }: RpcRequest,
): RequestStates {
  const { clock } = context;
  const { name = null, uri = null, arguments: args = {} } = params;
  const { serverId } = live.server;
  const hashOf = async (payload: string): Promise<Buffer> => {
    const call = canonicalJson([environment, serverId, userId ?? null, caller, method, name, uri, args]);
    return createHmac('sha256', await keyOf(context))
      .update(`${payload}\n${call}`)
      .digest();
  };
  return {
    async seal(progress, from) {
      const { stateId, until } = from ?? { stateId: randomUUID(), until: clock.now() + LIFETIME_MS };
      const payload = Buffer.from(JSON.stringify({ ...progress, stateId, until })).toString('base64url');
      return `${payload}.${(await hashOf(payload)).toString('base64url')}`;
    },
    async open(text) {
      const [payload = '', hash = '', ...rest] = text.length > MAX_CHARS ? [] : text.split('.');
      const given = Buffer.from(hash, 'base64url');
      const right = await hashOf(payload);
      // Base64 has several spellings of the same bytes: only our own counts.
      const ours = rest.length === 0 && given.length === right.length && given.toString('base64url') === hash;
      if (!ours || !timingSafeEqual(given, right)) {
        throw invalid('was not given for this call of this user, or was altered');
      }
      const read = parseJson(Buffer.from(payload, 'base64url').toString());
      const { stateId, pending, done, until } = isJsonObject(read) ? read : {};
      if (typeof until !== 'number' || until <= clock.now()) throw invalid('is too old');
      if (typeof stateId !== 'string' || !isJsonObject(pending) || !isJsonObject(done))
        throw invalid('is of another release');
      const { step, keys, kept = null } = pending;
      return {
        stateId,
        until,
        pending: {
          step: String(step),
          keys: Array.isArray(keys) ? keys.map(String) : [],
          kept,
        },
        done: Object.fromEntries(Object.entries(done).filter(entryOfObject)),
      };
    },
    async take({ stateId, until }, signal) {
      const id = `state ${stateId}`;
      if (signal.aborted) throw gone();
      if (!(await spend(context, id, until)))
        throw invalid('was used already, and one agreement is good for one call, which may have been made');
      if (!signal.aborted) return;
      await context.db.deleteFrom('spent_tokens').where('token_id', '=', id).execute();
      throw gone();
    },
  };
}

function entryOfObject(entry: [string, Json]): entry is [string, JsonObject] {
  return isJsonObject(entry[1]);
}

function gone(): GatehouseError {
  return new GatehouseError('unavailable', 'The client went away before anything was done.');
}

function invalid(why: string): GatehouseError {
  return new GatehouseError(
    'request_state_invalid',
    `params.requestState ${why}. Make the call again without requestState and inputResponses.`,
  );
}
