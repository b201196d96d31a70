import type { InputRequiredResult } from '@modelcontextprotocol/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { GatehouseError } from '../../lib/errors.ts';
import { asJson, asObject, type JsonObject } from '../../lib/json.ts';
import type { Notices } from '../upstream-call.ts';

/** Questions of one call; further ones count as cancelled. */
export const MAX_QUESTIONS = 10;
/** Wait before a request is repeated although the server asked nothing. */
const REPEAT_MS = 250;

const elicitAnswer = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
    .optional(),
});
/** The answer of a user to a question. */
export type ElicitAnswer = Omit<z.output<typeof elicitAnswer>, 'content'> & {
  content?: Record<string, string | number | boolean | string[]>;
};

/** Puts a question to the user of a call, and checks the answer. */
export async function readAnswer(
  params: unknown,
  onQuestion: NonNullable<Notices['onQuestion']>,
): Promise<ElicitAnswer> {
  const given = await onQuestion({ method: 'elicitation/create', params: asObject(asJson(params)) });
  const { action, content } = elicitAnswer.parse(given);
  return { action, ...(content ? { content } : {}) };
}

/**
 * Returns the members with which a request is repeated after a server of MCP 2026-07-28 required input. Asks one question
 * at a time, because the user's client may show only one.
 * @throws GatehouseError `upstream_failed` when the server wants more than answers of the user
 */
export async function answersTo(
  { inputRequests = {}, requestState }: Pick<InputRequiredResult, 'inputRequests' | 'requestState'>,
  ask: (params: unknown) => Promise<ElicitAnswer>,
): Promise<JsonObject> {
  const answers: [key: string, answer: JsonObject][] = [];
  for (const [key, { method, params }] of Object.entries(inputRequests)) {
    if (method !== 'elicitation/create')
      throw new GatehouseError(
        'upstream_failed',
        `The MCP server asked for ${String(method).slice(0, 64)}, which Gatehouse does not offer.`,
      );
    answers.push([key, asObject(asJson(await ask(params)))]);
  }
  if (answers.length === 0) await sleep(REPEAT_MS);
  return {
    ...(answers.length > 0 ? { inputResponses: Object.fromEntries(answers) } : {}),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
