import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { PLACES } from '../parameters.ts';
import { pagingOf, pagingParameters } from '../schemas/action-schemas.ts';
import { FRAMING_HEADERS } from '../../lib/http/framing-headers.ts';

/** Returns the faults of the names that an action sends: names that collide, and names that would not nest. */
export function wireFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  return [
    ...sameNames(file, action, path),
    ...nestingFaults(file, action, path),
    ...effectFaults(action, path),
    ...shapeFaults(file, action, path),
    ...wholeFaults(file, action, path),
    ...cookieFaults(action, path),
  ];
}

/** Headers that paging cannot set, because they frame the request or hold its credential. */
const RESERVED_HEADERS = new Set([...FRAMING_HEADERS, 'authorization', 'content-type']);

/** A name on the wire, and the path of its sender. */
type Sent = [name: string, path: string];

function sameNames(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const paging = (place: string): Sent[] =>
    pagingParameters(file, action, place).map(({ name }) => [name, 'paging']);
  const placed: Sent[][] = [
    [...own(action.query, 'query'), ...fixed(action.fixed?.query, 'query'), ...paging('query')],
    // A fixed member of a body is a default that a parameter may replace.
    [...own(action.body, 'body'), ...paging('body')],
    [
      ...own(action.headers, 'headers', dashed),
      ...fixed(action.fixed?.headers, 'headers'),
      ...paging('header'),
    ].map(([name, at]): Sent => [name.toLowerCase(), at]),
    own(action.cookies, 'cookies'),
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

/** Returns the faults of lists that are an object or a table, and of paging by headers that frame a request. */
function shapeFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const { keyedBy, columns } = action.response;
  const faults: SemanticFault[] = [];
  const paging = pagingOf(file, action);
  for (const [name, value] of Object.entries({ keyedBy, columns })) {
    if (value !== undefined && !paging)
      faults.push({ path: `${path}.response.${name}`, rule: 'is for list actions, which have paging' });
  }
  if (keyedBy !== undefined && columns !== undefined)
    faults.push({ path: `${path}.response.columns`, rule: 'is not used with keyedBy' });
  for (const { name } of pagingParameters(file, action, 'header')) {
    if (/^[\w-]+$/.test(name) && !RESERVED_HEADERS.has(name.toLowerCase())) continue;
    faults.push({ path: `${path}.paging`, rule: `"${name}" is no header that paging can set` });
  }
  return faults;
}

/** Returns the faults of a parameter that is the whole body, next to which nothing else can be in the body. */
function wholeFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const all = Object.entries(action.body);
  const whole = all.find(([, parameter]) => parameter.whole);
  const elsewhere = PLACES.filter((place) => place !== 'body').flatMap((place) =>
    Object.entries(action[place])
      .filter(([, parameter]) => parameter.whole)
      .map(([name]) => ({ path: `${path}.${place}.${name}.whole`, rule: 'is for a parameter of the body' })),
  );
  if (!whole) return elsewhere;
  const alone = all.length === 1 && Object.keys(action.fixed?.body ?? {}).length === 0;
  const isJson = (action.bodyType ?? file.bodyType) === 'json' && action.graphql === undefined;
  const paged = pagingParameters(file, action, 'body').length > 0;
  if (
    alone &&
    isJson &&
    !paged &&
    action.wrap === undefined &&
    action.idempotencyParam === undefined &&
    action.bodyMap === undefined
  )
    return elsewhere;
  const rule =
    'is the whole JSON body, so there can be no other member, wrap, graphql, bodyMap or idempotencyParam';
  return [...elsewhere, { path: `${path}.body.${whole[0]}.whole`, rule }];
}

/** Returns the faults of names that would end a cookie, or begin another one. */
function cookieFaults({ cookies }: ActionDefinition, path: string): SemanticFault[] {
  return Object.entries(cookies)
    .filter(([name, { as }]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(as ?? name))
    .map(([name]) => ({ path: `${path}.cookies.${name}.as`, rule: 'is no name of a cookie' }));
}

/** Returns a fault for a DELETE request that claims to read; a policy for reads would let it through. */
function effectFaults({ request, effect }: ActionDefinition, path: string): SemanticFault[] {
  if (effect !== 'read' || !request.startsWith('DELETE ')) return [];
  return [{ path: `${path}.effect`, rule: 'a DELETE request does not read; leave it out, or say write' }];
}
