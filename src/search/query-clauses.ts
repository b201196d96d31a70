import { conceptTerm, type Lexicon } from './lexicon.ts';
import { isSmall, vocabularyOf, type Part } from './vocabulary.ts';

/* The clauses of a request: which of their words order a kind of work, and which only mention it. */

/** Weights of a corrected word, of a word after a negation, and of a word in the content of a message. */
const CORRECTED_WEIGHT = 0.8;
const NEGATED_WEIGHT = 0.5;
const CONTENT_WEIGHT = 0.25;
/** Number of words that a negation covers. */
const NEGATED_WORDS = 5;

/** Kinds of work that only read. */
export const LOOKS = new Set(['read', 'list', 'search', 'download'].map(conceptTerm));
const DOWNLOAD = conceptTerm('download');
const NEW = conceptTerm('new');
/** Kinds of work that write to people. */
export const TALKS = new Set(['send', 'reply', 'comment', 'forward', 'message'].map(conceptTerm));

/** A word or phrase of a clause, with its role. */
export interface Role extends Part {
  things: readonly string[];
  /** Kinds of work that are asked for. */
  works: readonly string[];
  weight: number;
}

export interface Clause {
  roles: Role[];
  /** Begins with a negated order: `do not send it`. */
  refused: boolean;
  /** Begins with a word such as `then`. */
  further: boolean;
  negates: boolean;
  /** Begins with a question or with a verb that reads. */
  asks: boolean;
}

/** Splits the parts into clauses at words such as `and`. Lowers the weight of negated words and of message content. */
export function clausesOf(
  parts: readonly Part[],
  { order, corrected }: { order: readonly Lexicon[]; corrected: ReadonlySet<number> },
): Clause[] {
  const languages = order.slice(0, 2);
  // The first language with a word decides, because the Portuguese `no` negates nothing.
  const has = (kind: 'not' | 'and' | 'further' | 'content', part: Part) =>
    part.empty &&
    part.concepts.length === 0 &&
    part.texts.some((word) => languages.find((language) => isSmall(language, word))?.[kind].has(word));
  let clause: Clause = { roles: [], refused: false, further: false, negates: false, asks: false };
  const clauses = [clause];
  let negated = 0;
  let talks = false;
  let inContent = false;
  for (const part of parts) {
    if (has('and', part) && !inContent) {
      const further = has('further', part) || (clause.further && clause.roles.length === 0);
      clause = { roles: [], refused: false, further, negates: false, asks: false };
      clauses.push(clause);
      negated = 0;
      talks = false;
      continue;
    }
    inContent ||= has('content', part) && talks;
    if (has('not', part) && !inContent) {
      clause.refused ||= !clause.roles.some(({ things }) => things.length > 0);
      clause.negates = true;
      negated = NEGATED_WORDS;
    }
    talks ||= part.concepts.some((concept) => TALKS.has(concept));
    const isCorrected = part.positions.some((place) => corrected.has(place));
    const mutedWeight = inContent ? CONTENT_WEIGHT : negated > 0 ? NEGATED_WEIGHT : 0;
    clause.roles.push(roleOf(part, mutedWeight || (isCorrected ? CORRECTED_WEIGHT : 1), mutedWeight > 0));
    negated -= 1;
  }
  return clauses
    .filter(({ roles }) => roles.length > 0)
    .map((one) => withoutNouns(withoutStates(one, languages)));
}

/**
 * Removes the kinds of work that a clause does not order, because it asks about them or names a state: `who cancelled it`, `the
 * cancelled orders`. Reading stays.
 */
function withoutStates(clause: Clause, languages: readonly Lexicon[]): Clause {
  const { roles } = clause;
  const [first = '', second = ''] = roles.flatMap(({ texts }) => texts);
  const has = (kind: 'can' | 'wish', role: Role) =>
    role.texts.some((text) => languages.some((language) => language[kind].has(text)));
  const asks =
    languages.some(({ ask }) => ask.has(first) || ask.has(`${first} ${second}`)) &&
    !roles.some((role) => has('can', role));
  const isState = ({ texts }: Role, at: number) =>
    isAdjective(roles, at) ||
    (languages.some(({ state }) => state.test(texts[0] ?? '')) &&
      !roles.slice(0, at).some((role) => has('wish', role)));
  let hasState = false;
  const ordered = roles.map((role, at) => {
    const works = role.works.filter((work) => LOOKS.has(work));
    if (works.length === role.works.length || !(asks || isState(role, at))) return role;
    hasState = true;
    return { ...role, works };
  });
  return {
    ...clause,
    roles: ordered,
    negates: clause.negates || hasState,
    asks: hasState || asks || beginsReading(roles, languages),
  };
}

/** Returns whether a word stands between an English article and a thing: `the open issues`. */
function isAdjective(roles: readonly Role[], at: number): boolean {
  const { before } = vocabularyOf().english;
  const [article = ''] = roles[at - 1]?.texts ?? [];
  return before.has(article) && (roles[at + 1]?.things.length ?? 0) > 0 && roles[at]?.things.length === 0;
}

/** Returns whether the first verb only reads. `get` and `need` do not decide, because `get it approved` is an order. */
function beginsReading(roles: readonly Role[], languages: readonly Lexicon[]): boolean {
  const { works = [], texts = [] } = roles.find(({ empty }) => !empty) ?? {};
  if (texts.some((text) => languages.some(({ wish }) => wish.has(text)))) return false;
  return works.length > 0 && works.every((work) => LOOKS.has(work) && work !== DOWNLOAD);
}

function roleOf(part: Part, weight: number, isMuted: boolean): Role {
  const { things, works } = vocabularyOf();
  const isNoun = part.isPlural && part.concepts.some((concept) => things.has(concept));
  return {
    ...part,
    things: part.empty ? [] : part.concepts.filter((concept) => things.has(concept)),
    works: isMuted || isNoun ? [] : part.concepts.filter((concept) => works.has(concept)),
    weight,
  };
}

/**
 * Reads a word such as `file` or `issue` as a thing, unless it begins the clause or is its only kind of work. `new` asks
 * to create something only where the clause names no other work.
 */
function withoutNouns(clause: Clause): Clause {
  const { roles } = clause;
  const first = roles.find(({ empty }) => !empty);
  const isNoun = ({ things, works }: Role) =>
    works.length > 0 && things.some((thing) => !works.includes(thing));
  const isOrder = (role: Role) => role.works.length > 0 && !role.works.includes(NEW);
  const hasOrder = roles.some((role) => isOrder(role) && (role === first || !isNoun(role)));
  const worksIn = (role: Role) => {
    if (role.works.includes(NEW)) return roles.some(isOrder) ? [] : [conceptTerm('create')];
    return hasOrder && role !== first && isNoun(role) && !isTalk(role) ? [] : role.works;
  };
  return { ...clause, roles: roles.map((role) => ({ ...role, works: worksIn(role) })) };
}

function isTalk({ works }: Role): boolean {
  return works.some((work) => TALKS.has(work));
}
