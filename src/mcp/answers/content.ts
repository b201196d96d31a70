import { z } from 'zod';
import type { ExecuteResult } from '../../actions/execute.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { withoutHidden } from '../../lib/hidden-characters.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import { asText, usualContent } from './usual-content.ts';
import type { InputRequest } from '../protocol/abilities.ts';
import { CANCELLED } from '../scope/elicitation.ts';
import { inputRequired, type InputAnswers } from '../scope/input.ts';
import type { ToolScope } from '../scope/tool.ts';
import type { Question } from '../../upstream/upstream-call.ts';
import { once } from '../../lib/memo.ts';

/*
 * Actions whose app answers with MCP content (`response: {body: content}`).
 * The content is blocks, the messages of a prompt, or questions for the client.
 */

const MAX_BLOCKS = 200;
/** Rounds of questions in one call of a session. */
const MAX_ROUNDS = 10;
const STEP = 'app';

/** Builds the checks of app answers, at the first answer. */
const shapes = once(() => {
  const base64 = z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64');
  const annotations = z
    .object({
      audience: z.array(z.enum(['user', 'assistant'])).optional(),
      priority: z.number().min(0).max(1).optional(),
      lastModified: z.string().optional(),
    })
    .optional();
  const known = z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string(), annotations }),
    z.object({ type: z.enum(['image', 'audio']), data: base64, mimeType: z.string(), annotations }),
    z.object({
      type: z.literal('resource_link'),
      uri: z.string(),
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      mimeType: z.string().optional(),
      size: z.int().optional(),
      annotations,
    }),
    z.object({
      type: z.literal('resource'),
      resource: z.union([
        z.object({ uri: z.string(), mimeType: z.string().optional(), text: z.string() }),
        z.object({ uri: z.string(), mimeType: z.string().optional(), blob: base64 }),
      ]),
      annotations,
    }),
  ]);
  // A block of another kind is no reason to lose the others.
  const block = z.preprocess((given) => (known.safeParse(given).success ? given : asText(given)), known);

  const blocks = z.object({
    content: z.array(block).max(MAX_BLOCKS),
    structuredContent: z.record(z.string(), z.json()).optional(),
    isError: z.boolean().optional(),
  });
  const messages = z.object({
    description: z.string().optional(),
    messages: z.array(z.object({ role: z.enum(['user', 'assistant']), content: block })).max(MAX_BLOCKS),
  });
  const questions = z.object({
    inputRequests: z.record(
      z.string().max(64),
      z.object({
        method: z.enum(['elicitation/create', 'sampling/createMessage', 'roots/list']),
        params: z.record(z.string(), z.json()).default({}),
      }),
    ),
    requestState: z.string().max(16_384).optional(),
  });
  return { blocks, messages, questions };
});

/** The result of a tool or a prompt, as the app wrote it. */
export type Content = z.infer<Shapes['blocks']> | z.infer<Shapes['messages']>;
type Shapes = ReturnType<typeof shapes>;

/** Returns whether a structured answer is MCP content already. */
export function isContent(answer: JsonObject): boolean {
  return Array.isArray(answer['content']);
}

/**
 * Runs an action that answers with content. Puts the app's questions to the client until the app has none left. `run`
 * calls the app, with the client's answers if there are any.
 * @throws GatehouseError `upstream_failed` for anything that is not content; those of inputRequired(); InputRequired
 */
export async function runContent(
  scope: ToolScope,
  appName: string,
  run: (answers?: JsonObject) => Promise<ExecuteResult>,
): Promise<Content> {
  const { inputs } = scope;
  const { blocks, messages, questions } = shapes();
  const before = inputs?.answersOf(STEP);
  let answers = before
    ? toApp(before.answers, before.kept)
    : inputs?.unrequested && toApp(inputs.unrequested, null);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const data = usualContent((await run(answers)).data);
    const content = z.union([blocks, messages]).safeParse(data);
    if (content.success) return content.data;
    const asked = questions.safeParse(data);
    if (!asked.success) throw failed('answered with something that is not content of MCP');
    const { inputRequests, requestState = null } = asked.data;
    const requests = Object.fromEntries(
      Object.entries(inputRequests).map(([key, request]) => [key, asAsked(request, appName)]),
    );
    const given = await inputRequired(scope, { step: STEP, requests, keep: requestState });
    answers = toApp(given.answers, given.kept);
  }
  throw failed(`asked more than ${MAX_ROUNDS} times`);
}

/** Adds the account that a call used to its content: a block for the model, and `_meta` for programs. */
export function withAccount(answer: JsonObject, account: JsonObject | undefined): JsonObject {
  const { content, _meta: meta } = answer;
  if (!account || !Array.isArray(content)) return answer;
  const block = { type: 'text', text: JSON.stringify({ account }) };
  return {
    ...answer,
    content: [...content, block],
    _meta: { ...(isJsonObject(meta ?? null) ? Object(meta) : {}), 'gatehouse/account': account },
  };
}

/** Returns the messages of a prompt of an app. @throws GatehouseError `upstream_failed` for anything else */
export function messagesOf(data: JsonObject): z.infer<Shapes['messages']> {
  const read = shapes().messages.safeParse(data);
  if (!read.success) throw failed('answered with something that is not a prompt');
  return read.data;
}

/**
 * Puts a question of an app to the client while the call runs. A client that supports no such question counts as a user
 * who did not answer.
 */
export async function askClient(scope: ToolScope, appName: string, question: Question): Promise<JsonObject> {
  try {
    const { answers } = await inputRequired(scope, {
      step: STEP,
      requests: { question: asAsked(question, appName) },
    });
    return answers['question'] ?? CANCELLED;
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'client_capability_missing') return CANCELLED;
    throw error;
  }
}

/**
 * Returns an app's question as the client gets it. The message names the app and holds no hidden characters. A link
 * must be HTTPS. Drops a system prompt, context and tools, so that an app cannot instruct the client's model or read
 * its other context.
 */
export function asAsked({ method, params }: InputRequest, appName: string): InputRequest {
  if (method === 'roots/list') return { method, params: {} };
  if (method === 'sampling/createMessage') {
    const {
      systemPrompt: _prompt,
      includeContext: _context,
      tools: _tools,
      toolChoice: _choice,
      ...rest
    } = params;
    return { method, params: rest };
  }
  const { mode, message, url } = params;
  if (typeof message !== 'string') throw failed('asked a question without words');
  if (mode === 'url' && !(typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'https:'))
    throw failed('gave a link that is not secure');
  return { method, params: { ...params, message: `${appName} asks: ${withoutHidden(message)}` } };
}

function toApp(answers: InputAnswers, requestState: unknown): JsonObject {
  return { inputResponses: answers, ...(typeof requestState === 'string' ? { requestState } : {}) };
}

function failed(what: string): GatehouseError {
  return new GatehouseError('upstream_failed', `The app ${what}.`);
}
