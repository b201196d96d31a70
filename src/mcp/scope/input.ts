import { GatehouseError } from '../../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { missingFor, type Abilities, type InputRequest, type InputRequests } from '../protocol/abilities.ts';
import type { RequestStates } from './request-state.ts';

/** A client's answers by the key of their question: each an ElicitResult, CreateMessageResult or ListRootsResult. */
export type InputAnswers = { [key: string]: JsonObject };

/** The client's answers to a step. */
export interface Answered {
  answers: InputAnswers;
  /** The value that the step passed as `keep` when it asked. */
  kept: Json;
}

/** A step of a call that needs answers of its client. */
export interface InputStep {
  /** Name of the step, unique in its call. */
  step: string;
  requests: InputRequests;
  /** Returned with the answers. Not for secrets: in MCP 2026-07-28 it travels with the client. */
  keep?: Json;
}

/** Asks the user and the model of a call's client. */
export interface Inputs {
  readonly abilities: Abilities;
  /**
   * Whether questions are sent while the call runs. Otherwise the call ends, and the client repeats it with the
   * answers.
   */
  readonly live: boolean;
  /**
   * Returns the answers. In a session and in a task, the call waits for them.
   * @throws InputRequired when the answers come with another request.
   */
  ask(step: InputStep): Promise<Answered>;
  /** Returns the answers that this request holds for a step, without asking. */
  answersOf(step: string): Answered | undefined;
  /** Name of the step whose answers this request brings; undefined for a first request and in a session. */
  readonly answeredStep: string | undefined;
  /** Returns whether an earlier request completed a step. */
  isComplete(step: string): boolean;
  /** Marks a step as complete without an answer, for later requests. */
  complete(step: string): void;
  /**
   * Consumes the client's agreement, right before the agreed work starts. The state of a request is valid once.
   * @throws GatehouseError `request_state_invalid` when another request used it.
   */
  take(): Promise<void>;
  /** Answers of a request without a state. No question asked for them, but an app may accept them. */
  readonly unrequested: InputAnswers | undefined;
  /**
   * Notifies the client when the account behind a link is connected (sessions: notifications/elicitation/complete).
   */
  announce?(elicitationId: string): void;
}

/** Puts the questions of a call that may be a task. */
interface TaskAsker {
  /** Returns the answers of a task's client; undefined for a call that is no task. */
  ask(requests: { [key: string]: WireRequest }): Promise<InputAnswers | undefined>;
}

/** A request for input without members that MCP 2026-07-28 does not have. */
export type WireRequest = { method: InputRequest['method']; params: JsonObject };

/** Ends a request whose client must answer first (MCP 2026-07-28). `result` is sent to the client. */
export class InputRequired extends Error {
  override readonly name = 'InputRequired';
  readonly result: JsonObject;

  constructor(result: JsonObject) {
    super('The client has to answer first.');
    this.result = result;
  }
}

/**
 * Asks the client's user or model, and returns the answers. Leaves out questions that the client does not support. In
 * a session, the questions are sent while the call runs. With MCP 2026-07-28 the request ends here. The client repeats
 * it with the answers and a state, so the code before this call runs once more. The state is bound to this user,
 * server, method and these arguments.
 * @throws GatehouseError `client_capability_missing` when the client supports none of the questions; InputRequired
 */
export async function inputRequired(
  { inputs }: { inputs?: Inputs | undefined },
  step: InputStep,
): Promise<Answered> {
  const requests: InputRequests = {};
  const required: JsonObject = {};
  for (const [key, request] of Object.entries(step.requests)) {
    const missing = inputs ? missingFor(inputs.abilities, request) : capabilityOf(request.method);
    if (missing) Object.assign(required, missing);
    else requests[key] = request;
  }
  if (inputs && Object.keys(requests).length > 0) return inputs.ask({ ...step, requests });
  throw new GatehouseError(
    'client_capability_missing',
    `This call needs input, but its client did not declare the capabilities: ${Object.keys(required).join(', ')}.`,
    { details: { requiredCapabilities: required } },
  );
}

function capabilityOf(method: string): JsonObject {
  return { [method === 'elicitation/create' ? 'elicitation' : (method.split('/')[0] ?? '')]: {} };
}

/**
 * Returns the inputs of a request of MCP 2026-07-28. Uses the answers that the request holds; a missing answer ends
 * the request. Rejects with GatehouseError `request_state_invalid` for a state of another call.
 */
export async function mcp2026Inputs({
  abilities,
  states,
  requestState,
  responses,
  signal,
  task,
}: {
  abilities: Abilities;
  states: RequestStates;
  requestState: string | undefined;
  responses: JsonObject | undefined;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  /** Puts the questions of a call that became a task. */
  task?: TaskAsker | undefined;
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
  /** Returns a step's answers once. A step that repeats its question needs a new answer. */
  const answersOf = (step: string): Answered | undefined => {
    if (used || state?.pending.step !== step) return undefined;
    used = true;
    const { keys, kept } = state.pending;
    return { answers: answersTo(keys), kept };
  };
  let taken: Promise<void> | undefined;
  return {
    abilities,
    live: false,
    answersOf,
    answeredStep: state?.pending.step,
    unrequested: state || !responses ? undefined : answersTo(Object.keys(responses)),
    isComplete: (step) => done[step] !== undefined,
    complete: (step) => void (done[step] = {}),
    async take() {
      if (state) await (taken ??= states.take(state, signal));
    },
    async ask({ step, requests, keep = null }) {
      const over = done[step];
      if (over) return { answers: objectsIn(over), kept: keep };
      const given = answersOf(step);
      if (given && Object.keys(requests).every((key) => given.answers[key])) {
        done[step] = given.answers;
        return given;
      }
      const inputRequests = Object.fromEntries(Object.entries(requests).map(withoutId));
      const answers = await task?.ask(inputRequests);
      if (answers) return { answers, kept: keep };
      const pending = { step, keys: Object.keys(requests), kept: keep };
      throw new InputRequired({
        resultType: 'input_required',
        inputRequests,
        requestState: await states.seal({ pending, done }, taken ? undefined : state),
      });
    },
  };
}

/** Removes the elicitation id, which MCP 2026-07-28 does not have. The repeated request is the answer to a link. */
function withoutId([key, { method, params }]: [string, InputRequest]): [string, WireRequest] {
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
