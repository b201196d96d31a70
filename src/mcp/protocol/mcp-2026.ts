import type { IncomingMessage } from 'node:http';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { abilitiesOf, type Abilities } from './abilities.ts';
import { headerText } from '../../lib/http/header-text.ts';
import { CAPABILITIES, SERVER_INFO, VERSIONS } from './initialize.ts';
import { LOG_LEVELS, type LogLevel } from '../../lib/log-level.ts';
import type { RpcRequest } from './message.ts';
import { declaresTasks, TASK_METHODS, TASKS, tasksMissing } from './task-extension.ts';

/*
 * MCP 2026-07-28 is stateless: each request declares its version and its client's capabilities.
 * Both are in `params._meta`. HTTP requests repeat some of them in headers, so that proxies can route by them.
 */

export const VERSION_2026 = '2026-07-28';
const FIRST_2026 = '2026';
const META = 'io.modelcontextprotocol/';
export const SUBSCRIPTION_ID = `${META}subscriptionId`;

/** The methods of MCP 2026-07-28; the version removed the others. */
const METHODS = new Set([
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  ...TASK_METHODS,
]);
/** Methods whose subject a header repeats, and the parameter that it repeats. */
const SUBJECTS: { [method: string]: string } = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  ...Object.fromEntries([...TASK_METHODS].map((method) => [method, 'taskId'])),
};

/** How long a client may cache a list. A list_changed notification ends this earlier. */
const LIST_TTL_MS = 60_000;
const TTLS_MS: { [method: string]: number } = {
  'server/discover': LIST_TTL_MS,
  'tools/list': LIST_TTL_MS,
  'prompts/list': LIST_TTL_MS,
  'resources/list': LIST_TTL_MS,
  'resources/templates/list': LIST_TTL_MS,
  // A resource may hold a user's data.
  'resources/read': 0,
};

/** A parsed request of MCP 2026-07-28. */
export interface Mcp2026Request {
  /** The request as the handlers know it, without the members that only this version has. */
  request: RpcRequest;
  abilities: Abilities;
  /** Whether the client declared the extension Tasks. */
  takesTasks: boolean;
  /** The lowest level of log messages that the client wants; undefined when it wants none. */
  logLevel: LogLevel | undefined;
  requestState: string | undefined;
  responses: JsonObject | undefined;
}

/**
 * Returns whether a message is of MCP 2026-07-28. Decides by members that only this version has. Ignores the header
 * Mcp-Method, because SDK v2 also sends it with older versions.
 */
export function isMcp2026(
  headers: IncomingMessage['headers'] | undefined,
  { method, params }: { method: string; params?: JsonObject | undefined },
): boolean {
  const meta = params?.['_meta'];
  if (isJsonObject(meta) && meta[`${META}protocolVersion`] !== undefined) return true;
  const version = headers?.['mcp-protocol-version'];
  if (version !== undefined) return version >= FIRST_2026;
  return method === 'server/discover' || method === 'subscriptions/listen';
}

/**
 * Reads and checks a request of MCP 2026-07-28. `req` is undefined on stdio, which has no headers.
 * @throws GatehouseError `header_mismatch` (-32020), `protocol_version_unsupported` (-32022), `request_meta_invalid`
 * (-32602), `method_not_found` (-32601), `client_capability_missing` (-32021) for a method of tasks.
 */
export function readMcp2026(request: RpcRequest, req?: IncomingMessage): Mcp2026Request {
  const { method, params = {} } = request;
  const { _meta: given, inputResponses, requestState, ...rest } = params;
  const meta = asObject(given);
  checkVersion(meta[`${META}protocolVersion`], req);
  const capabilities = meta[`${META}clientCapabilities`];
  if (!isJsonObject(capabilities)) throw invalidMeta('clientCapabilities', 'must be an object');
  if (req) {
    checkHeader(req, 'Mcp-Method', method);
    const subject = SUBJECTS[method];
    const named = subject === undefined ? undefined : params[subject];
    if (typeof named === 'string') checkHeader(req, 'Mcp-Name', named);
  }
  if (!METHODS.has(method)) {
    throw new GatehouseError(
      'method_not_found',
      `MCP ${VERSION_2026} has no method "${method.slice(0, 64)}" here.`,
    );
  }
  const takesTasks = declaresTasks(capabilities);
  if (TASK_METHODS.has(method) && !takesTasks) throw tasksMissing(`The method ${method}`);
  const level = meta[`${META}logLevel`];
  const logLevel = LOG_LEVELS.find((one) => one === level);
  if (level !== undefined && !logLevel)
    throw invalidMeta('logLevel', `must be one of: ${LOG_LEVELS.join(', ')}`);
  if (inputResponses !== undefined && !isJsonObject(inputResponses))
    throw new GatehouseError('request_meta_invalid', 'params.inputResponses must be an object.');
  if (requestState !== undefined && typeof requestState !== 'string')
    throw new GatehouseError('request_meta_invalid', 'params.requestState must be a string.');

  // Elsewhere, answers belong to the call whose state comes with them.
  const kept = method === 'tasks/update' && inputResponses !== undefined ? { ...rest, inputResponses } : rest;
  const own = Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith(META)));
  return {
    request: { ...request, params: Object.keys(own).length > 0 ? { ...kept, _meta: own } : kept },
    abilities: abilitiesOf(VERSION_2026, capabilities),
    takesTasks,
    logLevel,
    requestState,
    responses: inputResponses,
  };
}

