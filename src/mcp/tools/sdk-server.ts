import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { JSONRPCErrorResponseSchema, JSONRPCResultResponseSchema } from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { CAPABILITIES, SERVER_INFO } from '../protocol/initialize.ts';

/** Creates the server of the SDK that answers all requests, without three costs of the SDK. */
export function createSdkServer(): Server {
  refuseWithout('result', JSONRPCResultResponseSchema);
  refuseWithout('error', JSONRPCErrorResponseSchema);
  const server = new Server(SERVER_INFO, { capabilities: CAPABILITIES, jsonSchemaValidator: NO_VALIDATOR });
  return Object.assign(server, { _requestHandlerAbortControllers: new NoControllers() });
}

const REPLACED = new WeakSet<z.ZodType>();

/**
 * Makes the schema of a response refuse objects without its member before a parse. The SDK tries the schemas of both kinds
 * of response on each request. A parse of zod that fails takes 2 µs, and its result stays in memory until a major garbage
 * collection. All servers and clients of this process share the schemas.
 */
function refuseWithout(member: string, schema: z.ZodType): void {
  if (REPLACED.has(schema)) return;
  REPLACED.add(schema);
  const safeParse: z.ZodType['safeParse'] = schema.safeParse.bind(schema);
  Object.assign(schema, {
    safeParse: (value: unknown) =>
      isJsonObject(value) && !(member in value) ? { success: false } : safeParse(value),
  });
}

/** Replaces the validator of the SDK, whose Ajv takes 3 ms to load. Gatehouse does not ask clients through the SDK. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('The SDK asks no client here.');
  },
};

/**
 * Keeps none of the SDK's controllers, because `McpCall.signal` cancels a request. So a close of the server stops no answer.
 * `lib/slots.ts` says what a Map costs.
 */
class NoControllers extends Map<string | number, AbortController> {
  override set(): this {
    return this;
  }
}
