import { hash } from 'node:crypto';
import { asObject, isJsonObject, type JsonObject } from '../lib/json.ts';

const MAX_ID_CHARS = 64;
const SUFFIX_CHARS = 8;

/** The ids of the tools of a server, by the server's names. */
export type ToolIds = ReadonlyMap<string, string>;

/**
 * Returns an id for each name of a tool: `addNumbers` and `add-numbers` become `add_numbers`. The result does not depend
 * on the order of the names. A tool keeps the id of the version before, because an id that passes to another tool would
 * make callers run that one. Where several names become one id, the name that is the id has it, else the first in
 * alphabetical order. The others end in `_` and eight characters of the hash of their name.
 */
export function toolIds(
  names: readonly string[],
  { before, reserved }: { before: ToolIds; reserved: readonly string[] },
): ToolIds {
  const ids = new Map<string, string>();
  const taken = new Set(reserved);
  const give = (name: string, id: string): void => {
    ids.set(name, id);
    taken.add(id);
  };
  for (const name of names) {
    const id = before.get(name);
    if (id !== undefined && !taken.has(id)) give(name, id);
  }
  const added = names.filter((name) => !ids.has(name)).toSorted(byCodeUnits);
  const isPlain = (name: string) => plainId(name) === name;
  for (const name of [...added.filter(isPlain), ...added.filter((one) => !isPlain(one))]) {
    const id = plainId(name);
    give(name, taken.has(id) ? hashedId(name, taken) : id);
  }
  return ids;
}

/** Returns the ids in the connector file of a server, by the server's names of its tools. */
export function idsIn(file: JsonObject): ToolIds {
  return new Map(
    Object.entries(asObject(file['actions'])).flatMap(([id, action]): [string, string][] => {
      const mcp = asObject(asObject(action)['mcp']);
      const name = mcp['name'];
      return isJsonObject(action) && mcp['method'] === 'tools/call' && typeof name === 'string'
        ? [[name, id]]
        : [];
    }),
  );
}

/** Returns the order of two names that is the same in every language. */
export function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function plainId(name: string): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  const id = (words === '' ? 'tool' : words).slice(0, MAX_ID_CHARS);
  // `_svc` at the end marks built-in tools.
  return id.endsWith('_svc') ? `${id.slice(0, MAX_ID_CHARS - 5)}_tool` : id;
}

/** Returns an id that ends in a part of the hash of the name, in hexadecimal digits because ids have no capitals. */
function hashedId(name: string, taken: ReadonlySet<string>): string {
  const stem = plainId(name).slice(0, MAX_ID_CHARS - SUFFIX_CHARS - 1);
  for (let round = 0; ; round++) {
    const digest = hash('sha256', round === 0 ? name : `${name} ${round}`, 'hex');
    const id = `${stem}_${digest.slice(0, SUFFIX_CHARS)}`;
    if (!taken.has(id)) return id;
  }
}
