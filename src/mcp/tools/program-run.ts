import { GatehouseError, withDetails } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { jsonText } from '../../lib/json-text-steps.ts';
import type { Waiting } from '../../programs/program-messages.ts';
import {
  endProgram,
  releaseProgram,
  storeWaiting,
  type Continuation,
  type ProgramQuestion,
} from '../../programs/program-rows.ts';
import { sourceOf } from '../../programs/program-source.ts';
import type { Context } from '../context.ts';
import { answerRequest, readEnd, refusalView, type ProgramState } from './program-calls.ts';
import { ownerOf, type Grant } from '../scope/grant.ts';
import { fitted, INLINE_BYTES } from '../answers/results.ts';
import type { ToolScope } from '../scope/tool.ts';

/** A program that ended, or one that waits for its user. */
export type ProgramEnd = { result: JsonObject } | (Continuation & { programId: string });

/** A stored program that is resumed. */
type From = Omit<Continuation, 'questions'> & { programId: string; questions: ProgramQuestion[] };

const RESERVED_BYTES = 1024;

/** Runs a new program. @throws GatehouseError `program_failed`, `unavailable`, `limit_reached` */
export function startProgram(scope: ToolScope, code: string): Promise<ProgramEnd> {
  const connectorIds = scope.visible.connectors.map(({ connector }) => connector.connectorId);
  const source = sourceOf(code, connectorIds);
  return advance(scope, { programId: newId('prog'), source, calls: [], questions: [] });
}

/** Starts a process for the first program of a user, where the operator turned programs on. */
export function prepareProgram({ programs }: Pick<Context, 'programs'>, grant: Grant): void {
  if (grant.live.server.codeMode === 'on') programs.prepare(programOwner(grant));
}

/** Resumes a program that was claimed. @throws GatehouseError as startProgram() */
export async function resumeProgram(
  scope: ToolScope,
  from: From,
  answer: { id: string; agreed: boolean },
): Promise<ProgramEnd> {
  const { context } = scope;
  try {
    const end = await advance(scope, from, answer);
    if (!('questions' in end)) await endProgram(context, from.programId);
    return end;
  } catch (error) {
    const isNotBegun = error instanceof GatehouseError && error.code === 'unavailable';
    await (isNotBegun ? releaseProgram : endProgram)(context, from.programId);
    throw error;
  }
}

async function advance(
  scope: ToolScope,
  from: Pick<From, 'programId' | 'source' | 'calls' | 'questions'> & Partial<From>,
  answer?: { id: string; agreed: boolean },
): Promise<ProgramEnd> {
  const { context, grant } = scope;
  const { programId, source } = from;
  const state: ProgramState = {
    programId,
    calls: [...from.calls],
    questions: from.questions,
    asked: new Map(),
    answer,
    refusal: undefined,
  };
  if (from.state !== undefined && from.credentialHeader !== (grant.credentialHeader ?? null))
    throw new GatehouseError(
      'credential_conflict',
      'The program began with another header x-credential-id, so it cannot be resumed with this one.',
    );
  try {
    const end = await context.programs.run({
      owner: programOwner(grant),
      task: { source, now: context.clock.now(), state: from.state, answered: answer ? [answer.id] : [] },
      signal: scope.signal,
      answer: (request) => answerRequest(scope, state, request),
    });
    if (end.type === 'waiting') return await waits(scope, { source, state, end });
    return { result: await resultOf(scope, state, end.text) };
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code === 'unavailable') throw error;
    throw withDetails(error, { programId, calls: state.calls });
  }
}

/** Returns the owner of programs: a user of a server. */
function programOwner(grant: Grant): string {
  const { environment, serverId, userId = '' } = ownerOf(grant);
  return [environment, serverId, userId].join(' ');
}

/** Stores a program that waits for its user. */
async function waits(
  { context, grant }: ToolScope,
  { source, state, end }: { source: string; state: ProgramState; end: Waiting },
): Promise<ProgramEnd> {
  const { programId, calls, asked } = state;
  const waiting: Continuation & { programId: string } = {
    programId,
    source,
    state: end.state,
    calls,
    questions: end.questions.flatMap(({ id, argument }) => {
      const [fresh, ...others] = asked.get(argument) ?? [];
      if (fresh) asked.set(argument, others);
      const earlier = state.questions.find((one) => one.id === id);
      return fresh ? [{ id, ...fresh }] : earlier ? [earlier] : [];
    }),
    credentialHeader: grant.credentialHeader ?? null,
  };
  await storeWaiting(context, ownerOf(grant), waiting);
  return waiting;
}

/** Returns the result of a program that ended. @throws GatehouseError `program_failed` */
async function resultOf(scope: ToolScope, state: ProgramState, text: string): Promise<JsonObject> {
  const { value = null, error, logs } = readEnd(text);
  const { programId, calls } = state;
  if (error) throw failed(scope, state, { error, logs });
  const rest = Buffer.byteLength(JSON.stringify({ calls, logs })) + RESERVED_BYTES;
  const { data, result } = await cut(scope, value, Math.max(INLINE_BYTES - rest, RESERVED_BYTES));
  return { programId, ...(result === undefined ? { value: data ?? null } : { result }), calls, logs };
}

/** Returns the value, or the reference to the stored whole when it is too large to inline. */
async function cut(scope: ToolScope, value: Json, maxBytes: number): Promise<JsonObject> {
  const text = await jsonText(value, scope.context.throttle.pause);
  if (Buffer.byteLength(text) <= maxBytes) return { data: value };
  return fitted(scope, { data: value }, { maxBytes, offset: 0, source: undefined });
}

function failed(
  scope: ToolScope,
  { refusal }: ProgramState,
  { error, logs }: { error: JsonObject; logs: Json },
): GatehouseError {
  const { message = '', line, code } = error;
  const where = typeof line === 'number' ? ` in line ${line}` : '';
  // An exception that the program did not catch may be the refusal of a call.
  const isRefusal = refusal !== undefined && refusal.code === code;
  const view = isRefusal ? refusalView(refusal, scope.requestId) : undefined;
  const { connectUrl, reconnectUrl } = refusal?.details ?? {};
  return new GatehouseError('program_failed', `The program failed${where} (${String(message)}).`, {
    details: {
      ...(typeof line === 'number' ? { line } : {}),
      message: String(message),
      ...(view ? { refusal: view } : {}),
      ...(isRefusal && connectUrl !== undefined ? { connectUrl } : {}),
      ...(isRefusal && reconnectUrl !== undefined ? { reconnectUrl } : {}),
      logs,
    },
  });
}