/**
 * Compares a header with the value in the body. Clients encode text that is not plain ASCII as `=?base64?…?=`.
 * @throws GatehouseError `header_mismatch`
 */
export function checkHeader(req: IncomingMessage, name: string, expected: string): void {
  const value = headerText(req, name.toLowerCase());
  if (value === undefined) throw mismatch(`The header ${name} is missing. It must repeat the body.`);
  if (decoded(name, value) !== expected)
    throw mismatch(`The header ${name} differs from the body: "${expected.slice(0, 100)}".`);
}

/** Returns the headers that repeat members of a message of this version; none for a message of an older one. */
export function headersFor(method: unknown, params: Json | undefined): Record<string, string> {
  const meta = isJsonObject(params) ? params['_meta'] : undefined;
  const version = isJsonObject(meta) ? meta[`${META}protocolVersion`] : undefined;
  if (typeof version !== 'string' || typeof method !== 'string' || !isJsonObject(params)) return {};
  const subject = params[SUBJECTS[method] ?? ''];
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof subject === 'string' ? { 'mcp-name': encoded(subject) } : {}),
  };
}

function encoded(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** Decodes a header value. @throws `header_mismatch` for broken Base64 */
export function decoded(name: string, value: string): string {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const base64 = value.slice('=?base64?'.length, -2);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64) throw mismatch(`The header ${name} holds no valid Base64.`);
  return bytes.toString('utf8');
}

export function mismatch(message: string): GatehouseError {
  return new GatehouseError('header_mismatch', message);
}

function checkVersion(inBody: Json | undefined, req: IncomingMessage | undefined): void {
  const header = req && headerText(req, 'mcp-protocol-version');
  if (req && header === undefined)
    throw mismatch('The header MCP-Protocol-Version is missing. It must repeat params._meta.');
  if (typeof inBody !== 'string') {
    if (header !== undefined && header !== VERSION_2026) throw unsupported(header);
    throw invalidMeta('protocolVersion', `must be a version such as ${VERSION_2026}`);
  }
  if (header !== undefined && header !== inBody)
    throw mismatch('The header MCP-Protocol-Version differs from params._meta.');
  if (inBody !== VERSION_2026) throw unsupported(inBody);
}

function unsupported(requested: string): GatehouseError {
  return new GatehouseError(
    'protocol_version_unsupported',
    `This version of MCP is not supported. Supported: ${SUPPORTED.join(', ')}.`,
    { details: { supported: SUPPORTED, requested: requested.slice(0, 100) } },
  );
}

function invalidMeta(member: string, rule: string): GatehouseError {
  return new GatehouseError('request_meta_invalid', `params._meta["${META}${member}"] ${rule}.`);
}

/** Every version that this address supports. Versions before 2026 begin with `initialize`. */
const SUPPORTED = [VERSION_2026, ...VERSIONS];

/** Returns the result of server/discover. */
export function discoverResult(instructions: string) {
  const capabilities = { ...CAPABILITIES, extensions: { [TASKS]: {} } };
  return { supportedVersions: SUPPORTED, capabilities, instructions };
}

const SERVER = { name: SERVER_INFO.name, title: SERVER_INFO.title, version: SERVER_INFO.version };

/** Returns the first members of a complete result, without the closing brace. `meta` adds members to `_meta`. */
export function openingOf(method: string, meta: JsonObject = {}): string {
  const ttlMs = TTLS_MS[method];
  const members = JSON.stringify({
    resultType: 'complete',
    ...(ttlMs === undefined ? {} : { ttlMs, cacheScope: 'private' }),
    _meta: { [`${META}serverInfo`]: SERVER, ...meta },
  });
  return members.slice(0, -1);
}

/** The first members of an unfinished result, which clients do not cache. */
export const INTERIM_OPENING = JSON.stringify({ _meta: { [`${META}serverInfo`]: SERVER } }).slice(0, -1);
