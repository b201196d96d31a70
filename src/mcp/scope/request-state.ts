import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { markSpent } from '../../actions/confirmation.ts';
import type { Base } from '../../base.ts';
import { storedSecret } from '../../identity/secrets.ts';
import { MINUTE } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import {
  asObject,
  canonicalJson,
  isJsonObject,
  parseJson,
  type Json,
  type JsonObject,
} from '../../lib/json.ts';
import type { Grant } from './grant.ts';
import type { RpcRequest } from '../protocol/message.ts';

const LIFETIME_MS = 20 * MINUTE;
const MAX_CHARS = 64 * 1024;

type StateContext = Pick<Base, 'db' | 'keys' | 'clock'>;

const keyOf = storedSecret('request-state-key');

/** The progress of a call that waits for its client. Between two requests only the client stores it. */
export interface CallState extends Progress {
  /** Id under which the agreement is marked as used. States sealed from this one have the same id until then. */
  stateId: string;
  /** Expiry, epoch ms. */
  until: number;
}

interface Progress {
  /** The waiting step, the keys of its questions, and the value that it passed as `keep`. */
  pending: { step: string; keys: string[]; kept: Json };
  /** Answers of completed steps. */
  done: { [step: string]: JsonObject };
}

/** Seals and opens `requestState` (MCP 2026-07-28, multi round-trip requests). */
export interface RequestStates {
  /** Returns a state as text. `from` is the state that it continues, unless that one was used. */
  seal(progress: Progress, from: CallState | undefined): Promise<string>;
  /**
   * @throws GatehouseError `request_state_invalid` when the state was altered, has expired, or belongs to another
   * call.
   */
  open(text: string): Promise<CallState>;
  /**
   * Marks the agreement of a state as used. One request in all processes can do this, so that one agreement allows one
   * call. If the client disconnected before the work started, the agreement stays unused.
   * @throws GatehouseError `request_state_invalid` for all others.
   */
  take(state: CallState, signal: AbortSignal): Promise<void>;
}

/**
 * Returns the states of one call. The client stores the states and can read them, so they hold only secrets that the
 * client already has. A keyed hash binds them to server, user, caller, method, name, arguments and an expiry.
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
      // Base64 has several spellings of the same bytes; only our own spelling is accepted.
      const ours = rest.length === 0 && given.length === right.length && given.toString('base64url') === hash;
      if (!ours || !timingSafeEqual(given, right)) {
        throw invalid('was not given for this call of this user, or was altered');
      }
      const read = parseJson(Buffer.from(payload, 'base64url').toString());
      const { stateId, pending, done, until } = asObject(read);
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
      if (!(await markSpent(context, id, until)))
        throw invalid('was already used. One agreement allows one call, and that call may have been made');
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
  return new GatehouseError('unavailable', 'The client disconnected before the call began.');
}

function invalid(why: string): GatehouseError {
  return new GatehouseError(
    'request_state_invalid',
    `params.requestState ${why}. Make the call again without requestState and inputResponses.`,
  );
}
