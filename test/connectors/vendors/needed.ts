import jsonata from 'jsonata';
import type { ActionDefinition, ConnectorFile } from '../../../src/connectors/format.ts';
import { isMembers, listOf, type Members, membersOf } from './members.ts';
import { ownSchema, pagingOf } from './own.ts';

/** Returns the paths that an action reads in an answer: its data, the members of a record, places of paging. */
export function neededPaths(definition: ConnectorFile, action: ActionDefinition): string[][] {
  const { response } = action;
  if (response.body !== 'json') return [];
  const data = stepsOf(response.data);
  const members = response.map ? namesInMap(response.map) : namesOfRecord(definition, action);
  const paging = pagingOf(definition, action);
  const places = paging && paging.style !== 'none' ? placesOf(paging) : [];
  const all = [data, ...members.map((steps) => [...data, ...steps]), ...places];
  const unique = new Map(all.filter((steps) => steps.length > 0).map((steps) => [steps.join('.'), steps]));
  return [...unique.values()];
}

/** Returns the names of a record. The reads of `each` give the members of its records. */
function namesOfRecord(definition: ConnectorFile, { each, response }: ActionDefinition): string[][] {
  return each ? [] : namesInSchema(definition, response.schema, 3);
}

/** Returns the steps of a path. A dot after a backslash belongs to its name. Positions in lists are left out. */
function stepsOf(path: string): string[] {
  return path
    .split(/(?<!\\)\./)
    .map((step) => step.replaceAll('\\', ''))
    .filter((step) => step !== '' && !/^\d+$/.test(step));
}

function placesOf(paging: Members): string[][] {
  return ['next', 'total', 'hasMore', 'totalPages'].flatMap((name) => {
    const place = paging[name];
    return typeof place === 'string' && place.startsWith('body:') ? [stepsOf(place.slice(5))] : [];
  });
}

function namesInSchema(definition: ConnectorFile, value: unknown, depth: number): string[][] {
  const schema = ownSchema(definition, value);
  if (schema['items'] !== undefined) return namesInSchema(definition, schema['items'], depth);
  return Object.entries(membersOf(schema['properties'])).flatMap(([name, property]) => [
    [name],
    ...(depth === 0 ? [] : namesInSchema(definition, property, depth - 1).map((steps) => [name, ...steps])),
  ]);
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
  if (!isMembers(node)) return;
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
