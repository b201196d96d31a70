/** Limits of a custom connector's value. */
export interface SizeLimits {
  /** Members of all levels. */
  members: number;
  /** Characters of all names and texts. */
  characters: number;
}

/** Limits of a file that a caller sends. A body has at most 1 MiB, but anchors of YAML can repeat its parts. */
export const SENT: SizeLimits = { members: 200_000, characters: 4 * 1024 * 1024 };
/** Limits of a file of the folder, or an imported file, which may be a whole API. */
export const WHOLE_API: SizeLimits = { members: 5_000_000, characters: 64 * 1024 * 1024 };

const MAX_DEPTH = 64;
/**
 * The most actions of a file that a caller sends: the tools of a remote MCP server, and the action that lists them. The
 * check of one takes about a millisecond.
 */
const MAX_SENT_ACTIONS = 2001;

/** Returns the rule that too many actions break. */
export function actionsRule(value: unknown): string | undefined {
  const { actions } = Object(value);
  const isMany = typeof actions === 'object' && Object.keys(actions ?? {}).length > MAX_SENT_ACTIONS;
  return isMany ? `must have at most ${MAX_SENT_ACTIONS} actions` : undefined;
}

/** The rule of a value that is too deep. The parser of YAML recurses, and throws a RangeError for one far deeper. */
export const DEPTH_RULE = `must be nested at most ${MAX_DEPTH} levels deep`;

/** Returns the rule about size that a value breaks. */
export function sizeRule(value: unknown, limits: SizeLimits): string | undefined {
  let members = 0;
  let characters = 0;
  const left: [value: unknown, depth: number][] = [[value, 0]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [one, depth] = next;
    members++;
    if (typeof one === 'string') characters += one.length;
    if (depth > MAX_DEPTH) return DEPTH_RULE;
    if (members > limits.members) return `must have at most ${limits.members} members`;
    if (characters > limits.characters) return `must have at most ${limits.characters} characters of text`;
    if (typeof one !== 'object' || one === null) continue;
    for (const [name, member] of Object.entries(one)) {
      characters += name.length;
      left.push([member, depth + 1]);
    }
  }
  return undefined;
}
