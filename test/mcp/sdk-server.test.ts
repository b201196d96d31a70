import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  JSONRPCResultResponseSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { expect, test } from 'vitest';
import { createSdkServer } from '../../src/mcp/tools/sdk-server.ts';

const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
const result = { jsonrpc: '2.0', id: 1, result: {} };
const error = { jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'The request is wrong.' } };

test('the schemas of the SDK know responses, and refuse requests at once', () => {
  createSdkServer();
  createSdkServer();
  expect([request, result, error].map(isJSONRPCResultResponse)).toEqual([false, true, false]);
  expect([request, result, error].map(isJSONRPCErrorResponse)).toEqual([false, false, true]);
  expect(isJSONRPCResultResponse({ ...result, jsonrpc: '1.0' })).toBe(false);
  expect(JSONRPCResultResponseSchema.safeParse(request)).toEqual({ success: false });
});
