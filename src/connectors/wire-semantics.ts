import type { ActionDefinition, ConnectorFile } from './format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { pagingParameters } from './schemas.ts';

/** Returns the faults of the names that an action sends: names that collide, and names that would not nest. */
export function wireFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  return [
    ...sameNames(file, action, path),
    ...nestingFaults(file, action, path),
    ...effectFaults(action, path),
  ];
}

/** A name on the wire, and the path of its sender. */
type Sent = [name: string, path: string];

function sameNames(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const paging = (place: string): Sent[] =>
    pagingParameters(file, action, place).map(({ name }) => [name, 'paging']);
  const placed: Sent[][] = [
    [...own(action.query, 'query'), ...fixed(action.fixed?.query, 'query'), ...paging('query')],
    // A fixed member of a body is a default that a parameter may replace.
    [...own(action.body, 'body'), ...paging('body')],
    [...own(action.headers, 'headers', dashed), ...fixed(action.fixed?.headers, 'headers')].map(
      ([name, at]): Sent => [name.toLowerCase(), at],
    ),
  ];
  return placed.flatMap((sent) =>
    sent.flatMap(([name, at], index) => {
      const first = sent.findIndex(([other]) => other === name);
      const rule = `is sent as "${name}", as ${sent[first]?.[1]} is; only one of them would arrive`;
      return first === index ? [] : [{ path: `${path}.${at}`, rule }];
    }),
  );
}

function own(
  parameters: ActionDefinition['query'],
  place: string,
  nameOf = (name: string): string => name,
): Sent[] {
  return Object.entries(parameters)
    .filter(([, { spread }]) => !spread)
    .map(([name, { as }]) => [as ?? nameOf(name), `${place}.${name}`]);
}

function dashed(name: string): string {
  return name.replaceAll('_', '-');
}

function fixed(members: object | undefined, place: string): Sent[] {
  return Object.keys(members ?? {}).map((name) => [name, `fixed.${place}.${name}`]);
}

function nestingFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  // A form writes `items.0.price` as items[0][price], which is a list there.
  const isJson = action.graphql !== undefined || (action.bodyType ?? file.bodyType) === 'json';
  const counted = Object.entries(isJson ? action.body : {})
    .filter(([, { as }]) => as?.split('.').some((part) => /^\d+$|[[\]]/.test(part)))
    .map(([name]) => ({
      path: `${path}.body.${name}.as`,
      rule: 'nests in objects alone: take the whole list as the parameter, or wrap: name[]',
    }));
  const { wrap } = action;
  if (wrap === undefined || /^[^.[\]]*(\[\])?$/.test(wrap)) return counted;
  return [
    ...counted,
    { path: `${path}.wrap`, rule: 'is one name, perhaps with [] behind it; nest deeper with dots in `as`' },
  ];
}

/** Returns a fault for a DELETE request that claims to read; a policy for reads would let it through. */
function effectFaults({ request, effect }: ActionDefinition, path: string): SemanticFault[] {
  if (effect !== 'read' || !request.startsWith('DELETE ')) return [];
  return [{ path: `${path}.effect`, rule: 'a DELETE request does not read; leave it out, or say write' }];
}
