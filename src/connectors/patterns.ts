import type { Fault } from '../lib/errors.ts';
import { patternFault } from '../lib/linear-pattern.ts';
import type { ConnectorFile } from './format/format.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';
import { parametersOf } from './parameters.ts';

/** Keywords whose values are data, in which a member named `pattern` has no meaning. */
export const DATA = new Set(['enum', 'const', 'default', 'examples', 'example']);
/** Keywords whose members are schemas under names of their own. */
export const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Returns every pattern of a JSON Schema that cannot be matched in linear time, by its dotted path below `at`. */
export function schemaPatternFaults(schema: unknown, at: string): Fault[] {
  if (Array.isArray(schema))
    return schema.flatMap((member, index) => schemaPatternFaults(member, `${at}.${index}`));
  return entriesOf(schema).flatMap(([keyword, value]) => {
    const path = `${at}.${keyword}`;
    if (DATA.has(keyword)) return [];
    if (keyword === 'pattern') return faultsOf(value, path);
    const named = keyword === 'patternProperties' ? Object.keys(Object(value)) : [];
    const names = named.flatMap((name) => faultsOf(name, `${path}.${name.slice(0, 64)}`));
    const members = MAPS.has(keyword)
      ? entriesOf(value).flatMap(([name, member]) => schemaPatternFaults(member, `${path}.${name}`))
      : schemaPatternFaults(value, path);
    return [...names, ...members];
  });
}

/** Returns these faults for all schemas and fields of a connector file. */
export function checkPatterns(file: ConnectorFile): SemanticFault[] {
  const schemas: [path: string, schema: unknown][] = [
    ...Object.entries(file.variables).map(([name, field]): [string, unknown] => [`variables.${name}`, field]),
    ...file.authentication.flatMap((scheme, index) =>
      entriesOf('fields' in scheme ? scheme.fields : {}).map(([name, field]): [string, unknown] => [
        `authentication.${index}.fields.${name}`,
        field,
      ]),
    ),
    ...Object.entries(file.schemas).map(([name, schema]): [string, unknown] => [`schemas.${name}`, schema]),
    ...Object.entries(file.actions).flatMap(([actionId, action]): [string, unknown][] => [
      ...parametersOf(action).map(({ place, name, parameter }): [string, unknown] => [
        `actions.${actionId}.${place}.${name}`,
        parameter,
      ]),
      [`actions.${actionId}.rules`, action.rules],
      [`actions.${actionId}.response.schema`, action.response.schema],
    ]),
  ];
  return schemas.flatMap(([path, schema]) =>
    schemaPatternFaults(schema, path).map(({ field, rule }) => ({ path: field, rule })),
  );
}

function faultsOf(pattern: unknown, field: string): Fault[] {
  const rule = typeof pattern === 'string' ? patternFault(pattern) : undefined;
  return rule === undefined ? [] : [{ field, rule }];
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}
