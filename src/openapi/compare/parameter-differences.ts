import type { ConnectorFile } from '../../connectors/format/format.ts';
import { type Difference, valueDifferences } from './differences.ts';
import type { OperationFacts } from './field.ts';
import { membersOf } from './document-members.ts';
import { type OwnAction, pagingOf, sentOf } from './sent.ts';

/** Headers that OpenAPI ignores, because they belong to bodies and security. */
const IGNORED_HEADERS = ['accept', 'content-type', 'authorization'];

/** Returns the differences of headers and of the path. `documentPath` is the path of the operation below the base. */
export function parameterDifferences(
  own: OwnAction,
  facts: OperationFacts,
  documentPath: string,
): Difference[] {
  return [...headerDifferences(own, facts), ...pathDifferences(own, facts, documentPath)];
}

function headerDifferences(own: OwnAction, { headers = {} }: OperationFacts): Difference[] {
  const { definition, id, action } = own;
  const at = `actions.${id}`;
  const parameters = new Map(
    Object.entries(action.headers).map(([name, parameter]) => {
      const header = (parameter.as ?? name.replaceAll('_', '-')).split('.')[0] ?? '';
      return [header.toLowerCase(), { name, parameter, from: `${at}.headers.${name}` }];
    }),
  );
  const paging = pagingOf(definition, action);
  const constant = [
    ...IGNORED_HEADERS,
    ...Object.keys(definition.headers),
    ...Object.keys(action.fixed?.headers ?? {}),
    ...(paging && paging.style !== 'none' && paging.in === 'header' ? textsIn(paging) : []),
    ...suppliedNames(definition),
  ];
  const sent = new Set(constant.map((name) => name.toLowerCase()));
  return Object.entries(headers).flatMap(([header, field]): Difference[] => {
    const about = { actionId: id, at: [header] };
    const one = parameters.get(header);
    if (!one) return field.required && !sent.has(header) ? [{ kind: 'notSent', ...about, path: at }] : [];
    const value = sentOf(own, one);
    const found: Difference[] = valueDifferences({ ...about, path: one.from }, value, field);
    if (field.required && !value.always) found.push({ kind: 'optional', ...about, path: one.from });
    return found;
  });
}

function textsIn(value: object): string[] {
  return Object.values(value).filter((one) => typeof one === 'string');
}

/** Returns the values that the document does not have in the path. Both paths are compared from their ends. */
function pathDifferences(own: OwnAction, { path = {} }: OperationFacts, documentPath: string): Difference[] {
  const { id, action } = own;
  const segments = (action.request.split(' ')[1] ?? '').split('/').toReversed();
  const known = documentPath.split('/').toReversed();
  return segments.flatMap((segment, index): Difference[] => {
    const name = /^\{([^{}]*)\}$/.exec(known[index] ?? '')?.[1];
    const field = name !== undefined && Object.hasOwn(path, name) ? path[name] : undefined;
    const parameterName = /^\{([^{}]*)\}$/.exec(segment)?.[1];
    if (!field || name === undefined || parameterName === undefined) return [];
    const parameter = action.path[parameterName];
    if (!parameter) return [];
    const from = `actions.${id}.path.${parameterName}`;
    return valueDifferences(
      { actionId: id, at: [parameterName], path: from },
      sentOf(own, { name: parameterName, parameter, from }),
      field,
    );
  });
}

/** Returns the names of headers, query parameters and members that the credential or every call supplies. */
export function suppliedNames(definition: ConnectorFile): Set<string> {
  const names = definition.authentication.flatMap((scheme) => {
    if (scheme.type === 'api_key') return [scheme.name];
    return ['apply', 'sign'].flatMap((member) => {
      const placed = membersOf(membersOf(scheme)[member]);
      return ['headers', 'query', 'body'].flatMap((place) => Object.keys(membersOf(placed[place])));
    });
  });
  const marks = [definition.idempotencyHeader, definition.idempotencyQuery];
  return new Set([...names, ...marks.filter((one) => one !== undefined)]);
}
