import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { DAY, type Clock } from '../lib/clock.ts';
import type { Db } from './schema.ts';
import { FIELD_WEIGHTS, type SearchDocument, type SearchIndex } from './search.ts';

/** Weight labels of a tsvector, for the fields in their order. */
const LABELS = ['A', 'B', 'C', 'D'];
/** In the order of ts_rank(): from D to A. */
const WEIGHTS = FIELD_WEIGHTS.toReversed();
const DOCUMENTS_A_STATEMENT = 500;
/** How often documents are marked as used; documents without a mark for a week are deleted. */
const TOUCH_MS = DAY;

/**
 * Creates the same index in PostgreSQL's text search, with the same ranking. A document holds each of its terms once,
 * in its best field; ts_rank() makes that field's weight times 6/π² of it. Documents are rows by the hash of their
 * text, so that processes and releases share them. A change of the catalogue adds only new rows.
 */
export function createPostgresIndex(
  { db, clock }: { db: Db; clock: Clock },
  documents: Iterable<SearchDocument>,
): SearchIndex {
  const rows = [...documents].map(({ id, name, fields }) => {
    const terms = vectorOf(fields);
    return {
      id,
      terms,
      key: createHash('sha256').update(`${name} ${terms}`).digest('base64url').slice(0, 22),
    };
  });
  const keys = new Map(rows.map(({ id, key }) => [id, key]));
  const ids = new Map(rows.map(({ id, key }) => [key, id]));
  let touchedAt = -Infinity;
  let touching: Promise<void> | undefined;

  const touch = async () => {
    const now = clock.now();
    for (let at = 0; at < rows.length; at += DOCUMENTS_A_STATEMENT) {
      const some = rows.slice(at, at + DOCUMENTS_A_STATEMENT);
      await sql`
        insert into search_documents (document, terms, used_at)
        select document, terms::tsvector, ${now}
        from unnest(${some.map(({ key }) => key)}::text[], ${some.map(({ terms }) => terms)}::text[]) as t(document, terms)
        order by document
        on conflict (document) do update set used_at = excluded.used_at`.execute(db);
    }
    touchedAt = now;
  };

  return {
    async search({ terms, among, favoured, limit }) {
      if (clock.now() - touchedAt >= TOUCH_MS) {
        touching ??= touch().finally(() => (touching = undefined));
        await touching;
      }
      const allowed = among.map((id) => keys.get(id)).filter((key) => key !== undefined);
      const factors = among.filter((id) => keys.has(id)).map((id) => favoured.get(id) ?? 1);
      const words = terms.map(({ term }) => `'${term}'`);
      const found = await sql<{ document: string }>`
        with wanted as (
          select word::tsquery as word, grp, weight
          from unnest(${words}::text[], ${terms.map(({ group }) => group)}::int[], ${terms.map(({ weight }) => weight)}::float8[])
            as t(word, grp, weight)
        ), hits as (
          select a.document, a.place, a.factor, w.grp, max(w.weight * ts_rank(${WEIGHTS}::float4[], d.terms, w.word)) as score
          from unnest(${allowed}::text[], ${factors}::float8[]) with ordinality as a(document, factor, place)
          join search_documents d on d.document = a.document
          join wanted w on d.terms @@ w.word
          where d.terms @@ ${words.join(' | ')}::tsquery
          group by a.document, a.place, a.factor, w.grp
        )
        select document from hits group by document, place, factor
        order by round((sum(score) * factor)::numeric, 4) desc, place limit ${limit}`.execute(db);
      return found.rows.map(({ document }) => ids.get(document)).filter((id) => id !== undefined);
    },
    close() {},
  };
}

/** Returns `'order':1A 'list':2B`: each term in the best field that has it. */
function vectorOf(fields: SearchDocument['fields']): string {
  const best = new Map<string, number>();
  for (const [at, terms] of fields.entries()) {
    for (const term of terms) if (!best.has(term)) best.set(term, at);
  }
  return [...best].map(([term, at]) => `'${term}':${at + 1}${LABELS[at]}`).join(' ');
}
