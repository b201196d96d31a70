import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json } from '../lib/json.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import { secretsIn } from '../lib/scrub.ts';
import { LOG_LEVELS } from '../lib/log-level.ts';
import type { Notices } from './call.ts';

const progressShape = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().max(500).optional(),
});

const logShape = z.object({
  level: z.enum(LOG_LEVELS),
  logger: z.string().max(100).optional(),
  data: z.json(),
});

const changedShape = z.object({ lists: z.array(z.enum(['tools', 'resources', 'prompts'])) });

/**
 * The body of an answer that comes as events, and the secrets that may be in it: `progress`, `log`, `changed` and `wait` go on
 * to the caller without the secrets, `result` is the body.
 * @throws GatehouseError `upstream_failed` when the stream ends without a result.
 */
export async function readEvents(
  stream: AsyncIterable<Buffer>,
  { onProgress, onLog, onChanged, onWait }: Notices,
  secrets: readonly string[],
): Promise<{ body: Json; reflected: readonly string[] }> {
  let result: Json | undefined;
  let reflected: readonly string[] = [];
  const read = (data: string): Json => {
    try {
      return parseJson(data);
    } catch (error) {
      throw new GatehouseError('upstream_failed', 'The third party sent an event that is no JSON.', {
        details: { reason: 'not_json' },
        cause: error,
      });
    }
  };
  /** What is not as it should be is no reason to give up a call. */
  const pass = <T>(shape: z.ZodType<T>, data: string, to: (value: T) => void): void => {
    const parsed = shape.safeParse(scrubJson(read(data), secretsIn(data, secrets)));
    if (parsed.success) to(parsed.data);
  };
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'result') {
        result = read(data);
        reflected = secretsIn(data, secrets);
      }
      if (event === 'progress' && onProgress) pass(progressShape, data, onProgress);
      if (event === 'log' && onLog) pass(logShape, data, onLog);
      if (event === 'wait') onWait?.();
      if (event === 'changed' && onChanged) pass(changedShape, data, ({ lists }) => onChanged(lists));
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    // Some keep the stream open although all has been said.
    if (result !== undefined) break;
  }
  if (result === undefined) {
    throw new GatehouseError('upstream_failed', 'The third party ended its stream without a result.', {
      details: { reason: 'reset' },
    });
  }
  return { body: result, reflected };
}
