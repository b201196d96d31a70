import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { CallStep } from './perform.ts';

/** Returns the input of a call, with its expressions. */
export function templateOf(step: CallStep): JsonObject {
  if ('connectorId' in step) return step.input;
  const { method, url, headers = {}, body = null } = step.http;
  return { method, url, headers, body };
}

export function objectOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}
