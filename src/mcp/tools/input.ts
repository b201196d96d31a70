import { GatehouseError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { missingFor, type Abilities, type InputRequest, type InputRequests } from '../protocol/abilities.ts';
import type { RequestStates } from './request-state.ts';
import type { ToolScope } from './tool.ts';

/** Answers of a client by the key of their question: an ElicitResult, CreateMessageResult or ListRootsResult each. */
export type InputAnswers = { [key: string]: JsonObject };

/** What a step is given when its client has answered. */
export interface Answered {
  answers: InputAnswers;
  /** What the step kept when it asked. */
  kept: Json;
}

/** A step of a call that needs its client. */
export interface InputWish {
  /** Names the step within its call. */
  step: string;
  requests: InputRequests;
  /** Given back with the answers. No secret: in the modern form it travels with the client. */
  keep?: Json;
}

/** How a running call reaches the person and the model of its client. */
export interface Inputs {
  readonly abilities: Abilities;
  /** Whether a question is put while the call runs; otherwise the call ends and comes again with the answers. */
  readonly live: boolean;
  /** @throws InputRequired where the answers come with another request. */
  ask(wish: InputWish): Promise<Answered>;
  /** What this request brings for a step, without asking. */
  brought(step: string): Answered | undefined;
  /** Whether a step is over since an earlier request. */
  isOver(step: string): boolean;
  /** Ends a step that needs no answer any more, for the requests that follow. */
  settle(step: string): void;
  /**
   * Uses what the client agreed to so far, right before something is done for it: what came with a state is good once.
   * @throws GatehouseError `request_state_invalid` when another request used it.
   */
  take(): Promise<void>;
  /** Answers that came with no state: they answer nobody's question, and an app may still take them. */
  readonly unbidden: InputAnswers | undefined;
  /** Tells the client when the account behind a link is connected (sessions: notifications/elicitation/complete). */
  announce?(elicitationId: string): void;
}

/** Ends a request whose client has to answer first (MCP 2026-07-28): what the client is sent instead of a result. */
export class InputRequired extends Error {
  override readonly name = 'InputRequired';
  readonly result: JsonObject;

  constructor(result: JsonObject) {
    super('The client has to answer first.');
    this.result = result;
  }
}

/**
 * Puts questions to the person or the model of a call's client and gives the answers. Those that the client cannot be
 * asked are left out. In a session they are put while the call runs; in the modern form the request ends here, and the
 * client makes it again with the answers and a state that is bound to this user, server, method and these arguments, so
 * the code before this line runs once more.
 * @throws GatehouseError `client_capability_missing` when nothing of it can be asked here; InputRequired
 */
export async function inputRequired(
  { inputs }: Pick<ToolScope, 'inputs'>,
  wish: InputWish,
): Promise<Answered> {
  const requests: InputRequests = {};
  const required: JsonObject = {};
  for (const [key, request] of Object.entries(wish.requests)) {
    const missing = inputs ? missingFor(inputs.abilities, request) : capabilityOf(request.method);
    if (missing) Object.assign(required, missing);
    else requests[key] = request;
  }
  if (inputs && Object.keys(requests).length > 0) return inputs.ask({ ...wish, requests });
  throw new GatehouseError(
    'client_capability_missing',
    `This call has to ask something, and its client did not declare that it can be asked: ${Object.keys(required).join(', ')}.`,
    { details: { requiredCapabilities: required } },
  );
}

function capabilityOf(method: string): JsonObject {
  return { [method === 'elicitation/create' ? 'elicitation' : (method.split('/')[0] ?? '')]: {} };
}

/**
 * The questions of a modern request: what it brings is looked at, what is missing ends it.
 * Rejects with GatehouseError `request_state_invalid` for a state that is none of this call.
 */
export async function modernInputs({
  abilities,
  states,
  requestState,
  responses,
  signal,
}: {
  abilities: Abilities;
  states: RequestStates;
  requestState: string | undefined;
  responses: JsonObject | undefined;
  /** Aborts when the client goes away. */
  signal: AbortSignal;
}): Promise<Inputs> {
  const state = requestState === undefined ? undefined : await states.open(requestState);
  const done: { [step: string]: JsonObject } = { ...state?.done };
  const answersTo = (keys: string[]): InputAnswers =>
    Object.fromEntries(
      keys.flatMap((key): [string, JsonObject][] => {
        const answer = responses && Object.hasOwn(responses, key) ? responses[key] : undefined;
        return isJsonObject(answer) ? [[key, answer]] : [];
      }),
    );
  let used = false;
  /** Answers count once: a step that asks the same again wants another answer. */
  const brought = (step: string): Answered | undefined => {
    if (used || state?.pending.step !== step) return undefined;
    used = true;
    const { keys, kept } = state.pending;
    return { answers: answersTo(keys), kept };
  };
  let taken: Promise<void> | undefined;
  return {
    abilities,
    live: false,
    brought,
    unbidden: state || !responses ? undefined : answersTo(Object.keys(responses)),
    isOver: (step) => done[step] !== undefined,
    settle: (step) => void (done[step] = {}),
    async take() {
      if (state) await (taken ??= states.take(state, signal));
    },
    async ask({ step, requests, keep = null }) {
      const over = done[step];
      if (over) return { answers: objectsIn(over), kept: keep };
      const now = brought(step);
      if (now && Object.keys(requests).every((key) => now.answers[key])) {
        done[step] = now.answers;
        return now;
      }
      const pending = { step, keys: Object.keys(requests), kept: keep };
      throw new InputRequired({
        resultType: 'input_required',
        inputRequests: Object.fromEntries(Object.entries(requests).map(withoutId)),
        requestState: await states.seal({ pending, done }, taken ? undefined : state),
      });
    },
  };
}

/** This form knows no id of an elicitation: the answer to a link is the request that comes again. */
function withoutId([key, { method, params }]: [string, InputRequest]): [string, JsonObject] {
  const { elicitationId: _id, ...rest } = params;
  return [key, { method, params: rest }];
}

function objectsIn(value: JsonObject): InputAnswers {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]): [string, JsonObject][] =>
      isJsonObject(one) ? [[key, one]] : [],
    ),
  );
}
