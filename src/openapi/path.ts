import { LeftOut } from './node.ts';

/** A path of the format, and the query that some documents write into a path. */
export interface WrittenPath {
  path: string;
  fixedQuery: Record<string, string>;
}

/**
 * Returns the path of a request with the parameter names of the action.
 * @throws LeftOut for a path that would lead elsewhere.
 */
export function writtenPath(path: string, names: ReadonlyMap<string, string>): WrittenPath {
  const [whole = ''] = path.split('#');
  const mark = whole.indexOf('?');
  const plain = mark < 0 ? whole : whole.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : whole.slice(mark + 1));
  if ([...query.values()].some((value) => /[{}]/.test(value)))
    throw new LeftOut('its path holds parameters after a question mark');
  const written = plain
    .split(/(\{[^{}]*\})/)
    .map((part, index) => (index % 2 === 1 ? `{${names.get(part.slice(1, -1)) ?? ''}}` : encodedPart(part)))
    .join('');
  const segments = written.replaceAll(/%2e/gi, '.').split('/');
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw new LeftOut('its path holds dot segments');
  if (written.startsWith('//')) throw new LeftOut('its path begins with two slashes');
  return { path: written, fixedQuery: Object.fromEntries(query) };
}

/** Encodes what an address would encode, so that it stays the same there. */
function encodedPart(part: string): string {
  return part
    .toWellFormed()
    .replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25')
    .replaceAll(/[^\w\-.~!$&'()*+,;=:@/%]/gu, (character) => encodeURIComponent(character));
}
