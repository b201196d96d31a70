import { createParser } from 'eventsource-parser';
import type { z } from 'zod';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json } from '../lib/json.ts';
import type { Pause } from '../lib/json-steps.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import { secretsIn } from '../lib/scrub.ts';
import type { Secret } from '../lib/secret.ts';
import { changedShape, logShape, progressShape, type Notices } from './upstream-call.ts';
import { parseAnswer } from './large-answers.ts';

/** A longer notice is skipped. */
const MAX_NOTICE_CHARS = 64 * 1024;

/**
 * Returns the body of an answer in events, and the secrets that may be in it. `progress`, `log`, `changed` and `wait`
 * go to the caller without the secrets; `result` is the body.
 * @throws GatehouseError `upstream_failed` when the stream ends without a result, `upstream_too_large` for too many
 * values.
 */
export async function readEvents(
  stream: AsyncIterable<Buffer>,
  { onProgress, onLog, onChanged, onWait }: Notices,
  { secrets, pause }: { secrets: readonly Secret[]; pause: Pause },
): Promise<{ body: Json; reflected: readonly string[] }> {
  let result: string | undefined;
  /** Passes a notice on. An invalid notice is skipped, because it is no reason to end the call. */
  const pass = <T>(shape: z.ZodType<T>, data: string, to: (value: T) => void): void => {
    if (data.length > MAX_NOTICE_CHARS) return;
    const parsed = shape.safeParse(scrubJson(readNotice(data), secretsIn(data, secrets)));
    if (parsed.success) to(parsed.data);
  };
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'result') result ??= data;
      if (event === 'progress' && onProgress) pass(progressShape, data, onProgress);
      if (event === 'log' && onLog) pass(logShape, data, onLog);
      if (event === 'wait') onWait?.();
      if (event === 'changed' && onChanged) pass(changedShape, data, ({ lists }) => onChanged(lists));
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    // Some apps keep the stream open after the result.
    if (result !== undefined) break;
  }
  if (result === undefined) {
    throw new GatehouseError('upstream_failed', 'The third party ended its stream without a result.', {
      details: { reason: 'reset' },
    });
  }
  return { body: await readResult(result, pause), reflected: secretsIn(result, secrets) };
}

function readNotice(data: string): Json {
  try {
    return parseJson(data);
  } catch (error) {
    throw notJson(error);
  }
}

async function readResult(data: string, pause: Pause): Promise<Json> {
  try {
    return await parseAnswer(Buffer.from(data), pause);
  } catch (error) {
    throw error instanceof GatehouseError ? error : notJson(error);
  }
}

function notJson(cause: unknown): GatehouseError {
  return new GatehouseError('upstream_failed', 'The third party sent an event that is no JSON.', {
    details: { reason: 'not_json' },
    cause,
  });
}
