import {
  isMap,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { memoByObject } from '../lib/memo.ts';

/** Returns the line of a dotted path in a YAML text: that of its deepest existing member. Lines count from 1. */
export type LineOf = (path: string) => number | undefined;

export function lineFinder(contents: ParsedNode | null, lines: LineCounter): LineOf {
  return (path) => {
    const names = path.replace(/ \([^)]*\)/, '').split('.');
    const offset = offsetOf(contents, names) ?? contents?.range[0];
    return offset === undefined ? undefined : lines.linePos(offset).line;
  };
}

/** Computed once, because a text may have a fault in each member. */
const pairsOf = memoByObject((map: YAMLMap<Node, Node | null>) => {
  const pairs = new Map<string, { key: Scalar; value: Node | null }>();
  for (const { key, value } of map.items) {
    if (isScalar(key) && !pairs.has(String(key.value))) pairs.set(String(key.value), { key, value });
  }
  return pairs;
});

/** Returns where the deepest member on a path begins; undefined where not even the first exists. */
function offsetOf(node: Node | null | undefined, path: readonly string[]): number | undefined {
  if (isSeq<Node>(node)) {
    const item = node.items[Number(path[0])];
    return offsetOf(item, path.slice(1)) ?? item?.range?.[0];
  }
  if (!isMap<Node, Node | null>(node)) return undefined;
  // A name may contain dots, such as a code or an address.
  for (let length = path.length; length > 0; length--) {
    const name = path.slice(0, length).join('.');
    const pair = pairsOf(node).get(name);
    if (pair) return offsetOf(pair.value, path.slice(length)) ?? pair.key.range?.[0];
  }
  return undefined;
}
