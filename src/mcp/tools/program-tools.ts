import { z } from 'zod';
import { LIMITS } from '../../programs/program-limits.ts';
import { claimWaiting, isWaiting, readWaiting, type ProgramQuestion } from '../../programs/program-rows.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, type JsonObject } from '../../lib/json.ts';
import { restricted } from '../../servers/access.ts';
import { tool } from './define-tool.ts';
import { resumeProgram, startProgram, type ProgramEnd } from './program-run.ts';
import { ownerOf } from '../scope/grant.ts';
import type { ToolScope } from '../scope/tool.ts';

/* The tools that run programs. */

const STEP = 'program';
const KEY = 'confirm';
const programOf = z.object({ programId: z.string() });
const RUNS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };

export const runCodeTool = tool({
  name: 'run_code_svc',
  title: 'Run a program',
  description:
    'Runs JavaScript that calls many actions, so that only what it returns reaches you: for sums, filters and work over ' +
    'several pages or apps. Statements with await and return. Globals: await <connectorId>.<actionId>(parameters, ' +
    '{credentialId?}) gives {data, pagination?} (a hyphen of an id is an underscore); gatehouse.search(query); ' +
    'gatehouse.describe("connector.action"); console.log. A refusal throws an error with code, message and details. ' +
    'Lists have pages: while pagination.hasMore, pass offset = pagination.nextOffset. ' +
    `No network, files or timers; at most ${LIMITS.calls} calls.`,
  input: z.strictObject({
    code: z
      .string()
      .min(1)
      .max(LIMITS.code)
      .describe('const { data } = await shopify.list_orders({ limit: 50 }); return data.length;'),
  }),
  hints: RUNS,
  thirdParty: true,
  continues: async ({ inputs }) => inputs?.answeredStep === STEP,
  async run(scope, { code }) {
    assertAllowed(scope);
    // The answer to a question of this program comes with a repetition of its request (MCP 2026-07-28).
    const before = scope.inputs?.answersOf(STEP);
    if (!before) return settle(scope, await startProgram(scope, code));
    const { programId, questionId } = asObject(before.kept);
    return answered(
      scope,
      { programId: String(programId), questionId: String(questionId) },
      before.answers[KEY],
    );
  },
});

export const resumeCodeTool = tool({
  name: 'resume_code_svc',
  title: 'Resume a program',
  description:
    'Resumes a program of run_code_svc that waits for the agreement of the user. Its calls are not repeated.',
  input: z.strictObject({
    programId: z.string().max(100).describe('From the answer of run_code_svc.'),
    confirmationToken: z
      .string()
      .optional()
      .describe('From the same answer, after the user agreed. Leave it out to ask again.'),
  }),
  hints: RUNS,
  thirdParty: true,
  async continues({ context, grant }, args) {
    const { data } = programOf.safeParse(args);
    return data !== undefined && (await isWaiting(context, ownerOf(grant), data.programId));
  },
  async run(scope, { programId, confirmationToken: token }) {
    assertAllowed(scope);
    const before = scope.inputs?.answersOf(STEP);
    if (before) {
      const { questionId } = asObject(before.kept);
      return answered(scope, { programId, questionId: String(questionId) }, before.answers[KEY]);
    }
    const waiting = await readWaiting(scope.context, ownerOf(scope.grant), programId);
    if (token === undefined) return settle(scope, { programId, ...waiting });
    const question = waiting.questions.find((one) => one.token === token);
    if (question) return resumed(scope, programId, { id: question.id, agreed: true });
    throw wrongToken(waiting.questions[0]);
  },
});

/** @throws GatehouseError `restricted` where programs were turned off while this one waited. */
function assertAllowed({ grant }: ToolScope): void {
  if (grant.live.server.codeMode === 'off') throw restricted('programs', 'codeMode');
}

/**
 * Returns the result of a program. If the program waits for its user and the client can ask, asks, and resumes the
 * program with the answer.
 * @throws InputRequired when the answer comes with another request.
 */
async function settle(scope: ToolScope, end: ProgramEnd): Promise<JsonObject> {
  if (!('questions' in end)) return end.result;
  const [question] = end.questions;
  const { inputs } = scope;
  if (!question || !inputs?.abilities.form) return waitingAnswer(end);
  const { answers } = await inputs.ask({
    step: STEP,
    requests: {
      [KEY]: {
        method: 'elicitation/create',
        // The form has no fields, because accepting it is the agreement.
        params: { message: question.text, requestedSchema: { type: 'object', properties: {} } },
      },
    },
    keep: { programId: end.programId, questionId: question.id },
  });
  return answered(scope, { programId: end.programId, questionId: question.id }, answers[KEY]);
}

/** Resumes a program with the user's answer. Without an answer, the program keeps waiting. */
async function answered(
  scope: ToolScope,
  { programId, questionId: id }: { programId: string; questionId: string },
  answer: JsonObject | undefined,
): Promise<JsonObject> {
  const action = answer?.['action'];
  if (action === 'accept' || action === 'decline') {
    await scope.inputs?.take();
    return resumed(scope, programId, { id, agreed: action === 'accept' });
  }
  const waiting = await readWaiting(scope.context, ownerOf(scope.grant), programId);
  return waitingAnswer({ programId, ...waiting });
}

async function resumed(
  scope: ToolScope,
  programId: string,
  answer: { id: string; agreed: boolean },
): Promise<JsonObject> {
  const owner = ownerOf(scope.grant);
  const waiting = await readWaiting(scope.context, owner, programId);
  await claimWaiting(scope.context, owner, programId);
  return settle(scope, await resumeProgram(scope, { programId, ...waiting }, answer));
}

/** Returns the answer of a program whose user cannot be asked by the client. */
function waitingAnswer({
  programId,
  questions,
  calls,
}: Extract<ProgramEnd, { questions: unknown }>): JsonObject {
  const [question] = questions;
  return {
    programId,
    status: 'waiting',
    calls,
    ...(question
      ? {
          question: question.text,
          ...question.facts,
          confirmationToken: question.token,
          expiresAt: question.expiresAt,
        }
      : {}),
    next:
      'Show the user the question, whole, and ask whether they agree. If they do, call resume_code_svc with this ' +
      'programId and confirmationToken. The program then continues where it waits.',
  };
}

function wrongToken(question: ProgramQuestion | undefined): GatehouseError {
  return new GatehouseError(
    'confirmation_required',
    'The confirmationToken was given for another call or other parameters, or was altered. The program keeps waiting.',
    {
      details: {
        ...question?.facts,
        tool: 'resume_code_svc',
        reason: 'altered',
        question: question?.text ?? '',
        confirmationToken: question?.token ?? '',
      },
    },
  );
}
