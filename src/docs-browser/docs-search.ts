import MiniSearch from 'minisearch';

/** A part of a page, as the build writes it: see src/docs/site.ts. */
interface Entry {
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

const REFERENCE = /^(api\/|connector-fields|metrics|errors|command-line|data-model|performance)/;

/** Loads the entries and makes the index of them. */
export async function openSearch(): Promise<Search> {
  const answer = await fetch(`${document.documentElement.dataset['assets']}search.json`);
  if (!answer.ok) throw new Error(`search.json: ${answer.status}`);
  const entries: Entry[] = await answer.json();
  const index = new MiniSearch<Entry>({
    idField: 'at',
    fields: ['heading', 'page', 'text'],
    searchOptions: {
      boost: { heading: 4, page: 3 },
      // Guides come before reference pages, whose words repeat.
      boostDocument: (at) => (REFERENCE.test(String(at)) ? 0.4 : 1),
      prefix: true,
      fuzzy: (term) => (term.length >= MIN_FUZZY_LENGTH ? 0.2 : false),
      combineWith: 'AND',
    },
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== ''),
  });
  index.addAll(entries);
  const byPlace = new Map(entries.map((entry) => [entry.at, entry]));
  return (text) =>
    index
      .search(text)
      .slice(0, MAX_RESULTS)
      .flatMap(({ id, terms }) => {
        const entry = byPlace.get(String(id));
        return entry ? [{ ...entry, words: terms }] : [];
      });
}
