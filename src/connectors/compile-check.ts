import jsonata from 'jsonata';
import { assertLinear } from '../lib/linear-pattern.ts';
import { parseXml } from '../lib/xml.ts';
import type { ConnectorFile } from './format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { checkUse } from './file-check.ts';
import { inputSchemaOf, outputSchemaOf, pagingOf } from './schemas.ts';
import { compileSchema } from './validate.ts';

/** Returns the faults of compileFaults(), and those that make a connector worse (file-check.ts). */
export function checkCompiles(file: ConnectorFile): SemanticFault[] {
  return [...compileFaults(file), ...checkUse(file)];
}

/**
 * Returns the schemas and expressions of a checked file that do not compile. This takes about a millisecond an action.
 * So it runs when a file is written (`gatehouse connectors check`, the tests), not at every start.
 */
export function compileFaults(file: ConnectorFile): SemanticFault[] {
  const unified = Object.entries(file.unified).map(([scope, model]) =>
    faultOf(`unified.${scope}.map`, 'is not a valid JSONata expression', () => model && parse(model.map)),
  );
  const actions = Object.entries(file.actions).flatMap(([actionId, action]) => {
    const paging = pagingOf(file, action);
    const path = `actions.${actionId}`;
    return [
      faultOf(path, 'its parameters make no valid JSON Schema', () =>
        compileSchema(inputSchemaOf(file, action, paging)),
      ),
      faultOf(`${path}.response.schema`, 'is no valid JSON Schema', () =>
        compileSchema(outputSchemaOf(file, action, paging)),
      ),
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
  return [...actions, ...unified].filter((fault) => fault !== undefined);
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
    return { path, rule: `${what}: ${reason}` };
  }
}
