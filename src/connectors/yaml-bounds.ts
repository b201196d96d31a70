import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  visit,
  YAMLParseError,
  type Document,
  type Node,
  type YAMLMap,
} from 'yaml';

/* Checks of a YAML document before its value is built. They take one walk over it. */

/** The most members that merge keys (`<<`) copy, in all. */
const MAX_MERGED = 100_000;

/**
 * Adds an error to the document for each repeated member, as `uniqueKeys` of the parser does. The parser compares each
 * member with all others, which takes a minute for 80,000 members.
 */
export function markRepeatedMembers(document: Document.Parsed): void {
  visit(document, {
    Map(_key, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const [start, end] = key.range ?? [0, 0];
        if (seen.has(key.value))
          document.errors.push(new YAMLParseError([start, end], 'DUPLICATE_KEY', 'Map keys must be unique'));
        seen.add(key.value);
      }
    },
  });
}

/** Returns whether a key is `<<`. The parser resolves it to a symbol of its own. */
function isMergeKey(key: unknown): boolean {
  return isScalar(key) && typeof key.value === 'symbol';
}

/** Returns the rule that more than `most` aliases break, or merge keys that copy too much. */
export function aliasRule(document: Document.Parsed, most: number): string | undefined {
  const anchors = new Map<string, unknown>();
  const members = new Map<unknown, number>();
  let aliases = 0;
  let merged = 0;
  const isTooMuch = () => aliases > most || merged > MAX_MERGED;
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) aliases += 1;
      else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (!isMap<Node, Node | null>(node)) return isTooMuch() ? visit.BREAK : undefined;
      const copied = mergedInto(node, { anchors, members });
      members.set(node, node.items.length + copied);
      merged += copied;
      return isTooMuch() ? visit.BREAK : undefined;
    },
  });
  if (aliases > most) return `has more than ${most} aliases`;
  return merged > MAX_MERGED ? `copies more than ${MAX_MERGED} members by merge keys (<<)` : undefined;
}

/** Returns how many members the merge keys of a mapping copy. Anchors stand before their aliases. */
function mergedInto(
  { items }: YAMLMap<Node, Node | null>,
  { anchors, members }: { anchors: ReadonlyMap<string, unknown>; members: ReadonlyMap<unknown, number> },
): number {
  let copied = 0;
  for (const { key, value } of items) {
    if (!isMergeKey(key)) continue;
    for (const source of isSeq<Node>(value) ? value.items : [value])
      copied += isAlias(source) ? (members.get(anchors.get(source.source)) ?? 1) : 1;
  }
  return copied;
}
