import Sqlite from 'better-sqlite3';

/**
 * A document as its terms, in fields of falling weight. Terms are letters, digits and `_`; a field holds each term
 * once.
 */
export interface SearchDocument {
  id: number;
  fields: readonly (readonly string[])[];
}

/** A term to look for. Terms with the same `group` are synonyms: the best one that a document has counts. */
export interface SearchTerm {
  term: string;
  group: number;
  weight: number;
}

export interface SearchQuery {
  terms: readonly SearchTerm[];
  /** Ids of the documents that may be found. */
  among: readonly number[];
  /** Factor of a document's score; 1 for documents not named. */
  favoured: ReadonlyMap<number, number>;
  limit: number;
}

export interface SearchIndex {
  /** Returns the best documents with their scores, best first. */
  search(query: SearchQuery): { id: number; score: number }[];
  close(): void;
}

/** Weight of a term in each field. */
const FIELD_WEIGHTS = [1, 0.8, 0.4, 0.15] as const;
const FIELDS = FIELD_WEIGHTS.map((_, at) => `f${at}`);

/**
 * Creates a full-text index in memory (SQLite FTS5). A document scores the sum of its groups; equal scores are ordered
 * by id.
 */
export function createSearchIndex(documents: Iterable<SearchDocument>): SearchIndex {
  const sqlite = new Sqlite(':memory:');
  sqlite.exec(
    `create virtual table documents using fts5(${FIELDS.join(', ')}, tokenize = "unicode61 tokenchars '_'", detail = column);
     create virtual table postings using fts5vocab(documents, instance)`,
  );
  const insert = sqlite.prepare(
    `insert into documents (rowid, ${FIELDS.join(', ')}) values (?${', ?'.repeat(FIELDS.length)})`,
  );
  sqlite.transaction(() => {
    for (const { id, fields } of documents) insert.run(id, ...fields.map((terms) => terms.join(' ')));
  })();
  const weights = FIELD_WEIGHTS.map((weight, at) => `when 'f${at}' then ${weight}`).join(' ');
  const select = sqlite.prepare<[string, string, string, number], { id: number; score: number }>(
    `with hits as (
       select p.doc as id, max((t.value ->> 2) * case p.col ${weights} end) as score
       from json_each(?) t join postings p on p.term = t.value ->> 0
       where p.doc in (select value from json_each(?))
       group by p.doc, t.value ->> 1
     ), favoured as materialized (select value ->> 0 as id, value ->> 1 as factor from json_each(?))
     select hits.id, round(sum(score) * coalesce(factor, 1), 4) as score
     from hits left join favoured on favoured.id = hits.id
     group by hits.id order by 2 desc, hits.id limit ?`,
  );
  return {
    search({ terms, among, favoured, limit }) {
      return select.all(
        JSON.stringify(terms.map(({ term, group, weight }) => [term, group, weight])),
        JSON.stringify(among),
        JSON.stringify([...favoured]),
        limit,
      );
    },
    close: () => void sqlite.close(),
  };
}
