import { isMap, isScalar, isSeq, visit, type Document, type YAMLMap } from 'yaml';

/* Values of a text that YAML reads as numbers, because the document has no quotes around them. */

/** Keywords whose values belong to the type next to them. */
const VALUES = ['enum', 'const', 'default', 'example'];

/**
 * Replaces the numbers and booleans of schemas that take texts by the texts of the document: `1.0` stays `1.0` instead of
 * becoming `1`. Returns the JSON pointers of these schemas.
 */
export function keepUnquotedTexts(document: Document): Set<string> {
  const changed = new Set<string>();
  visit(document, {
    Map(_key, map, ancestors) {
      if (!takesText(map)) return;
      const found = VALUES.map((keyword) => map.get(keyword, true)).flatMap((value) =>
        isSeq(value) ? value.items : [value],
      );
      let isChanged = false;
      for (const scalar of found) {
        if (!isScalar(scalar) || scalar.source === undefined) continue;
        if (typeof scalar.value !== 'number' && typeof scalar.value !== 'boolean') continue;
        scalar.value = scalar.source;
        isChanged = true;
      }
      if (isChanged) changed.add(pointerOf([...ancestors, map]));
    },
  });
  return changed;
}

function takesText(map: YAMLMap): boolean {
  const type = map.get('type', true);
  const types = isSeq(type) ? type.items : [type];
  const names = new Set(types.map((one) => (isScalar(one) ? one.value : undefined)));
  return names.has('string') && !names.has('number') && !names.has('integer');
}

function pointerOf(nodes: readonly unknown[]): string {
  return nodes
    .slice(0, -1)
    .flatMap((node, index) => {
      if (isSeq(node)) return [`/${node.items.indexOf(nodes[index + 1])}`];
      if (!isMap(node)) return [];
      const pair = nodes[index + 1];
      const key = node.items.find((one) => one === pair)?.key;
      return [
        `/${String(isScalar(key) ? key.value : key)
          .replaceAll('~', '~0')
          .replaceAll('/', '~1')}`,
      ];
    })
    .join('');
}
