import type { EventScope } from './events-format.ts';
import type { ConnectorFile } from './format.ts';
import type { MeaningFault } from './meaning.ts';
import { pagingOf, parametersOf } from './schemas.ts';
import { templateNames } from './templates.ts';

/** Actions and parameters that `unified` and `webhooks` name must be there, and be of the kind that is needed. */
export function checkEvents(file: ConnectorFile): MeaningFault[] {
  return [...checkUnified(file), ...checkWebhooks(file)];
}

function checkUnified(file: ConnectorFile): MeaningFault[] {
  return Object.entries(file.unified).flatMap(([scope, model]) => {
    if (!model) return [];
    const path = `unified.${scope}`;
    const { list, get, poll } = model;
    const faults = [
      ...checkAction(file, list, `${path}.list`, { list: true }),
      ...checkAction(file, get.action, `${path}.get.action`, { list: false }),
      ...checkParameters(file, list, Object.keys(model.input), `${path}.input`),
      ...checkParameters(file, list, Object.keys(poll.input), `${path}.poll.input`),
      ...checkParameters(file, get.action, [get.param, ...Object.keys(get.input)], `${path}.get`),
      ...(poll.since === undefined ? [] : checkParameters(file, list, [poll.since], `${path}.poll.since`)),
    ];
    if (model.createdAt === undefined && poll.since !== undefined) {
      faults.push({
        path: `${path}.createdAt`,
        rule: 'is needed with poll.since: without it an old record that changes looks new',
      });
    }
    if (poll.by === 'updatedAt' && poll.since !== undefined && model.updatedAt === undefined) {
      faults.push({ path: `${path}.poll.by`, rule: 'speaks of updatedAt, which the model does not have' });
    }
    return faults;
  });
}

function checkWebhooks(file: ConnectorFile): MeaningFault[] {
  const { webhooks } = file;
  if (!webhooks) return [];
  const faults: MeaningFault[] = [];
  const scopes = Object.keys(webhooks.topics) satisfies string[];
  for (const scope of scopes) {
    if (!isModelled(file, scope))
      faults.push({ path: `webhooks.topics.${scope}`, rule: 'has no model in unified' });
  }
  const { list, create, delete: remove } = webhooks.register;
  if (list) faults.push(...checkAction(file, list.action, 'webhooks.register.list.action', {}));
  faults.push(
    ...checkAction(file, create.action, 'webhooks.register.create.action', { list: false }),
    ...checkParameters(file, create.action, Object.keys(create.input), 'webhooks.register.create.input'),
    ...checkAction(file, remove.action, 'webhooks.register.delete.action', { list: false }),
    ...checkParameters(
      file,
      remove.action,
      [remove.param, ...Object.keys(remove.input)],
      'webhooks.register.delete',
    ),
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

function isModelled(file: ConnectorFile, scope: string): boolean {
  const models: { readonly [scope in EventScope]?: unknown } = file.unified;
  return Object.entries(models).some(([name, model]) => name === scope && model !== undefined);
}

function checkAction(
  file: ConnectorFile,
  actionId: string,
  path: string,
  { list }: { list?: boolean },
): MeaningFault[] {
  const action = file.actions[actionId];
  if (!action) return [{ path, rule: `"${actionId}" is no action of this file` }];
  const isList = pagingOf(file, action) !== undefined;
  if (list === undefined || list === isList) return [];
  return [{ path, rule: list ? `"${actionId}" is no list action` : `"${actionId}" is a list action` }];
}

function checkParameters(
  file: ConnectorFile,
  actionId: string,
  names: string[],
  path: string,
): MeaningFault[] {
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
