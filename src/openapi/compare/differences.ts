import { nearestNames } from '../../lib/words.ts';
import type { Field, OperationFacts } from './field.ts';
import { neededPaths } from './needed.ts';
import { type OwnAction, type Sent, sentBody, sentQuery } from './sent.ts';

/** A difference between an action and the operation of a vendor's document. */
export interface Difference {
  kind:
    | 'address'
    | 'noOperation'
    | 'deprecated'
    | 'scopes'
    | 'ownScopes'
    | 'unknown'
    | 'notSent'
    | 'optional'
    | 'value'
    | 'over'
    | 'missing';
  actionId: string;
  /** Dotted path in the connector file. */
  path: string;
  /** Place in the request or the answer, by names on the wire; empty for the whole action. */
  at: readonly string[];
  /** The value, the limit or the scopes that the sentence names. */
  value?: string;
  /** Names or values that may have been meant. */
  near?: readonly string[];
}

/** Returns the differences of the scopes, the query, the body and the answer. */
export function operationDifferences(own: OwnAction, facts: OperationFacts): Difference[] {
  const { id } = own;
  return [
    ...(facts.deprecated
      ? [{ kind: 'deprecated' as const, actionId: id, path: `actions.${id}.request`, at: [] }]
      : []),
    ...scopeDifferences(own, facts),
    ...contentDifferences(own, facts),
  ];
}

/** Returns the differences of the query, the body and the answer. */
export function contentDifferences(own: OwnAction, facts: OperationFacts): Difference[] {
  const place = { actionId: own.id, at: [] };
  return [
    ...sentDifferences(place, sentQuery(own), { of: facts.query }),
    ...(own.action.bodyMap === undefined ? sentDifferences(place, sentBody(own), facts.body ?? {}) : []),
    ...answerDifferences(own, facts.answer ?? {}),
  ];
}

function answerDifferences(own: OwnAction, answer: Field): Difference[] {
  const found = new Map<string, Difference>();
  for (const { steps, from } of neededPaths(own)) {
    const missing = missingIn(answer, steps);
    if (!missing || found.has(missing.at.join('.'))) continue;
    found.set(missing.at.join('.'), { kind: 'missing', actionId: own.id, path: from, ...missing });
  }
  return [...found.values()];
}

function scopeDifferences({ definition, id, action }: OwnAction, { scopes }: OperationFacts): Difference[] {
  const byOAuth = !action.authentication || action.authentication.includes('oauth2');
  const schemes = definition.authentication;
  const asked = schemes.flatMap((scheme) => ('scopes' in scheme ? scheme.scopes : []));
  if (!byOAuth || !scopes || asked.length === 0) return [];
  const named = action.scopes.flat();
  const enough = (given: string[]) => scopes.some((all) => all.every((one) => given.includes(one)));
  const value = scopes.map((all) => all.join(' and ')).join(', ');
  const scheme = schemes.findIndex((one) => 'scopes' in one && one.scopes.length > 0);
  const about = { actionId: id, at: [], value };
  const near = (given: string[]) => [
    ...new Set(scopes.flat().flatMap((one) => nearestNames(one, given).slice(0, 1))),
  ];
  return [
    ...(enough([...asked, ...named])
      ? []
      : [
          {
            kind: 'scopes' as const,
            path: `authentication.${scheme}.scopes`,
            ...about,
            near: near([...asked, ...named]),
          },
        ]),
    ...(named.length === 0 || enough(named)
      ? []
      : [{ kind: 'ownScopes' as const, path: `actions.${id}.scopes`, ...about, near: near(named) }]),
  ];
}

/** Returns the differences between what is sent and what a document describes. */
export function sentDifferences(
  place: { actionId: string; at: readonly string[] },
  { of: sent, open, always, from }: Sent,
  { of: known, open: more }: Field,
): Difference[] {
  if (!known) return [];
  const inside = (name: string) => ({ ...place, at: [...place.at, name] });
  // An optional object with one member is not sent without that member.
  const alone = sent.size === 1 && !always && place.at.length > 0;
  const free = Object.keys(known).filter((name) => !sent.has(name));
  const found: Difference[] = [];
  for (const [name, own] of more ? [] : sent)
    if (!Object.hasOwn(known, name))
      found.push({ kind: 'unknown', ...inside(name), path: own.from, near: nearestNames(name, free) });
  for (const [name, field] of Object.entries(known)) {
    const own = sent.get(name);
    if (!own) {
      if (field.required && !open) found.push({ kind: 'notSent', ...inside(name), path: from });
      continue;
    }
    const about = { ...inside(name), path: own.from };
    if (field.deprecated) found.push({ kind: 'deprecated', ...about });
    if (field.required && !own.always && !alone) found.push({ kind: 'optional', ...about });
    found.push(...valueDifferences(about, own, field), ...sentDifferences(inside(name), own, field));
  }
  return found;
}

/** Returns values that a document does not name, and a number that is larger than it allows. */
export function valueDifferences(
  about: Pick<Difference, 'actionId' | 'at' | 'path'>,
  own: Sent,
  { enum: values, max }: Field,
): Difference[] {
  // Values of YAML without quotes may have another type than their schema. The types are compared elsewhere.
  const named = new Set(values?.map(String));
  const ours = new Set(own.enum.map(String));
  const strange = values
    ? own.enum.filter((one) => one !== null && one !== '' && !named.has(String(one)))
    : [];
  const free = [...named].filter((one) => !ours.has(one));
  const over = max !== undefined && own.max !== undefined && own.max > max;
  return [
    ...strange.map((one) => ({
      kind: 'value' as const,
      ...about,
      value: String(one),
      near: nearestNames(String(one), free),
    })),
    ...(over ? [{ kind: 'over' as const, ...about, value: String(max) }] : []),
  ];
}

/** Returns the path to the first part that an answer does not have. */
function missingIn({ of, open }: Field, steps: string[]): { at: string[]; near: string[] } | undefined {
  const [step, ...rest] = steps;
  if (!of || step === undefined) return undefined;
  const next = Object.hasOwn(of, step) ? of[step] : undefined;
  if (!next) return open ? undefined : { at: [step], near: nearestNames(step, Object.keys(of)) };
  const missing = missingIn(next, rest);
  return missing && { at: [step, ...missing.at], near: missing.near };
}
