import { isUnifiedScope } from '../event-scopes.ts';
import type { EventSourceDefinition, HookTopic, UnifiedModel, Webhooks } from '../format/events-format.ts';
import { areRegistered, type RegisteredWebhooks } from '../webhook-topics.ts';
import type { ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { openNames } from '../open-names.ts';
import { parametersOf, takesArray } from '../parameters.ts';
import { pagingOf } from '../schemas/action-schemas.ts';
import { templateNames } from '../templates.ts';
import type { UnifiedCreate, UnifiedUpdate } from '../format/write-format.ts';

/** Checks that the actions and parameters of `unified`, `events` and `webhooks` exist, and have the required kind. */
export function checkEvents(file: ConnectorFile): SemanticFault[] {
  const unified = Object.entries(file.unified).flatMap(([scope, model]) =>
    model
      ? [...checkReading(file, model, `unified.${scope}`), ...checkWrites(file, model, `unified.${scope}`)]
      : [],
  );
  const own = Object.entries(file.events).flatMap(([name, source]) => checkSource(file, source, name));
  return [...unified, ...own, ...checkWebhooks(file)];
}

/** Checks how polls read the records of a model or an event source. */
function checkReading(
  file: ConnectorFile,
  model: UnifiedModel | EventSourceDefinition,
  path: string,
): SemanticFault[] {
  const { list, get, poll } = model;
  const faults: SemanticFault[] = [];
  if (list !== undefined)
    faults.push(
      ...checkAction(file, list, { path: `${path}.list`, list: true }),
      ...checkParameters(file, list, { names: Object.keys(model.input), path: `${path}.input` }),
      ...checkBoundedList(file, model, path),
      ...checkParameters(file, list, { names: Object.keys(model.inputFrom), path: `${path}.inputFrom` }),
    );
  if (get)
    faults.push(
      ...checkAction(file, get.action, { path: `${path}.get.action`, list: false }),
      ...checkParameters(file, get.action, {
        names: [get.param, ...Object.keys(get.input)],
        path: `${path}.get`,
      }),
      ...checkNames(file, get.input, { path: `${path}.get.input` }),
    );
  for (const [parameter, from] of Object.entries(model.inputFrom)) {
    const at = `${path}.inputFrom.${parameter}`;
    faults.push(
      ...checkAction(file, from.action, { path: `${path}.inputFrom`, list: true }),
      ...checkParameters(file, from.action, { names: Object.keys(from.input), path: `${at}.input` }),
      ...checkNames(file, from.input, { path: `${at}.input` }),
    );
    const takesOne = list !== undefined && !takesArray(file.actions[list], parameter);
    if (from.most !== 1 && (takesOne || from.as !== undefined)) {
      const why = takesOne ? `"${parameter}" is no array` : 'as names the one value of a list';
      faults.push({ path: `${at}.most`, rule: `must be 1, because ${why}` });
    }
  }
  faults.push(...checkNames(file, model.input, { path: `${path}.input` }));
  // Records of some event sources have no time, and the app still finds them by time.
  const hasTime = 'map' in model || (model.createdAt ?? model.updatedAt) !== undefined;
  for (const by of ['createdAt', 'updatedAt'] as const)
    if (poll.by === by && poll.since !== undefined && model[by] === undefined && hasTime)
      faults.push({ path: `${path}.poll.by`, rule: `names ${by}, which the model does not have` });
  return faults;
}

/** Checks the list action of polls with a bound, and its bound. */
function checkBoundedList(
  file: ConnectorFile,
  { list = '', input, poll }: UnifiedModel | EventSourceDefinition,
  path: string,
): SemanticFault[] {
  const bounded = poll.list ?? list;
  const faults = [
    ...checkParameters(file, bounded, { names: Object.keys(poll.input), path: `${path}.poll.input` }),
    ...checkParameters(file, bounded, { names: [poll.since ?? []].flat(), path: `${path}.poll.since` }),
  ];
  if (poll.list === undefined) return faults;
  const at = `${path}.poll.list`;
  faults.push(
    ...checkAction(file, poll.list, { path: at, list: true }),
    ...checkParameters(file, poll.list, { names: Object.keys(input), path: at }),
  );
  if (poll.since === undefined) faults.push({ path: at, rule: 'is for polls with a bound: give poll.since' });
  return faults;
}

function checkSource(file: ConnectorFile, source: EventSourceDefinition, name: string): SemanticFault[] {
  const path = `events.${name}`;
  const topics = topicsOfName(file, name);
  const faults = checkReading(file, source, path);
  const fault = (member: string, rule: string) => faults.push({ path: `${path}.${member}`, rule });
  if (isUnifiedScope(`${file.id}/${name}`))
    faults.push({ path, rule: `has the scope ${file.id}/${name} of a unified model` });
  if (source.list === undefined && topics.length === 0)
    faults.push({ path, rule: 'needs list, or topics in webhooks: nothing reports its events' });
  if (source.reports.includes('updated') && !source.updatedAt && !source.key)
    fault('reports', 'has updated, so updatedAt or key must show that a record changed');
  if (source.reports.includes('deleted') && !source.get && !topics.some(({ event }) => event === 'deleted'))
    fault('reports', 'has deleted, so get or a topic must show that a record is gone');
  if (source.list === undefined && topics.some(({ event }) => event === 'changed'))
    fault('list', 'is missing, and a topic with event: changed causes a poll');
  if (source.get && Array.isArray(source.remoteId))
    fault('get', 'reads by one id, and remoteId has several paths');
  if (!source.get && topics.some((topic) => readsRecord(file, topic)))
    fault('get', 'is missing, and a topic only names the record');
  return faults;
}

function topicsOfName({ webhooks }: ConnectorFile, name: string): readonly HookTopic[] {
  const topics: Partial<Record<string, HookTopic[]>> = webhooks?.topics ?? {};
  return (Object.hasOwn(topics, name) ? topics[name] : undefined) ?? [];
}

/** Returns whether an event of a topic has only the id of its record, so that the record must be read. */
function readsRecord({ webhooks }: ConnectorFile, { event, record, fetchId }: HookTopic): boolean {
  if (event === 'deleted' || event === 'changed') return false;
  return fetchId !== undefined || (record === undefined && webhooks?.fetchId !== undefined);
}

function checkWrites(file: ConnectorFile, { create, update }: UnifiedModel, path: string): SemanticFault[] {
  const writes = [
    ...(create ? [{ name: 'create', ...create }] : []),
    ...(update ? [{ name: 'update', ...update }] : []),
  ];
  const params = update
    ? checkParameters(file, update.action, { names: [update.param], path: `${path}.update.param` })
    : [];
  return [...params, ...writes.flatMap((write) => checkWrite(file, write, `${path}.${write.name}`))];
}

function checkWrite(
  file: ConnectorFile,
  { action: actionId, members, ...write }: UnifiedCreate | UnifiedUpdate,
  path: string,
): SemanticFault[] {
  const action = file.actions[actionId];
  if (!action) return [{ path: `${path}.action`, rule: `"${actionId}" is no action of this file` }];
  const required = 'required' in write ? write.required : [];
  return [
    ...(action.effect === 'read' || action.request.startsWith('GET ')
      ? [{ path: `${path}.action`, rule: `"${actionId}" only reads` }]
      : []),
    ...required
      .filter(
        (one) =>
          !members.some((member) => `${one}.`.startsWith(`${member}.`) || `${member}.`.startsWith(`${one}.`)),
      )
      .map((one) => ({ path: `${path}.required`, rule: `"${one}" is not one of members` })),
  ];
}

function checkWebhooks(file: ConnectorFile): SemanticFault[] {
  const { webhooks } = file;
  if (!webhooks) return [];
  const faults: SemanticFault[] = [];
  if (webhooks.account !== undefined && !file.account)
    faults.push({ path: 'webhooks.account', rule: 'needs account, by which an account is known' });
  const schemes = new Set(file.authentication.map(({ type }) => `${type}`));
  for (const type of webhooks.authentication ?? []) {
    if (!schemes.has(type))
      faults.push({ path: 'webhooks.authentication', rule: `"${type}" is no authentication of this file` });
  }
  for (const [scope, topics] of Object.entries(webhooks.topics)) {
    if (!Object.hasOwn(file.unified, scope) && !Object.hasOwn(file.events, scope)) {
      const section = scope.includes('/') ? 'unified' : 'events';
      faults.push({ path: `webhooks.topics.${scope}`, rule: `has no model in ${section}` });
    }
    for (const [index, { topic, values }] of topics.entries()) {
      const isHidden = topics
        .slice(0, index)
        .some((one) => one.topic === topic && Object.keys(one.where).length === 0);
      if (isHidden)
        faults.push({
          path: `webhooks.topics.${scope}.${index}`,
          rule: `never counts: ${topic} stands above without where`,
        });
      faults.push(...checkNames(file, values, { path: `webhooks.topics.${scope}.${topic}.values` }));
    }
    if (webhooks.manual && findList(file, scope) === undefined)
      faults.push({
        path: `webhooks.topics.${scope}`,
        rule: 'needs list in its model, which is read until webhooks come',
      });
  }
  if (areRegistered(webhooks)) faults.push(...checkRegister(file, webhooks));
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
  const contents = new Set(['body', 'timestamp', 'id', 'url', 'method', 'sortedForm']);
  for (const [at, template] of Object.entries(webhooks.verify)) {
    if (typeof template !== 'string') continue;
    for (const name of templateNames(template)) {
      if (!known.has(name) && !(at === 'content' && contents.has(name)))
        faults.push({ path: `webhooks.verify.${at}`, rule: `{${name}} is no field` });
    }
  }
  for (const name of templateNames(webhooks.challenge?.signed?.key ?? ''))
    if (!known.has(name))
      faults.push({ path: 'webhooks.challenge.signed.key', rule: `{${name}} is no field` });
  return [...faults, ...verifyFaults(webhooks)];
}

function findList(file: ConnectorFile, scope: string): string | undefined {
  const models: Partial<Record<string, { list?: string | undefined }>> = { ...file.unified, ...file.events };
  return models[scope]?.list;
}

/** Checks the actions that register webhooks, and the names in their input. */
function checkRegister(
  file: ConnectorFile,
  { topics: byScope, register }: RegisteredWebhooks,
): SemanticFault[] {
  const { list, create, renew, delete: remove } = register;
  const faults: SemanticFault[] = [];
  for (const { values } of Object.values(byScope).flat()) {
    const names = ['address', 'topic', 'topics', 'secret', 'expiresAt', ...Object.keys(values)];
    const later = { more: [...names, 'id', ...Object.keys(create.keep)] };
    faults.push(
      ...checkNames(file, create.input, {
        path: 'webhooks.register.create.input',
        more: [...names, 'newId'],
      }),
      ...checkNames(file, remove.input, { path: 'webhooks.register.delete.input', ...later }),
      ...checkNames(file, renew?.input ?? {}, { path: 'webhooks.register.renew.input', ...later }),
    );
  }
  const hasSeveral = Object.values(byScope).some((topics) => topics.length > 1);
  if (create.secret !== undefined && create.each === 'topic' && hasSeveral) {
    const rule = 'is one for all topics of a model: the app must register them together (each: all)';
    faults.push({ path: 'webhooks.register.create.secret', rule });
  }
  if (list) faults.push(...checkAction(file, list.action, { path: 'webhooks.register.list.action' }));
  if (renew) {
    const path = 'webhooks.register.renew';
    const names = [renew.param ?? [], Object.keys(renew.input)].flat();
    faults.push(
      ...checkAction(file, renew.action, { path: `${path}.action`, list: false }),
      ...checkParameters(file, renew.action, { names, path }),
    );
    if (!create.expires) faults.push({ path, rule: 'needs create.expires, which says when to renew' });
  }
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
  return faults;
}

function verifyFaults({ verify, challenge }: Webhooks): SemanticFault[] {
  const faults: SemanticFault[] = [];
  if (verify.type === 'public_key' && (verify.key === undefined) === (verify.keysUrl === undefined))
    faults.push({ path: 'webhooks.verify', rule: 'needs key or keysUrl, and not both' });
  if (challenge?.as === 'signed' && !challenge.signed)
    faults.push({ path: 'webhooks.challenge.signed', rule: 'is missing, and as: signed answers with it' });
  if (challenge?.as === 'text' && challenge.signed)
    faults.push({
      path: 'webhooks.challenge.as',
      rule: 'must be json or signed, because signed adds a member',
    });
  if (!('content' in verify) || verify.timestamp === undefined) return faults;
  // A time that is not signed could be replaced in a repeated webhook.
  const isSigned = verify.timestamp.startsWith('body:') || verify.content.includes('{timestamp}');
  if (!isSigned)
    faults.push({
      path: 'webhooks.verify.content',
      rule: 'must hold {timestamp}, so that the time is signed',
    });
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
