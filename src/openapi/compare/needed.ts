import jsonata from 'jsonata';
import type { ActionDefinition, ConnectorFile } from '../../connectors/format/format.ts';
import { isRecord } from '../node.ts';
import { listOf, type Members, membersOf } from './document-members.ts';
import { type OwnAction, type OwnSchema, ownSchema, pagingOf, pagingPath } from './sent.ts';

/** A path that an action reads in an answer. */
export interface Needed {
  steps: string[];
  /** Dotted path of the member of the connector file that names it. */
  from: string;
}

/** Returns the paths that an action reads in an answer: its data, the members of a record, places of paging. */
export function neededPaths({ definition, id, action }: OwnAction): Needed[] {
  const { response } = action;
  if (response.body !== 'json') return [];
  const at = `actions.${id}.response`;
  const data = stepsOf(response.data);
  const members =
    response.map === undefined
      ? namesOfRecord(definition, action, `${at}.schema`)
      : namesInMap(response.map).map((steps) => ({ steps, from: `${at}.map` }));
  const paging = pagingOf(definition, action);
  const places = paging && paging.style !== 'none' ? placesOf(paging, pagingPath(id, action)) : [];
  const all = [
    { steps: data, from: `${at}.data` },
    ...members.map(({ steps, from }) => ({ steps: [...data, ...steps], from })),
    ...places,
  ];
  const unique = new Map<string, Needed>();
  for (const one of all.filter(({ steps }) => steps.length > 0))
    if (!unique.has(one.steps.join('.'))) unique.set(one.steps.join('.'), one);
  return [...unique.values()];
}

/** Returns the names of a record. The reads of `each` give the members of its records. */
function namesOfRecord(
  definition: ConnectorFile,
  { each, response }: ActionDefinition,
  from: string,
): Needed[] {
  return each ? [] : namesInSchema(definition, { value: response.schema, from }, 3);
}

/** Returns the steps of a path. A dot after a backslash belongs to its name. Positions in lists are left out. */
function stepsOf(path: string): string[] {
  return path
    .split(/(?<!\\)\./)
    .map((step) => step.replaceAll('\\', ''))
    .filter((step) => step !== '' && !/^\d+$/.test(step));
}

function placesOf(paging: Members, from: string): Needed[] {
  return ['next', 'total', 'hasMore', 'totalPages'].flatMap((name) => {
    const place = paging[name];
    return typeof place === 'string' && place.startsWith('body:')
      ? [{ steps: stepsOf(place.slice(5)), from: `${from}.${name}` }]
      : [];
  });
}

function namesInSchema(definition: ConnectorFile, given: OwnSchema, depth: number): Needed[] {
  const { schema, from, around } = ownSchema(definition, given);
  if (!schema) return [];
  if (schema['items'] !== undefined)
    return namesInSchema(definition, { value: schema['items'], from: `${from}.items`, around }, depth);
  return Object.entries(membersOf(schema['properties'])).flatMap(([name, value]) => {
    const own = `${from}.properties.${name}`;
    const inner = depth === 0 ? [] : namesInSchema(definition, { value, from: own }, depth - 1);
    return [
      { steps: [name], from: own },
      ...inner.map((one) => ({ steps: [name, ...one.steps], from: one.from })),
    ];
  });
}

/**
 * Returns the paths from the record on in a JSONata expression. Steps inside filters and later steps are not followed.
 */
function namesInMap(map: string): string[][] {
  const found: string[][] = [];
  collect(jsonata(map).ast(), [], found);
  return found;
}

/** Collects the paths that the value may have, so that a `.` after it can continue from there. */
function collect(node: unknown, from: string[], found: string[][]): void {
  if (Array.isArray(node)) for (const one of node) collect(one, from, found);
  if (!isRecord(node)) return;
  if (node['type'] === 'path') return collectPath(listOf(node['steps']), from, found);
  if (node['type'] === 'lambda' || node['type'] === 'bind') return;
  if (node['type'] === 'unary' && node['value'] === '{') {
    for (const pair of listOf(node['lhs'])) collect(listOf(pair)[1], from, found);
    return;
  }
  for (const name of ['lhs', 'rhs', 'arguments', 'expressions', 'condition', 'then', 'else', 'expression'])
    collect(node[name], from, found);
}

function collectPath(steps: unknown[], from: string[], found: string[][]): void {
  const names = [...from];
  for (const [index, value] of steps.entries()) {
    const step = membersOf(value);
    const own = step['type'] === 'variable' && step['value'] === '' && index === 0;
    if (step['type'] === 'name') names.push(String(step['value']));
    else if (!own) {
      if (index === 0 || step['type'] === 'unary') collect(step, names, found);
      break;
    }
  }
  if (names.length > from.length) found.push(names);
}
