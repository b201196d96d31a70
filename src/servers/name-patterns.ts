/** The limit of list entries. No id is longer, and a longer text matches nothing. */
const LONGEST_TEXT = 200;

/** Returns whether an entry names the action. */
export type ActionMatcher = (connectorId: string, actionId: string) => boolean;

/**
 * Compiles entries that name actions: `actionId` (of any connector) or `connectorId.actionId`; `*` matches within one
 * part. A query costs at most a few string searches per entry with a `*`. No regular expression is made of the entries.
 */
export function compileActions(entries: readonly string[]): ActionMatcher {
  const parsed = entries.map((entry) => {
    const dot = entry.indexOf('.');
    const connector = dot === -1 ? '*' : entry.slice(0, dot);
    return { connector: compile(connector), pattern: entry.slice(dot + 1) };
  });
  const [exact = [], starred = []] = [false, true].map((isStarred) =>
    parsed.filter(({ pattern }) => pattern.includes('*') === isStarred),
  );
  const byActionId = Map.groupBy(exact, ({ pattern }) => pattern);
  const patterns = starred.map(({ connector, pattern }) => ({ connector, action: compile(pattern) }));
  return (connectorId, actionId) => {
    if (connectorId.length > LONGEST_TEXT || actionId.length > LONGEST_TEXT) return false;
    if (byActionId.get(actionId)?.some(({ connector }) => connector(connectorId))) return true;
    return patterns.some(({ connector, action }) => action(actionId) && connector(connectorId));
  };
}

/** Compiles a pattern in which `*` matches any text. */
function compile(pattern: string): (text: string) => boolean {
  const [head = '', ...pieces] = pattern.split('*');
  const tail = pieces.pop();
  if (tail === undefined) return (text) => text === pattern;
  return (text) => {
    const end = text.length - tail.length;
    if (end < head.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
    let from = head.length;
    // Each piece matches at its first place, which leaves the most text for the next pieces.
    return pieces.every((piece) => {
      const at = text.indexOf(piece, from);
      from = at + piece.length;
      return at !== -1 && from <= end;
    });
  };
}
