import { buildSchema } from 'graphql';
import type { ActionDefinition, ConnectorFile } from '../../../src/connectors/format.ts';
import type { Extract, Field, Operation } from './fields.ts';
import { shape } from './fields.ts';
import { documentFacts, documentFaults } from './graphql.ts';
import { neededPaths } from './needed.ts';
import { type Sent, sentBody, sentQuery } from './own.ts';

/** Returns the differences between a connector and the document of its vendor. */
export function differencesOf(definition: ConnectorFile, { operations, graphql }: Extract): string[] {
  const schema = graphql === undefined ? undefined : buildSchema(graphql.join('\n'));
  return Object.entries(definition.actions).flatMap(([id, action]) => {
    if (action.graphql && schema) {
      const faults = documentFaults(schema, action);
      if (faults.length > 0) return faults.map((one) => `${id}: ${one}`);
      return contentDifferences(definition, id, action, { query: {}, ...documentFacts(schema, action) });
    }
    const [method = '', path = ''] = action.request.split(' ');
    const operation = operations[`${method} ${shape(path)}`];
    if (!operation) return [`${id}: no operation`];
    return [
      ...(operation.deprecated ? [`${id}: deprecated`] : []),
      ...scopeDifferences(definition, action, operation).map((one) => `${id}: ${one}`),
      ...contentDifferences(definition, id, action, operation),
    ];
  });
}

/** Returns a scope without its suffix. Slack's scopes of 2021 named who writes; those of today do not. */
function currentScope(scope: string): string {
  return scope.replace(/:(?:user|bot)$/, '');
}

function contentDifferences(
  definition: ConnectorFile,
  id: string,
  action: ActionDefinition,
  facts: Operation,
): string[] {
  return [
    ...sentDifferences(id, sentQuery(definition, action), { of: facts.query }),
    ...sentDifferences(id, sentBody(definition, action), facts.body ?? {}),
    ...new Set(
      neededPaths(definition, action)
        .flatMap((steps) => missingIn(facts.answer ?? {}, steps) ?? [])
        .map((path) => `${id}: no ${path} in the answer`),
    ),
  ];
}

function scopeDifferences(
  definition: ConnectorFile,
  action: ActionDefinition,
  operation: Operation,
): string[] {
  const scopes = operation.scopes?.map((all) => all.map(currentScope));
  const byOAuth = !action.authentication || action.authentication.includes('oauth2');
  const asked = definition.authentication.flatMap((scheme) => ('scopes' in scheme ? scheme.scopes : []));
  if (!byOAuth || !scopes || asked.length === 0) return [];
  const named = action.scopes.flat();
  const enough = (given: string[]) => scopes.some((all) => all.every((one) => given.includes(one)));
  const wanted = scopes.map((all) => all.join(' and ')).join(', ');
  return [
    ...(enough([...asked, ...named]) ? [] : [`scopes ${wanted}`]),
    ...(named.length === 0 || enough(named) ? [] : [`its own scopes lack ${wanted}`]),
  ];
}

function sentDifferences(
  at: string,
  { of: sent, open, always }: Sent,
  { of: known, open: more }: Field,
): string[] {
  if (!known) return [];
  // An optional object with one member is not sent without that member.
  const alone = sent.size === 1 && !always && at.includes('.');
  const unknown = more ? [] : [...sent.keys()].filter((name) => !Object.hasOwn(known, name));
  const found = unknown.map((name) => `${at}.${name}: unknown`);
  for (const [name, field] of Object.entries(known)) {
    const own = sent.get(name);
    if (!own) {
      if (field.required && !open) found.push(`${at}.${name}: required and not sent`);
      continue;
    }
    if (field.deprecated) found.push(`${at}.${name}: deprecated`);
    if (field.required && !own.always && !alone) found.push(`${at}.${name}: required and optional here`);
    found.push(
      ...valueDifferences(`${at}.${name}`, own, field),
      ...sentDifferences(`${at}.${name}`, own, field),
    );
  }
  return found;
}

function valueDifferences(at: string, own: Sent, { enum: values, max }: Field): string[] {
  const strange = values ? own.enum.filter((one) => one !== null && !values.includes(one)) : [];
  const over =
    max !== undefined && own.max !== undefined && own.max > max ? [`${at}: over ${String(max)}`] : [];
  return [...strange.map((one) => `${at}: ${String(one)}`), ...over];
}

/** Returns the first part of a path that an answer does not have. */
function missingIn({ of, open }: Field, steps: string[]): string | undefined {
  const [step, ...rest] = steps;
  if (!of || step === undefined) return undefined;
  const next = Object.hasOwn(of, step) ? of[step] : undefined;
  if (!next) return open ? undefined : step;
  const missing = missingIn(next, rest);
  return missing === undefined ? undefined : `${step}.${missing}`;
}
