import { stemOf } from '../lib/words.ts';
import { clausesOf, LOOKS, TALKS, type Clause, type Role } from './query-clauses.ts';
import { conceptTerm, tokensOf, type Lexicon, type Token } from './lexicon.ts';
import type { Correct } from './spelling.ts';
import { partsOf, vocabularyOf, type Part } from './vocabulary.ts';

/** A term that a step asks for. Terms with the same `group` are synonyms. */
export interface WantedTerm {
  term: string;
  group: number;
  weight: number;
  /** Whether it says the work alone, so that it also fits actions on other things. */
  isWork: boolean;
}

/** One step of a request, such as `find the unpaid invoices`. */
export interface Step {
  terms: WantedTerm[];
  /** Stems and concepts of all words, which may name an app. */
  words: ReadonlySet<string>;
  /** Stems of the words with a meaning of their own. */
  content: readonly string[];
  /**
   * Stems of all words in the order in which each came first, including those of idioms. Names of apps and a small word before
   * one, such as `in Xero`, are left out.
   */
  said: ReadonlySet<string>;
  /** Kinds of work that it asks for, as terms. */
  works: ReadonlySet<string>;
  /** Whether it only reads, because it has a negation and names no work: `invoices that are not paid`. */
  reads: boolean;
  /** Whether it asks: it names no work but reading, and begins with a question or a verb that reads, or names a state. */
  asks: boolean;
  /** Whether each of its words is a kind of work, as in `delete`. */
  isBare: boolean;
  /** Whether it names a thing, such as an invoice. */
  hasThing: boolean;
}

/** Parts of the index that show the meaning of a query's words. */
export interface KnownTerms {
  isTerm(stem: string): boolean;
  correct: Correct;
  /** Returns the word of an app's name that differs in one letter. */
  correctName(word: string): Token | undefined;
  /** Returns those words and concepts that name an app. */
  appWords(words: ReadonlySet<string>): ReadonlySet<string>;
}

