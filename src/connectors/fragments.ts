import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { thrownMessage } from '../lib/errors.ts';
import { sha256 } from '../lib/sha256.ts';
import { merged } from './overlay.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';

/* Parts that several connector files of a folder share: `extends: gmail.google_account` in any mapping. */

const FRAGMENTS = 'fragments.yaml';
const REFERENCE = /^([a-z0-9-]{1,32})\.([a-zA-Z_]\w{0,63})$/;
/** Most fragments that extend each other in a row. */
const MAX_DEPTH = 5;
const MAX_ALIASES = 100;

/** Returns the path of the fragments next to a connector file, whether they exist or not. */
export function fragmentsPath(file: string): string {
  return join(dirname(file), FRAGMENTS);
}

/**
 * Returns a file's value with the fragments that its mappings extend. A member of the mapping replaces that of the
 * fragment; objects are merged.
 */
export function withFragments(value: unknown, file: string): { value: unknown; faults: SemanticFault[] } {
  const faults: SemanticFault[] = [];
  const read = fragmentReader(file);
  const expand = (one: unknown, path: string, depth: number): unknown => {
    if (Array.isArray(one))
      return one.map((entry, index) => expand(entry, path === '' ? `${index}` : `${path}.${index}`, depth));
    if (typeof one !== 'object' || one === null) return one;
    const members = Object.entries(one).map(([name, member]) => [
      name,
      // The members of `fixed` are data for the app, so `extends` in them has no meaning here.
      name === 'fixed' ? member : expand(member, path === '' ? name : `${path}.${name}`, depth),
    ]);
    const { extends: reference, ...own } = Object.fromEntries(members);
    if (typeof reference !== 'string') return Object.fromEntries(members);
    try {
      if (depth >= MAX_DEPTH) throw new Error(`extends more than ${MAX_DEPTH} fragments in a row`);
      return merged(expand(read(reference), path, depth + 1), own);
    } catch (error) {
      faults.push({ path: path === '' ? 'extends' : `${path}.extends`, rule: thrownMessage(error) });
      return own;
    }
  };
  return { value: expand(value, '', 0), faults };
}

/** Returns the hash of a file's text, and of the files of fragments that the text and these files name. */
export function sourceHash(text: string, file: string): string {
  const named = new Map<string, string>();
  const left = idsIn(text);
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (named.has(id)) continue;
    const fragments = textOf(file, id) ?? '';
    named.set(id, fragments);
    left.push(...idsIn(fragments));
  }
  if (named.size === 0) return sha256(text);
  const parts = [...named].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, fragments]) => fragments);
  return sha256([text, ...parts].join('\n'));
}

/** Returns the ids of the connectors whose fragments a text extends. */
function idsIn(text: string): string[] {
  return [...text.matchAll(/\bextends:\s*['"]?([a-z0-9-]+)\./g)].map(([, id = '']) => id);
}

/** Returns a function that reads a fragment by its reference. Each file is read once. */
function fragmentReader(file: string): (reference: string) => unknown {
  const files = new Map<string, unknown>();
  return (reference) => {
    const [, id = '', name = ''] = REFERENCE.exec(reference) ?? [];
    if (id === '') throw new Error(`"${reference}" is no <connector id>.<fragment>`);
    if (!files.has(id)) {
      const text = textOf(file, id);
      if (text === undefined)
        throw new Error(`there is no ${id}/${FRAGMENTS} next to the folder of this file`);
      files.set(id, parse(text, { maxAliasCount: MAX_ALIASES, uniqueKeys: true }));
    }
    const fragments = files.get(id);
    const known = typeof fragments === 'object' && fragments !== null ? Object.entries(fragments) : [];
    const found = known.find(([one]) => one === name);
    if (!found) {
      const names = known.map(([one]) => one).join(', ') || 'none';
      throw new Error(`"${name}" is no fragment of ${id}/${FRAGMENTS}; fragments: ${names}`);
    }
    return found[1];
  };
}

/** Returns the text of the fragments of a connector in the same folder of connectors; undefined where there is none. */
function textOf(file: string, id: string): string | undefined {
  try {
    return readFileSync(join(dirname(file), '..', id, FRAGMENTS), 'utf8');
  } catch {
    return undefined;
  }
}
