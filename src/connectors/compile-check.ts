import jsonata from 'jsonata';
import { assertLinear } from '../lib/linear-pattern.ts';
import { parseXml } from '../lib/xml.ts';
import type { ConnectorFile } from './format/format.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';
import { checkUse } from './file-check.ts';
import { parametersOf } from './parameters.ts';
import { inputSchemaOf, outputSchemaOf, pagingOf, propertySchema } from './schemas/action-schemas.ts';
import { compilerOf } from './schemas/validate.ts';

const NO_SCHEMA = 'is no valid JSON Schema';

/** Returns the faults of compileFaults(), and those that make a connector worse (file-check.ts). */
export function checkCompiles(file: ConnectorFile): SemanticFault[] {
  return [...compileFaults(file), ...checkUse(file)];
}

/**
 * Returns the schemas and expressions of a checked file that do not compile. This takes about a millisecond an action.
 * So it runs when a file is written (`gatehouse connectors check`, the tests), not at every start.
 */
export function compileFaults(file: ConnectorFile): SemanticFault[] {
  const compile = compilerOf(file.schemas);
  // Schemas of actions then keep their references, which the compiler knows.
  const bare = { ...file, schemas: {} };
  const shared = Object.entries(file.schemas).map(([name, schema]) =>
    schemaFault(['schemas', name], NO_SCHEMA, () => compile(schema)),
  );
  // Actions that refer to a faulty schema would repeat its fault.
  if (shared.some((fault) => fault !== undefined)) return shared.filter((fault) => fault !== undefined);
  const unified = Object.entries(file.unified).flatMap(([scope, model]) =>
    [
      { path: 'map', map: model?.map },
      { path: 'create.map', map: model?.create?.map },
      { path: 'update.map', map: model?.update?.map },
    ].map(({ path, map }) =>
      faultOf(`unified.${scope}.${path}`, 'is not a valid JSONata expression', () => map && parse(map)),
    ),
  );
  const actions = Object.entries(file.actions).flatMap(([actionId, action]) => {
    const paging = pagingOf(file, action);
    const path = `actions.${actionId}`;
    return [
      ...parametersOf(action).map(({ place, name, parameter }) =>
        schemaFault(['actions', actionId, place, name], NO_SCHEMA, () => compile(propertySchema(parameter))),
      ),
      faultOf(path, 'its parameters make no valid JSON Schema', () =>
        compile(inputSchemaOf(bare, action, paging)),
      ),
      schemaFault(['actions', actionId, 'response', 'schema'], NO_SCHEMA, () =>
        compile(action.response.schema ?? {}),
      ),
      faultOf(`${path}.response.schema`, NO_SCHEMA, () => compile(outputSchemaOf(bare, action, paging))),
      faultOf(
        `${path}.response.map`,
        'is not a valid JSONata expression',
        () => action.response.map && parse(action.response.map),
      ),
      faultOf(
        `${path}.bodyMap`,
        'is not a valid JSONata expression',
        () => action.bodyMap && parse(action.bodyMap),
      ),
      faultOf(`${path}.xml`, 'is no XML', () => action.xml && parseXml(action.xml)),
      faultOf(
        `${path}.after.give`,
        'is not a valid JSONata expression',
        () => action.after?.give && parse(action.after.give),
      ),
      ...Object.entries(action.before?.fill ?? {}).map(([name, expression]) =>
        faultOf(`${path}.before.fill.${name}`, 'is not a valid JSONata expression', () => parse(expression)),
      ),
    ];
  });
  return onePerPlace([...actions, ...unified].filter((fault) => fault !== undefined));
}

/** Leaves out the fault of a whole schema, where that of a part of it is known. */
function onePerPlace(faults: readonly SemanticFault[]): SemanticFault[] {
  return faults.filter(({ path, rule }, index) => {
    const isRepeated = (other: SemanticFault, at: number) =>
      other.path.startsWith(`${path}.`) || (other.path === path && at < index);
    const isSchema = rule.includes('valid JSON Schema');
    return (
      !isSchema || !faults.some((other, at) => other.rule.startsWith(NO_SCHEMA) && isRepeated(other, at))
    );
  });
}

/** Returns the fault of a schema with the place that the compiler names: `data/properties/id/type must be …`. */
function schemaFault(
  path: readonly string[],
  what: string,
  attempt: () => unknown,
): SemanticFault | undefined {
  const fault = faultOf(path.join('.'), what, attempt);
  const [, inside = ''] = /schema is invalid: data\/([^\s,]+)/.exec(fault?.rule ?? '') ?? [];
  if (!fault || inside === '') return fault;
  return { ...fault, path: [...path, ...inside.split('/')].join('.') };
}

/**
 * Parses an expression.
 * @throws unless its regular expressions can be matched in linear time.
 */
function parse(expression: string): void {
  const seen = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null || seen.has(node)) return;
    seen.add(node);
    if (node instanceof RegExp) assertLinear(node);
    Object.values(node).forEach(visit);
  };
  visit(jsonata(expression).ast());
}

function faultOf(path: string, what: string, attempt: () => unknown): SemanticFault | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    // JSONata throws plain objects with a message.
    const reason = error instanceof Object && 'message' in error ? String(error.message) : String(error);
    const isText = /unknown keyword: "[^"]*[ .][^"]*"/.test(reason);
    const hint = isText ? '; inside of { … } a text with a comma needs quotes' : '';
    return { path, rule: `${what}: ${reason}${hint}` };
  }
}
