import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { FIXED, FILES, PROMPTS } from './everything-fixed.ts';
import { QUESTIONS, type Answers } from './everything-questions.ts';

const STEP_MS = 50;

const body = z
  .looseObject({
    inputResponses: z.record(z.string(), z.looseObject({})).default({}),
    requestState: z.string().optional(),
  })
  .default({ inputResponses: {} });

/** An event of a streamed answer: see `response.stream` of the connector format. */
interface Event {
  name: 'progress' | 'log' | 'changed' | 'wait';
  data: object;
}

const log = (data: string): Event => ({ name: 'log', data: { level: 'info', data } });
const progress = (done: number): Event => ({
  name: 'progress',
  data: { progress: done, total: 100, message: `Completed step ${done} of 100` },
});

/** Tools that send events before they answer. */
const STREAMS: { [tool: string]: { events: Event[]; text: string } } = {
  test_tool_with_logging: {
    events: [log('Tool execution started'), log('Tool processing data'), log('Tool execution completed')],
    text: 'Tool with logging executed successfully',
  },
  test_tool_with_progress: { events: [0, 50, 100].map(progress), text: 'Tool with progress completed' },
  test_streaming_elicitation: { events: [50].map(progress), text: 'Streaming complete' },
  test_logging_tool: { events: [log('Diagnostic trace logging activated')], text: 'Logging evaluated' },
  test_reconnection: { events: [{ name: 'wait', data: {} }, ...[25, 75].map(progress)], text: 'Reconnected' },
  test_trigger_tool_change: {
    events: [{ name: 'changed', data: { lists: ['tools'] } }],
    text: 'Mutation triggered',
  },
  test_trigger_prompt_change: {
    events: [{ name: 'changed', data: { lists: ['prompts'] } }],
    text: 'Mutation triggered',
  },
};

/**
 * Creates the third party of the connector for MCP's conformance suites.
 * It serves every kind of content, client question and notification that the suites' server scenarios expect
 * (modelcontextprotocol/conformance).
 */
export function createEverything(): Router {
  const router = express.Router();
  router.use(express.json({ limit: '1mb' }));
  router.post('/tools/:name', async (req, res) => {
    const { name } = req.params;
    const { inputResponses, requestState, ...input } = body.parse(req.body);
    const stream = STREAMS[name];
    const ask = QUESTIONS[name];
    if (stream) await sendStream(req, res, { events: stream.events, result: said(stream.text) });
    else if (ask) res.json(ask(input, inputResponses, requestState));
    else if (name === 'json_schema_2020_12_tool')
      res.json(said(`JSON Schema 2020-12 tool called with: ${JSON.stringify(input)}`));
    else answer(res, FIXED[name]);
  });
  router.post('/prompts/:name', (req, res) => {
    const { name } = req.params;
    const { inputResponses, requestState, ...input } = body.parse(req.body);
    const ask = QUESTIONS[name];
    answer(res, ask ? ask(input, inputResponses, requestState) : PROMPTS[name]?.(input));
  });
  router.get('/files/:name', (req, res) => {
    const file = FILES[req.params.name];
    if (file) res.type(file.type).send(file.content);
    else answer(res, undefined);
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
