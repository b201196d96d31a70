import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { packagePath } from '../package.ts';

/** The languages of the search. Each is a file of data/words. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'pt'] as const;

const words = z.array(z.string().min(1));

/**
 * Lists of words for concepts, which all languages share by name. An entry is a word or a phrase, without accents, and a
 * phrase matches only as a whole. A word with `*` at its end matches every word that begins so. Other words may stand at
 * `…`.
 */
const concepts = z.record(z.string(), words);

/** The words of a language for the search of actions. Words for one action only stand in the `synonyms` of its connector file. */
const wordLists = z.strictObject({
  /** Words for the same thing. */
  things: concepts,
  /** Words for the kinds of work. kindsOf() derives an action's own kind of work from its effect and method. */
  work: concepts,
  /** Words without meaning for a search. They are removed after phrases are matched. */
  empty: words,
  /** Words that negate what follows. */
  not: words,
  /** Words between two steps of a request. */
  and: words,
  /** Words that begin a further step, also one without a verb. */
  further: words,
  /** Words after a negated step that begin the wanted one. */
  but: words,
  /** Words that begin the content of a message: `tell Ada that …`. */
  content: words,
  /** Words, or pairs of words, that begin a question: `did anyone cancel it`. */
  ask: words,
  /** Words with which a question is an order: `could you cancel it`. */
  can: words,
  /** Words that ask for a state: `it should be cancelled`. */
  wish: words,
  /** Pattern of the forms of a verb that name a state: `cancelled`. */
  state: z.string().min(1),
  /** Words before a thing, such as articles. A word before them at the beginning of a clause is a verb. */
  before: words,
});
export type WordLists = z.infer<typeof wordLists>;

/** Reads the words of a language from data/words/<language>.json. */
export function readWordLists(language: (typeof LANGUAGES)[number]): WordLists {
  return wordLists.parse(JSON.parse(readFileSync(packagePath(`data/words/${language}.json`), 'utf8')));
}