/** Limits for one query: words that are looked up, unknown words that are corrected, and steps. */
const MAX_WORDS = 50;
const MAX_CORRECTED = 8;
const MAX_STEPS = 4;
/** Weight of a synonym, relative to the word itself. */
const CONCEPT_WEIGHT = 0.8;
/** Weight of a single word of a phrase, relative to the phrase. */
const PART_WEIGHT = 0.4;
/** Weight of reading for a step without a kind of work. */
const READ_WEIGHT = 0.5;
/** Weight of the previous step's things in a step that names no thing. */
const EARLIER_WEIGHT = 0.5;
/** Weights of the second and later things of a step, of people who get a message, and of an app's name. */
const LATER_WEIGHT = 0.8;
const PEOPLE_WEIGHT = 0.5;
const APP_WEIGHT = 0.5;
const READ = conceptTerm('read');
const PEOPLE = new Set(['customer', 'supplier', 'contact', 'company', 'user', 'bank'].map(conceptTerm));
/** The name of a channel in the text: `#ops`, not `#12`. */
const CHANNEL = /(^|\s)#(?=\p{L})/gu;
/** A name such as `QuickBooks`, which holds other words. */
const CAMEL_CASE = /\p{L}*\p{Ll}\p{Lu}\p{L}*/gu;
const ELISION = /(^|[\s(«"])(c|d|j|l|m|n|s|t|qu|jusqu|lorsqu)['’](?=\p{L})/giu;

/** Returns the steps of a query, in their order; none for a query without a word to search for. */
export function readQuery(query: string, known: KnownTerms): Step[] {
  const chunks = query
    .replaceAll(ELISION, '$1$2 ')
    .replaceAll(CAMEL_CASE, (name) => (known.isTerm(stemOf(name.toLowerCase())) ? name.toLowerCase() : name))
    .replaceAll(CHANNEL, '$1 channel ')
    .split(/[,;.!?\n]+(?=\s|$)/u)
    .map(tokensOf);
  const order = languagesOf(chunks.flat());
  let left = MAX_CORRECTED;
  let words = MAX_WORDS;
  const clauses = chunks.flatMap((chunk) => {
    const tokens = chunk.slice(0, words);
    words -= tokens.length;
    const { parts, corrected } = spelt(tokens, order, { known, most: left });
    left -= corrected.size;
    return clausesOf(parts, { order, corrected });
  });
  return stepsOf(withoutRefused(clauses), known);
}

/** Returns the languages: the most likely one first, then English, then the others. */
function languagesOf(tokens: readonly Token[]): Lexicon[] {
  const { lexicons, english } = vocabularyOf();
  const scored = lexicons.map((lexicon) => ({ lexicon, score: likelihood(lexicon, tokens) }));
  scored.sort((a, b) => b.score - a.score);
  const first = scored[0]?.lexicon ?? english;
  const others = scored.map(({ lexicon }) => lexicon).filter((one) => one !== first && one !== english);
  return [...new Set([first, english, ...others])];
}

function likelihood(lexicon: Lexicon, tokens: readonly Token[]): number {
  const { empty, not, and } = lexicon;
  const small = tokens.filter(({ word }) => empty.has(word) || not.has(word) || and.has(word));
  const parts = partsOf(tokens, [lexicon]).filter((part) => part.concepts.length > 0 && !part.empty);
  return small.length + 0.6 * parts.length;
}

/** Returns the parts with unknown words corrected, and the positions of those words. */
function spelt(
  tokens: readonly Token[],
  order: readonly Lexicon[],
  { known, most }: { known: KnownTerms; most: number },
): { parts: Part[]; corrected: ReadonlySet<number> } {
  const isTerm = (stem: string) => known.isTerm(stem);
  const parts = partsOf(tokens, order, isTerm);
  const better = [...tokens];
  const corrected = new Set<number>();
  const [preferred = vocabularyOf().english] = order;
  for (const { known: isKnown, isBeginning, positions } of parts) {
    const [at = 0] = positions;
    if ((isKnown && !isBeginning) || corrected.size >= most) continue;
    const word = tokens[at]?.word ?? '';
    const token = isKnown ? known.correctName(word) : known.correct(word, preferred);
    if (!token) continue;
    better[at] = token;
    corrected.add(at);
  }
  return { parts: corrected.size === 0 ? parts : partsOf(better, order, isTerm), corrected };
}

/** Removes what the user does not want: `do not send it, only write a draft`. */
function withoutRefused(clauses: readonly Clause[]): Clause[] {
  const wanted = clauses.filter(
    ({ refused, roles }) => !refused && (worksOf(roles).length > 0 || hasThing(roles)),
  );
  return wanted.length === 0 ? [...clauses] : clauses.filter(({ refused }) => !refused);
}

function worksOf(roles: readonly Role[]): string[] {
  return roles.flatMap(({ works }) => works);
}

/** Returns the kinds of work that a step asks for: those of its first verb, or all when the first one only reads. */
function decisive(roles: readonly Role[]): string[] {
  const first = roles.find(({ works }) => works.length > 0)?.works ?? [];
  return first.every((work) => work === READ) ? worksOf(roles) : [...first];
}

function hasThing(roles: readonly Role[]): boolean {
  return roles.some(({ things }) => things.length > 0);
}

function stepsOf(clauses: readonly Clause[], known: KnownTerms): Step[] {
  const steps: Clause[] = [];
  for (const clause of clauses) {
    const last = steps.at(-1);
    const works = worksOf(clause.roles);
    const isOwn = clause.further ? hasThing(clause.roles) : works.some((work) => !LOOKS.has(work));
    const isComplete =
      last &&
      (hasObject(last, known) ||
        (beginsWithVerb(last.roles) && hasThing(last.roles) && namesThing(clause.roles, known)));
    if (!last || (isOwn && isComplete && steps.length < MAX_STEPS)) {
      steps.push({ ...clause, roles: [...clause.roles] });
      continue;
    }
    last.roles.push(...clause.roles);
    last.negates ||= clause.negates;
  }
  const read = steps.map((step, at) => stepOf(step, steps[at - 1]?.roles ?? [], known));
  const searched = read.filter(({ terms }) => terms.length > 0);
  // An idiom such as `who is late` has no term. Only the index of phrases finds its action.
  return searched.length > 0 ? searched : read.slice(0, 1);
}

/** Returns whether a clause has a kind of work and also an object of that work. */
function hasObject({ roles }: Clause, known: KnownTerms): boolean {
  return (
    worksOf(roles).length > 0 &&
    (hasThing(roles) || roles.some(({ empty, words }) => !empty && words.some((word) => known.isTerm(word))))
  );
}

/** Returns whether a clause names a thing or an app. */
function namesThing(roles: readonly Role[], known: KnownTerms): boolean {
  return hasThing(roles) || known.appWords(new Set(roles.flatMap(({ words }) => words))).size > 0;
}

/** Returns whether a clause begins with an unknown word before an article: `snag the newest order`. */
function beginsWithVerb(roles: readonly Role[]): boolean {
  const at = roles.findIndex(({ empty }) => !empty);
  const verb = roles[at];
  if (!verb || verb.concepts.length > 0) return false;
  // A pronoun may stand between them: `snag me the newest order`.
  const [next, later] = roles
    .slice(at + 1, at + 3)
    .map(({ texts, empty }) => (empty ? (texts[0] ?? '') : undefined));
  return vocabularyOf().lexicons.some(({ before }) =>
    [next, next === undefined ? undefined : later].some((text) => text !== undefined && before.has(text)),
  );
}

function stepOf({ roles, negates, asks }: Clause, before: readonly Role[], known: KnownTerms): Step {
  const words = new Set(roles.flatMap((role) => [...role.words, ...role.concepts]));
  const appWords = known.appWords(words);
  const isApp = (role: Role) => [...role.words, ...role.things].some((word) => appWords.has(word));
  const objects = roles.filter((role) => role.things.length > 0 && !isApp(role));
  const ownWorks = decisive(roles);
  const earlier = objects.length > 0 ? [] : before.filter(({ things }) => things.length > 0);
  const works = ownWorks.length > 0 ? ownWorks : negates ? [] : decisive(before);
  const talks = works.some((work) => TALKS.has(work));
  const weighted = [
    ...roles.map((role) => {
      const isPerson = talks && role.things.some((thing) => PEOPLE.has(thing));
      const isLater = objects.indexOf(role) > 0 && role.works.length === 0;
      const factor =
        isApp(role) && role.things.length > 0
          ? APP_WEIGHT
          : isPerson
            ? PEOPLE_WEIGHT
            : isLater
              ? LATER_WEIGHT
              : 1;
      return { ...role, weight: role.weight * factor };
    }),
    ...earlier.map((role) => ({ ...role, works: [], weight: role.weight * EARLIER_WEIGHT })),
  ];
  const terms = termsOf(weighted, known);
  if (ownWorks.length === 0 && terms.length > 0) {
    const more = works.length > 0 ? works : [READ];
    terms.push(
      ...more
        .map((term) => ({ term, group: -1, weight: READ_WEIGHT, isWork: true }))
        .filter(({ term }) => known.isTerm(term)),
    );
  }
  return {
    terms,
    words,
    content: [...new Set(roles.flatMap((role) => (role.empty ? [] : role.words)))],
    said: new Set(
      roles.flatMap((role, at) => {
        const next = roles[at + 1];
        return isApp(role) || (role.empty && next && isApp(next)) ? [] : role.said;
      }),
    ),
    works: new Set(works),
    reads: works.length === 0 && negates,
    asks: asks && works.every((work) => LOOKS.has(work)),
    isBare: roles.every((role) => role.empty || isWorkAlone(role)),
    hasThing: hasThing(weighted),
  };
}

function termsOf(roles: readonly Role[], known: KnownTerms): WantedTerm[] {
  const terms: WantedTerm[] = [];
  let group = 0;
  const add = (term: string, weight: number, isWork: boolean) => {
    if (known.isTerm(term)) terms.push({ term, group, weight, isWork });
  };
  for (const role of roles) {
    const { words, things, works, positions, empty, weight } = role;
    const isWork = isWorkAlone(role);
    for (const word of empty ? [] : words) {
      add(word, weight * (words.length > 1 ? PART_WEIGHT : 1), isWork);
      if (words.length > 1) group += 1;
    }
    for (const thing of things) add(thing, weight * (words.length === 1 ? CONCEPT_WEIGHT : 1), false);
    if (things.length > 0) group += 1;
    for (const work of works) {
      if (!things.includes(work))
        add(work, weight * (words.length === 1 ? CONCEPT_WEIGHT : 1), positions.length === 1);
    }
    group += 1;
  }
  return terms;
}

/** Returns whether a single word says a kind of work, and no thing. A phrase such as `get … together` says more. */
function isWorkAlone({ concepts, things, positions }: Role): boolean {
  return concepts.length > 0 && things.length === 0 && positions.length === 1;
}
