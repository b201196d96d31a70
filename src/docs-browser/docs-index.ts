import MiniSearch, { type SearchResult } from 'minisearch';

/** A part of a page, as the build writes it: see src/docs/site.ts. */
export interface Entry {
  at: string;
  page: string;
  heading: string;
  text: string;
}

export interface Found extends Entry {
  /** The words of the text that match, in lower case. */
  words: string[];
}

export type Search = (text: string) => Found[];

const MAX_RESULTS = 30;
/** Shorter words have too many neighbours at a distance of one letter. */
const MIN_FUZZY_LENGTH = 4;

/** Words of questions that say nothing about a page. */
const STOP_WORDS = new Set(
  'a an and are as at be by can could did do does for from get has have how i if in into is it its me my of on or our should that the their them there these this to use using was we what when where which who why will with would you your'.split(
    ' ',
  ),
);
/** Other words of the pages for words of people. */
const SYNONYMS: Readonly<Partial<Record<string, readonly string[]>>> = {
  arrive: ['deliveries', 'attempts'],
  forgot: ['rotate'],
  lost: ['rotate'],
  invalid: ['verify'],
  langchain: ['own agent'],
  multi: ['end users'],
  tenant: ['end users'],
  python: ['own agent'],
  erase: ['delete'],
  remove: ['delete'],
  stored: ['master key'],
};

const REFERENCE = /^(api\/|connector-fields|metrics|errors|command-line|data-model|performance)/;

/** Pages for those who write connectors, or judge the security of Gatehouse. */
const SPECIAL = /^(connector|threat-model|remote-mcp)/;

/** Returns the search over the entries of the pages. */
export function searchOf(entries: Entry[]): Search {
  const index = new MiniSearch<Entry>({
    idField: 'at',
    fields: ['heading', 'page', 'text'],
    searchOptions: {
      boost: { heading: 4, page: 3 },
      // Guides come before reference pages, whose words repeat.
      boostDocument: (at) => (REFERENCE.test(String(at)) ? 0.4 : SPECIAL.test(String(at)) ? 0.5 : 1),
      prefix: true,
      fuzzy: (term) => (term.length >= MIN_FUZZY_LENGTH ? 0.2 : false),
      combineWith: 'AND',
    },
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== ''),
  });
  index.addAll(entries);
  const byPlace = new Map(entries.map((entry) => [entry.at, entry]));
  return (text) =>
    matches(index, text)
      .slice(0, MAX_RESULTS)
      .flatMap(({ id, terms }) => {
        const entry = byPlace.get(String(id));
        return entry ? [{ ...entry, words: terms }] : [];
      });
}

/** Returns the entries with all words of a question, else those with some, the words of people replaced. */
function matches(index: MiniSearch<Entry>, text: string): SearchResult[] {
  const words = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((word) => word !== '');
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const wanted = telling.length > 0 ? telling : words;
  const all = wanted.some((word) => Object.hasOwn(SYNONYMS, word)) ? [] : index.search(wanted.join(' '));
  if (all.length > 0) return all;
  const queries = wanted.map((word) => ({
    combineWith: 'OR' as const,
    // The words of people may stand on other pages by chance, so those of the pages count instead.
    queries: SYNONYMS[word]
      ? SYNONYMS[word].map((text) => ({ combineWith: 'AND' as const, queries: text.split(' ') }))
      : [word],
  }));
  const alike = index.search({ combineWith: 'AND', queries });
  return alike.length > 0 ? alike : index.search({ combineWith: 'OR', queries });
}
