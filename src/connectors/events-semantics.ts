import type { ConnectorFile } from './format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { openNames } from './open-names.ts';
import { pagingOf, parametersOf } from './schemas.ts';
import { templateNames } from './templates.ts';

/** Checks that the actions and parameters of `unified` and `webhooks` exist, and have the required kind. */
export function checkEvents(file: ConnectorFile): SemanticFault[] {
  return [...checkUnified(file), ...checkWebhooks(file)];
}

function checkUnified(file: ConnectorFile): SemanticFault[] {
  return Object.entries(file.unified).flatMap(([scope, model]) => {
    if (!model) return [];
    const path = `unified.${scope}`;
    const { list, get, poll } = model;
    const faults = [
      ...checkAction(file, list, { path: `${path}.list`, list: true }),
      ...checkAction(file, get.action, { path: `${path}.get.action`, list: false }),
      ...checkParameters(file, list, { names: Object.keys(model.input), path: `${path}.input` }),
      ...checkParameters(file, list, { names: Object.keys(poll.input), path: `${path}.poll.input` }),
      ...checkParameters(file, get.action, {
        names: [get.param, ...Object.keys(get.input)],
        path: `${path}.get`,
      }),
      ...checkParameters(file, list, { names: [poll.since ?? []].flat(), path: `${path}.poll.since` }),
      ...checkParameters(file, list, { names: Object.keys(model.inputFrom), path: `${path}.inputFrom` }),
      ...Object.values(model.inputFrom).flatMap(({ action }) =>
        checkAction(file, action, { path: `${path}.inputFrom`, list: true }),
      ),
      ...checkNames(file, model.input, { path: `${path}.input` }),
      ...checkNames(file, get.input, { path: `${path}.get.input` }),
    ];
    if (poll.by === 'updatedAt' && poll.since !== undefined && model.updatedAt === undefined) {
      faults.push({ path: `${path}.poll.by`, rule: 'speaks of updatedAt, which the model does not have' });
    }
    return faults;
  });
}

function checkWebhooks(file: ConnectorFile): SemanticFault[] {
  const { webhooks } = file;
  if (!webhooks) return [];
  const faults: SemanticFault[] = [];
  const { list, create, delete: remove } = webhooks.register;
  if (webhooks.account !== undefined && !file.account)
    faults.push({ path: 'webhooks.account', rule: 'needs account, by which an account is known' });
  const schemes = new Set(file.authentication.map(({ type }) => `${type}`));
  for (const type of webhooks.authentication ?? []) {
    if (!schemes.has(type))
      faults.push({ path: 'webhooks.authentication', rule: `"${type}" is no authentication of this file` });
  }
  for (const [scope, topics] of Object.entries(webhooks.topics)) {
    if (!Object.hasOwn(file.unified, scope))
      faults.push({ path: `webhooks.topics.${scope}`, rule: 'has no model in unified' });
    for (const { topic, values } of topics ?? []) {
      const path = `webhooks.topics.${scope}.${topic}.values`;
      faults.push(...checkNames(file, values, { path }));
      const names = ['address', 'topic', 'topics', 'secret', ...Object.keys(values)];
      faults.push(
        ...checkNames(file, create.input, { path: 'webhooks.register.create.input', more: names }),
        ...checkNames(file, remove.input, { path: 'webhooks.register.delete.input', more: [...names, 'id'] }),
      );
    }
  }
  const hasSeveral = Object.values(webhooks.topics).some((topics) => (topics ?? []).length > 1);
  if (create.secret !== undefined && create.each === 'topic' && hasSeveral) {
    const rule = 'is one for all topics of a model: the app must register them together (each: all)';
    faults.push({ path: 'webhooks.register.create.secret', rule });
  }
  if (list) faults.push(...checkAction(file, list.action, { path: 'webhooks.register.list.action' }));
  faults.push(
    ...checkAction(file, create.action, { path: 'webhooks.register.create.action', list: false }),
    ...checkParameters(file, create.action, {
      names: Object.keys(create.input),
      path: 'webhooks.register.create.input',
    }),
    ...checkAction(file, remove.action, { path: 'webhooks.register.delete.action', list: false }),
    ...checkParameters(file, remove.action, {
      names: [remove.param ?? [], Object.keys(remove.input)].flat(),
      path: 'webhooks.register.delete',
    }),
  );
  const known = new Set([
    'secret',
    'clientSecret',
    ...Object.keys(file.variables),
    ...file.authentication.flatMap((scheme) => ('fields' in scheme ? Object.keys(scheme.fields) : [])),
    'token',
    'apiKey',
    'username',
    'password',
    'accessToken',
  ]);
  const contents = new Set(['body', 'timestamp', 'id', 'url', 'method']);
  for (const [at, template] of Object.entries(webhooks.verify)) {
    if (typeof template !== 'string') continue;
    for (const name of templateNames(template)) {
      if (!known.has(name) && !(at === 'content' && contents.has(name)))
        faults.push({ path: `webhooks.verify.${at}`, rule: `{${name}} is no field` });
    }
  }
  return faults;
}

/** Checks the names in an input. Texts may name variables, and fields of a credential that are not secret. */
function checkNames(
  file: ConnectorFile,
  input: { readonly [name: string]: unknown },
  { path, more = [] }: { path: string; more?: string[] | undefined },
): SemanticFault[] {
  const known = new Set([...openNames(file), ...more]);
  const texts = Object.values(input).filter((value) => typeof value === 'string');
  return texts
    .flatMap(templateNames)
    .filter((name) => !known.has(name))
    .map((name) => ({ path, rule: `{${name}} is neither a variable nor a field that is not secret` }));
}

function checkAction(
  file: ConnectorFile,
  actionId: string,
  { path, list }: { path: string; list?: boolean },
): SemanticFault[] {
  const action = file.actions[actionId];
  if (!action) return [{ path, rule: `"${actionId}" is no action of this file` }];
  const isList = pagingOf(file, action) !== undefined;
  if (action.before || action.each || action.after)
    return [{ path, rule: `"${actionId}" has before, each or after, which is for callers alone` }];
  if (list === undefined || list === isList) return [];
  return [{ path, rule: list ? `"${actionId}" is no list action` : `"${actionId}" is a list action` }];
}

function checkParameters(
  file: ConnectorFile,
  actionId: string,
  { names, path }: { names: string[]; path: string },
): SemanticFault[] {
  const action = file.actions[actionId];
  if (!action) return [];
  const known = parametersOf(action).map(({ name }) => name);
  return names
    .filter((name) => !known.includes(name))
    .map((name) => ({
      path,
      rule: `"${name}" is no parameter of ${actionId}; its parameters: ${known.join(', ')}`,
    }));
}
