import type { ActionRecord, Effect, PersonRecord, ServerRecord } from './api-types.ts';
import { useRest } from './queries.ts';
import { isObject } from './rest-client.ts';
import { useScope } from './signed-in.ts';

/** Returns the MCP servers, for names and filters. Empty when the key may not read them. */
export function useServers(): ServerRecord[] {
  const enabled = useScope('servers:read');
  const { data } = useRest<{ servers: ServerRecord[] }>('/api/servers?token=false', { enabled });
  return data?.servers ?? [];
}

/** Returns the name of a server; its id when it was deleted. */
export function useServerName(): (serverId: string) => string {
  const servers = useServers();
  return (serverId) => servers.find((one) => one.serverId === serverId)?.name ?? serverId;
}

/** Returns callers in words. People have their names where the key or the role may read them. */
export function useCallerName(): (caller: string) => string {
  const enabled = useScope('audit:read');
  const { data } = useRest<{ people: PersonRecord[] }>('/console/people', { enabled });
  return (caller) => {
    const person = data?.people.find(({ personId }) => caller === `person:${personId}`);
    return person?.name ?? callerInWords(caller);
  };
}

/** Returns a caller's label in words. */
export function callerInWords(caller: string): string {
  const [kind = '', id = ''] = caller.split(/:(.*)/s);
  switch (kind) {
    case 'key':
      return `API key ${id.replace(/^key_/, '')}`;
    case 'person':
      return `person ${id}`;
    case 'jwt':
      return `JWT of ${id}`;
    case 'token':
      return 'access URL of the server';
    case 'run':
      return `workflow run ${id}`;
    case 'stdio':
      return 'stdio on this machine';
    case 'cli':
      return 'command line';
    default:
      return caller;
  }
}

/** Returns the effect of a call, as its conditions say. Where none holds, the most severe one that is possible. */
export function effectOfCall(action: ActionRecord, input: Record<string, unknown>): Effect {
  const fitting = (action.effectWhen ?? []).filter((condition) => {
    const value = memberAt(input, condition.parameter.split('.'));
    if (value === undefined) return false;
    return condition.in === undefined || condition.in.includes(value);
  });
  if (fitting.length === 0) return action.effect;
  const effects = new Set(fitting.map(({ effect }) => effect));
  return (['destructive', 'write'] as const).find((one) => effects.has(one)) ?? 'read';
}

function memberAt(value: unknown, [name, ...rest]: string[]): unknown {
  if (name === undefined) return value;
  return isObject(value) ? memberAt(value[name], rest) : undefined;
}
