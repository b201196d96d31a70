/** The limit of list entries. No id is longer, and a longer text matches nothing. */
const LONGEST_TEXT = 200;

/** Returns whether an entry names the action. */
export type ActionMatcher = (connectorId: string, actionId: string) => boolean;

/**
 * Compiles entries that name actions: `actionId` (of any connector) or `connectorId.actionId`; `*` matches within one
 * part. A query costs at most a few string searches per entry. No regular expression is made of the entries.
 */
export function compileActions(entries: readonly string[]): ActionMatcher {
  const connectorParts = new Map<string, number>();
  const byActionPart = new Map<string, number[]>();
  for (const entry of entries) {
    const dot = entry.indexOf('.');
    const connectorPart = dot === -1 ? '*' : entry.slice(0, dot);
    const number = connectorParts.get(connectorPart) ?? connectorParts.size;
    connectorParts.set(connectorPart, number);
    append(byActionPart, entry.slice(dot + 1), number);
  }
  const matchConnectors = withLastCached(patternSet([...connectorParts.keys()]), connectorParts.size);
  const actions = patternSet([...byActionPart.keys()]);
  const wanted = [...byActionPart.values()];
  return (connectorId, actionId) => {
    const matching = matchConnectors(connectorId);
    return actions(actionId, (position) => (wanted[position] ?? []).some((number) => matching[number] === 1));
  };
}

/**
 * Returns 1 at the positions of matching patterns. The last text is cached, because queries come connector by
 * connector.
 */
function withLastCached(patterns: PatternSet, size: number): (text: string) => Uint8Array {
  let last: string | undefined;
  let matching = new Uint8Array(size);
  return (text) => {
    if (text === last) return matching;
    matching = new Uint8Array(size);
    patterns(text, (position) => {
      matching[position] = 1;
      return false;
    });
    last = text;
    return matching;
  };
}

/**
 * A set of distinct patterns in which `*` matches any text.
 * Calls `found` with the position of each matching pattern until it returns true. Returns whether it did.
 */
type PatternSet = (text: string, found: (position: number) => boolean) => boolean;

function patternSet(patterns: readonly string[]): PatternSet {
  const exact = new Map<string, number>();
  const root = newNode();
  for (const [position, pattern] of patterns.entries()) {
    const [head = '', ...rest] = pattern.split('*');
    const tail = rest.pop();
    if (tail === undefined) exact.set(pattern, position);
    // The tail comes first, because one comparison then excludes most patterns.
    else insert(root, [tail, head, ...rest.filter((piece) => piece !== '')], position);
  }
  const tails = stepsOf(root);
  return (text, found) => {
    if (text.length > LONGEST_TEXT) return false;
    const same = exact.get(text);
    if (same !== undefined && found(same)) return true;
    const letters = lettersOf(text);
    return tails.some(
      ({ part, needed, next }) =>
        (needed & ~letters) === 0 &&
        text.endsWith(part) &&
        fitsSome(next, { text, letters, end: text.length - part.length, found }),
    );
  };
}

/** A node between two parts of patterns. Patterns with the same first parts share nodes. */
interface TrieNode {
  readonly next: Map<string, TrieNode>;
  /** Positions of the patterns that end here. */
  readonly ends: number[];
}

function newNode(): TrieNode {
  return { next: new Map(), ends: [] };
}

function insert(root: TrieNode, parts: string[], position: number): void {
  let node = root;
  for (const part of parts) {
    const next = node.next.get(part) ?? newNode();
    node.next.set(part, next);
    node = next;
  }
  node.ends.push(position);
}

/** A part of patterns, prepared for matching, with the parts that follow. */
interface Step {
  readonly part: string;
  /** Bits of the letters that every pattern through this part needs. */
  readonly needed: number;
  readonly ends: readonly number[];
  readonly next: readonly Step[];
}

function stepsOf(node: TrieNode): Step[] {
  return [...node.next].map(([part, { next, ends }]) => {
    const steps = stepsOf({ next, ends });
    const neededNext = ends.length > 0 ? 0 : steps.reduce((common, { needed }) => common & needed, -1);
    return { part, needed: lettersOf(part) | neededNext, ends, next: steps };
  });
}

interface Search {
  text: string;
  letters: number;
  /** Start of the pattern's tail in the text. */
  end: number;
  found(position: number): boolean;
}

function fitsSome(heads: readonly Step[], { text, letters, end, found }: Search): boolean {
  /** Matches each piece at its first place, which leaves the most text for the next pieces. */
  const holdsSome = (steps: readonly Step[], from: number): boolean => {
    for (const { part, needed, ends, next } of steps) {
      if ((needed & ~letters) !== 0) continue;
      const at = text.indexOf(part, from);
      if (at === -1 || at + part.length > end) continue;
      if (ends.some(found) || holdsSome(next, at + part.length)) return true;
    }
    return false;
  };
  return heads.some(
    ({ part, needed, ends, next }) =>
      (needed & ~letters) === 0 &&
      part.length <= end &&
      text.startsWith(part) &&
      (ends.some(found) || holdsSome(next, part.length)),
  );
}

/** Returns a bit for each letter of a text; other characters share the remaining bits. */
function lettersOf(text: string): number {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const place = text.charCodeAt(at) - 97;
    letters |= 1 << (place >= 0 && place < 26 ? place : 26 + (text.charCodeAt(at) % 6));
  }
  return letters;
}

function append(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
