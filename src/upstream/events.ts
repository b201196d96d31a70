import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json } from '../lib/json.ts';
import type { Progress } from './call.ts';

const progressShape = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().max(500).optional(),
});

/**
 * The body of an answer that comes as events: `progress` goes on to the caller, `result` is the body.
 * @throws GatehouseError `upstream_failed` when the stream ends without a result.
 */
export async function readEvents(
  stream: AsyncIterable<Buffer>,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<Json> {
  let result: Json | undefined;
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
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'result') result = read(data);
      if (event !== 'progress' || !onProgress) return;
      const parsed = progressShape.safeParse(read(data));
      if (parsed.success) onProgress(parsed.data);
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
  return result;
}
