import type { Field, OperationFacts } from '../../../src/openapi/compare/field.ts';
import type { Extract, StoredField, StoredFields } from './fields.ts';

/** Returns an extract as text with a line for each operation. Members that occur several times are in `shared`. */
export function textOf({
  source,
  operations,
  graphql,
}: Pick<Extract, 'source' | 'graphql'> & { operations: Record<string, OperationFacts> }): string {
  const uses = new Map<string, number>();
  for (const { body, answer } of Object.values(operations))
    for (const one of [body, answer]) if (one) count(withoutLists(one), uses);
  const shared = new Map<string, string>();
  const lines = Object.entries(operations)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { deprecated, query, body, scopes, answer }]) => {
      const one = {
        deprecated,
        query: Object.fromEntries(Object.entries(query).map(([key, field]) => [key, withoutLists(field)])),
        scopes,
        ...(body ? { body: short(withoutLists(body), uses, shared) } : {}),
        ...(answer ? { answer: short(answer, uses, shared) } : {}),
      };
      return `${JSON.stringify(name)}: ${JSON.stringify(one)}`;
    });
  const head = `{"source": ${JSON.stringify(source)},\n"shared": [\n${[...shared.values()].join(',\n')}\n]`;
  const tail = graphql
    ? `,\n"graphql": [\n${graphql.map((line) => JSON.stringify(line)).join(',\n')}\n]`
    : '';
  return `${head},\n"operations": {\n${lines.join(',\n')}\n}${tail}}\n`;
}

/** Longer enums are lists of currencies, countries and such, which connectors leave open. */
const LONGEST_ENUM = 45;

function withoutLists({ of, ...facts }: Field): Field {
  if (facts.enum && facts.enum.length > LONGEST_ENUM) delete facts.enum;
  if (!of) return facts;
  const members = Object.entries(of).map(([name, one]): [string, Field] => [name, withoutLists(one)]);
  return { ...facts, of: Object.fromEntries(members) };
}

/** Shorter ones are written in place. */
const SHORTEST = 120;

function count(one: Field, uses: Map<string, number>): void {
  const text = JSON.stringify(one.of ?? {});
  if (text.length < SHORTEST) return;
  uses.set(text, (uses.get(text) ?? 0) + 1);
  for (const member of Object.values(one.of ?? {})) count(member, uses);
}

function short({ of, ...facts }: Field, uses: Map<string, number>, shared: Map<string, string>): StoredField {
  if (!of) return facts;
  const text = JSON.stringify(of);
  const inside = (): StoredFields =>
    Object.fromEntries(Object.entries(of).map(([name, one]) => [name, short(one, uses, shared)]));
  if ((uses.get(text) ?? 0) < 2) return { ...facts, of: inside() };
  // The members of a shared one are shared before it, because they have the lower positions.
  if (!shared.has(text)) {
    const written = JSON.stringify({ of: inside() });
    shared.set(text, written);
  }
  return { ...facts, shared: [...shared.keys()].indexOf(text) };
}
