import Sqlite from 'better-sqlite3';

/** What is searched: texts in falling weight. */
export interface SearchDocument {
  id: number;
  /** Name and identifier. */
  title: string;
  /** Other words for it. */
  synonyms: string;
  description: string;
  /** Parameters and the like. */
  details: string;
}

export interface SearchIndex {
  /** Ids of the best documents among `among`, best first. */
  search(query: string, among: readonly number[], limit: number): number[];
  close(): void;
}

/**
 * A full-text index in memory (SQLite FTS5, BM25, English stems). What is searched is in memory too and equal in every
 * process, so it serves either database, and nothing has to be kept in step.
 */
export function createSearchIndex(documents: Iterable<SearchDocument>): SearchIndex {
  const sqlite = new Sqlite(':memory:');
  sqlite.exec(
    `create virtual table documents using fts5(title, synonyms, description, details, tokenize = 'porter unicode61')`,
  );
  const insert = sqlite.prepare(
    'insert into documents (rowid, title, synonyms, description, details) values (?, ?, ?, ?, ?)',
  );
  sqlite.transaction(() => {
    for (const { id, title, synonyms, description, details } of documents) {
      insert.run(id, words(title), words(synonyms), words(description), words(details));
    }
  })();
  const select = sqlite.prepare<[string, string, number], { rowid: number }>(
    `select rowid from documents
     where documents match ? and rowid in (select value from json_each(?))
     order by bm25(documents, 8, 6, 3, 1), rowid limit ?`,
  );
  return {
    search(query, among, limit) {
      const terms = words(query)
        .split(' ')
        .filter((word) => word !== '' && !STOP_WORDS.has(word));
      if (terms.length === 0) return [];
      const match = terms
        .slice(0, 32)
        .map((term) => `"${term}" OR "${term}"*`)
        .join(' OR ');
      return select.all(match, JSON.stringify(among), limit).map((row) => row.rowid);
    },
    close: () => void sqlite.close(),
  };
}

/** Words that say nothing about what is wanted. */
const STOP_WORDS = new Set(
  'a all an and any are as at be by can do for from have how i in into is it its me my of on or our please that the their them there this to us want was we what when which who with you your'.split(
    ' ',
  ),
);

/** Lower-case words; identifiers are split at `_`, `-`, `.` and inside camelCase. */
function words(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
