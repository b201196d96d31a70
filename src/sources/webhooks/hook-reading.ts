import type { Webhooks } from '../../connectors/format/events-format.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Pause } from '../../lib/json-steps.ts';
import type { Context } from '../context.ts';
import { readsBody } from './hook-events.ts';
import { readHookBody, type ArrivedHook, type HookRequest } from './hook-request.ts';

/** A webhook while its body is read. */
export interface Reading {
  /** The webhook for its check. It has the body if the check or the challenge names a place in it. */
  signed: HookRequest;
  /**
   * Reads the body of a genuine webhook.
   * @throws GatehouseError as readHookBody(), when the connector file reads the body.
   */
  whole(): Promise<HookRequest>;
}

interface Reader {
  sender: { connector: { connectorId: string }; webhooks: Webhooks };
  pause: Pause;
}

/** Begins to read a webhook. Most checks cover the bytes alone, so a body without the key of the app is not parsed. */
export async function startReading(
  { log }: Pick<Context, 'log'>,
  arrived: ArrivedHook,
  { sender: { connector, webhooks }, pause }: Reader,
): Promise<Reading> {
  let reading: Promise<Json> | undefined;
  const body = () => (reading ??= readHookBody(arrived, pause));
  return {
    signed: { ...arrived, body: checksBody(webhooks) ? await body().catch(() => null) : null },
    async whole() {
      try {
        return { ...arrived, body: await body() };
      } catch (error) {
        if (!(error instanceof GatehouseError) || !readsBody(webhooks)) return { ...arrived, body: null };
        const { connectorId } = connector;
        log.warn({ connectorId, code: error.code, err: error }, 'webhook refused, its body cannot be read');
        throw error;
      }
    },
  };
}

/** Returns whether the check of a webhook, or the challenge of its app, names a place in the body. */
function checksBody({ verify, challenge }: Webhooks): boolean {
  return JSON.stringify([verify, challenge ?? null]).includes('"body:');
}
