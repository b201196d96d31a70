import { readFileSync } from 'node:fs';
import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { packagePath } from '../package.ts';
import { asking, QUESTIONS, type Answers } from './everything-questions.ts';

const STEP_MS = 50;

const body = z
  .looseObject({
    inputResponses: z.record(z.string(), z.looseObject({})).default({}),
    requestState: z.string().optional(),
  })
  .default({ inputResponses: {} });

const FILE = packagePath('data/test-connectors/everything/answers.json');
const object = z.record(z.string(), z.unknown());

/** The answers that do not depend on their request, by the name of the tool, the prompt or the file. */
const constants = z.object({
  tools: z.record(z.string(), object),
  prompts: z.record(z.string(), object),
  /** Questions whose answer the tool repeats. */
  forms: z.record(z.string(), object),
  /** Tools that send events before they answer: see `response.stream` of the connector format. */
  streams: z.record(
    z.string(),
    z.object({ events: z.array(z.object({ name: z.string(), data: object })), text: z.string() }),
  ),
  files: z.record(
    z.string(),
    z.object({ type: z.string(), text: z.string().optional(), base64: z.base64().optional() }),
  ),
});
type Event = z.infer<typeof constants>['streams'][string]['events'][number];

/**
 * Creates the third party of the connector for MCP's conformance suites.
 * It serves every kind of content, client question and notification that the suites' server scenarios expect
 * (modelcontextprotocol/conformance).
 */
export function createEverything(): Router {
  const { tools, prompts, forms, streams, files } = constants.parse(JSON.parse(readFileSync(FILE, 'utf8')));
  const router = express.Router();
  router.use(express.json({ limit: '1mb' }));
  router.post('/tools/:name', async (req, res) => {
    const { name } = req.params;
    const { inputResponses, requestState, ...input } = body.parse(req.body);
    const stream = streams[name];
    const form = forms[name];
    if (!(await waitFor(res, { name, input, inputResponses }))) return;
    const ask = form ? asking(() => form, 'Elicitation completed') : QUESTIONS[name];
    if (stream) await sendStream(req, res, { events: stream.events, result: said(stream.text) });
    else if (ask) res.json(ask(input, inputResponses, requestState));
    else if (name === 'json_schema_2020_12_tool')
      res.json(said(`JSON Schema 2020-12 tool called with: ${JSON.stringify(input)}`));
    else answer(res, tools[name]);
  });
  router.post('/prompts/:name', (req, res) => {
    const { name } = req.params;
    const { inputResponses, requestState, ...input } = body.parse(req.body);
    const ask = QUESTIONS[name];
    answer(res, ask ? ask(input, inputResponses, requestState) : prompts[name]);
  });
  router.get('/files/:name', (req, res) => {
    const file = files[req.params.name];
    if (!file) return answer(res, undefined);
    const { type, text, base64 = '' } = file;
    res.type(type).send(text ?? Buffer.from(base64, 'base64'));
  });
  router.get('/records/:id', (req, res) => {
    const { id } = req.params;
    res.json({ id, templateTest: true, data: `Data for ID: ${id}` });
  });
  return router;
}

export function said(text: string): { content: object[] } {
  return { content: [{ type: 'text', text }] };
}

function answer(res: Response, value: Answers | undefined): void {
  if (value) res.json(value);
  else res.status(404).json({ fault: { kind: 'missing', text: 'There is no such fixture.' } });
}

async function sendStream(
  req: Request,
  res: Response,
  { events, result }: { events: Event[]; result: object },
): Promise<void> {
  const write = (name: string, data: object) =>
    res.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  res.type('text/event-stream').set('Cache-Control', 'no-store').flushHeaders();
  for (const { name, data } of events) {
    write(name, data);
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    if (req.destroyed && res.destroyed) return;
  }
  write('result', result);
  res.end();
}

/** How long the fixtures of tasks take before they answer or ask. Calls become tasks after half a second. */
const SHORT_MS = 800;
/** Fixtures that take this long at the first request of their call. */
const SLOW_TO_ASK = new Set(['failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input']);

/** A request for a fixture, with the answers of the client. */
interface FixtureRequest {
  name: string;
  input: Answers;
  inputResponses: Answers;
}

/** Waits as long as a fixture takes. Returns false when its caller has gone. */
async function waitFor(res: Response, request: FixtureRequest): Promise<boolean> {
  const ms = durationOf(request);
  if (ms === 0) return true;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    res.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  return !res.destroyed;
}

function durationOf({ name, input, inputResponses }: FixtureRequest): number {
  const isAnswered = Object.keys(inputResponses).length > 0;
  if (name === 'slow_compute') return Number(input['seconds'] ?? 0) * 1000;
  if (name === 'test_tool_with_task') return isAnswered ? SHORT_MS : 0;
  return SLOW_TO_ASK.has(name) && !isAnswered ? SHORT_MS : 0;
}
