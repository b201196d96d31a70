import { addressRule } from '../address-faults.ts';
import type { ConnectorFile, ExchangeStep, TokenExchange } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { templateNames } from '../templates.ts';

/** Returns the faults of a token exchange: names that a step cannot know, addresses, and a missing token. */
export function exchangeFaults(file: ConnectorFile, scheme: TokenExchange, path: string): SemanticFault[] {
  const faults: SemanticFault[] = [];
  const known = new Set([
    ...Object.keys(scheme.fields),
    ...Object.keys(scheme.derived),
    ...Object.keys(file.variables),
  ]);
  for (const [index, step] of scheme.steps.entries()) {
    const at = `${path}.steps.${index}`;
    faults.push(...stepFaults(step, at, known));
    for (const name of Object.keys(step.take)) {
      if (known.has(name))
        faults.push({ path: `${at}.take.${name}`, rule: 'is already a field, a variable or taken before' });
      known.add(name);
    }
  }
  if (!known.has('accessToken'))
    faults.push({ path: `${path}.steps`, rule: 'must take accessToken in one of the steps' });
  return [...faults, ...secretsInAddresses(file, scheme, path)];
}

function stepFaults(step: ExchangeStep, path: string, known: ReadonlySet<string>): SemanticFault[] {
  const faults: SemanticFault[] = [];
  const check = (template: string, at: string, more: string[] = []): void => {
    for (const name of templateNames(template)) {
      const names = [...known, ...more];
      if (!names.includes(name))
        faults.push({
          path: `${path}.${at}`,
          rule: `{${name}} is no field; known here: ${names.join(', ')}`,
        });
    }
  };
  const [method = '', address = ''] = step.request.split(' ');
  check(address, 'request');
  const rule = addressRule(address);
  if (rule !== undefined) faults.push({ path: `${path}.request`, rule });
  if (method === 'GET' && Object.keys(step.body).length > 0)
    faults.push({ path: `${path}.body`, rule: 'a GET request has no body' });
  const { jwt } = step;
  const more = jwt ? ['assertion'] : [];
  for (const part of ['headers', 'query', 'body'] as const) {
    for (const [name, template] of Object.entries(step[part]))
      check(String(template), `${part}.${name}`, more);
  }
  for (const [name, template] of Object.entries(step.basic ?? {})) check(template, `basic.${name}`, more);
  if (!jwt) return faults;
  check(jwt.key, 'jwt.key');
  check(jwt.keyId ?? '', 'jwt.keyId');
  for (const [name, template] of Object.entries(jwt.claims)) check(template, `jwt.claims.${name}`);
  const texts = [
    ...Object.values({ ...step.headers, ...step.query }),
    ...Object.values(step.body).map(String),
  ];
  if (!texts.some((text) => text.includes('{assertion}')))
    faults.push({ path: `${path}.jwt`, rule: 'must be sent: name {assertion} in headers, query or body' });
  return faults;
}

function secretsInAddresses(file: ConnectorFile, scheme: TokenExchange, path: string): SemanticFault[] {
  const fields = { ...scheme.fields, ...scheme.derived, ...file.variables };
  return scheme.steps.flatMap(({ request }, index) =>
    templateNames(request)
      .filter((name) => fields[name]?.secret)
      .map((name) => ({
        path: `${path}.steps.${index}.request`,
        rule: `{${name}} is secret; addresses are logged`,
      })),
  );
}
