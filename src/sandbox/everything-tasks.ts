import type { Response } from 'express';
import type { Answers } from './everything-questions.ts';

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
export async function waitFor(res: Response, request: FixtureRequest): Promise<boolean> {
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
