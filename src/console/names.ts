import type { ActionRecord, Effect, ServerRecord } from './api-types.ts';
import { useAll, useRest } from './queries.ts';
import { isObject, query } from './rest-client.ts';
import { useScope } from './signed-in.ts';

/** Returns the MCP servers, for names and filters. Empty when the key may not read them. */
export function useServers(): ServerRecord[] {
  const enabled = useScope('servers:read');
  const { data } = useRest('/api/servers', { query: { token: 'false' }, enabled });
  return data?.servers ?? [];
}

/** Returns the name of a server; its id when it was deleted. */
export function useServerName(): (serverId: string) => string {
  const servers = useServers();
  return (serverId) => servers.find((one) => one.serverId === serverId)?.name ?? serverId;
}

/** Returns callers in words. People and keys have their names where the key or the role may read them. */
export function useCallerName(): (caller: string) => string {
  const people = useRest('/console/people', { enabled: useScope('audit:read') });
  const keys = useAll('/api/keys', { enabled: useScope('keys:read') });
  return (caller) => {
    const person = people.data?.people.find(({ personId }) => caller === `person:${personId}`);
    const key = keys.data?.find(({ keyId }) => caller === `key:${keyId}`);
    return person?.name ?? (key ? `API key ${key.name}` : callerInWords(caller));
  };
}

/** Returns the path of the approvals of an action's definition in the audit log. */
export function approvalsOf({ connectorId, actionId }: { connectorId: string; actionId: string }): string {
  return `/audit${query({ operation: 'approveDefinitions', target: `${connectorId}.${actionId}` })}`;
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
