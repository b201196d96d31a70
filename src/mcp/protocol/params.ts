import { isJsonObject } from '../../lib/json.ts';
import { LOG_LEVELS } from '../../lib/log-level.ts';
import type { RpcRequest } from './message.ts';

/** Returns the fault in a request's params as one sentence (-32602). The SDK's message would be a list of zod issues. */
export function paramsFault({ method, params }: RpcRequest): string | undefined {
  const text = (name: string) =>
    typeof params?.[name] === 'string' ? undefined : `params.${name} must be a string`;
  const object = (name: string) =>
    params?.[name] === undefined || isJsonObject(params[name])
      ? undefined
      : `params.${name} must be an object`;
  switch (method) {
    case 'tools/call':
      // Some models write their arguments as a JSON text (src/mcp/tools/action-call.ts).
      return text('name') ?? (isObjectText(params?.['arguments']) ? undefined : object('arguments'));
    case 'prompts/get':
      return text('name') ?? object('arguments') ?? allStrings(params?.['arguments']);
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return text('uri');
    case 'logging/setLevel':
      return LOG_LEVELS.some((level) => level === params?.['level'])
        ? undefined
        : `params.level must be one of: ${LOG_LEVELS.join(', ')}`;
    case 'completion/complete':
      return completionFault(params);
    case 'tasks/get':
    case 'tasks/cancel':
      return text('taskId');
    case 'tasks/update':
      return (
        text('taskId') ??
        (isJsonObject(params?.['inputResponses']) ? undefined : 'params.inputResponses must be an object')
      );
    case 'tools/list':
    case 'prompts/list':
    case 'resources/list':
    case 'resources/templates/list':
      return params?.['cursor'] === undefined ? undefined : text('cursor');
    default:
      return undefined;
  }
}

function isObjectText(value: unknown): boolean {
  return typeof value === 'string' && value.trimStart().startsWith('{');
}

function completionFault(params: { [name: string]: unknown } = {}): string | undefined {
  const { ref, argument, context } = params;
  if (!isJsonObject(ref) || !isJsonObject(argument)) return 'params.ref and params.argument must be objects';
  const subject = { 'ref/prompt': 'name', 'ref/resource': 'uri' }[String(ref['type'])];
  if (subject === undefined) return 'params.ref.type must be ref/prompt or ref/resource';
  if (typeof ref[subject] !== 'string') return `params.ref.${subject} must be a string`;
  const bad = ['name', 'value'].find((member) => typeof argument[member] !== 'string');
  if (bad !== undefined) return `params.argument.${bad} must be a string`;
  if (context !== undefined && !isJsonObject(context)) return 'params.context must be an object';
  const chosen = context?.['arguments'];
  if (chosen !== undefined && !isJsonObject(chosen)) return 'params.context.arguments must be an object';
  return allStrings(chosen, 'params.context.arguments');
}

function allStrings(value: unknown, where = 'params.arguments'): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const bad = Object.keys(value).find((name) => typeof value[name] !== 'string');
  return bad === undefined ? undefined : `${where}.${bad} must be a string`;
}
