import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Context } from '../context.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import type { Grant } from './grant.ts';
import type { RpcRequest } from './message.ts';

export const STATE_LIFETIME_MS = 20 * MINUTE;
const MAX_CHARS = 64 * 1024;

/** What a call that waits for its client has done so far; between its requests the client alone keeps it. */
export interface CallState {
  /** Of this state alone, for whoever takes it only once. */
  stateId: string;
  /** What was asked for, under which keys, and what the asking step keeps. */
  pending: { step: string; keys: string[]; kept: Json };
  /** Answers of steps that are over. */
  done: { [step: string]: JsonObject };
}

/** Makes and reads `requestState` (MCP 2026-07-28, multi round-trip requests). */
export interface RequestStates {
  seal(state: Omit<CallState, 'stateId'>): string;
  /** @throws GatehouseError `request_state_invalid` when it was altered, is over, or belongs to another call. */
  open(text: string): CallState;
}

/**
 * States of one call. The client carries them and may read them, so they hold no secret that it was not given; a keyed
 * hash binds them to server, user, caller, method, name and arguments, and to a time.
 */
export function requestStates(
  { hashKey, clock }: Pick<Context, 'hashKey' | 'clock'>,
  { live, userId, caller, environment }: Grant,
  { method, params = {} }: RpcRequest,
): RequestStates {
  const { name = null, uri = null, arguments: args = {} } = params;
  const { serverId } = live.server;
  const hashOf = (payload: string): Buffer => {
    const call = canonicalJson([environment, serverId, userId ?? null, caller, method, name, uri, args]);
    const key = createHmac('sha256', hashKey).update('mcp request state').digest();
    return createHmac('sha256', key).update(`${payload}\n${call}`).digest();
  };
  return {
    seal(state) {
      const until = clock.now() + STATE_LIFETIME_MS;
      const text = JSON.stringify({ ...state, stateId: randomUUID(), until });
      const payload = Buffer.from(text).toString('base64url');
      return `${payload}.${hashOf(payload).toString('base64url')}`;
    },
    open(text) {
      const [payload = '', hash = '', ...rest] = text.length > MAX_CHARS ? [] : text.split('.');
      const given = Buffer.from(hash, 'base64url');
      const right = hashOf(payload);
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
        pending: {
          step: String(step),
          keys: Array.isArray(keys) ? keys.map(String) : [],
          kept,
        },
        done: Object.fromEntries(Object.entries(done).filter(entryOfObject)),
      };
    },
  };
}

function entryOfObject(entry: [string, Json]): entry is [string, JsonObject] {
  return isJsonObject(entry[1]);
}

function invalid(why: string): GatehouseError {
  return new GatehouseError(
    'request_state_invalid',
    `params.requestState ${why}. Make the call again without requestState and inputResponses.`,
  );
}
