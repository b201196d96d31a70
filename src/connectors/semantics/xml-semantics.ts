import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { pagingParameters, sendsBody } from '../schemas/action-schemas.ts';

/** Returns the faults of `xml` and `lists`: places that nothing fills, and members that no place shows. */
export function xmlFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const { xml, graphql, wrap, response } = action;
  const type = action.bodyType ?? file.bodyType;
  const readsXml = response.body === 'xml' || (response.body === 'json' && type === 'xml');
  const faults: SemanticFault[] = [];
  if (response.lists.length > 0 && !readsXml)
    faults.push({ path: `${path}.response.lists`, rule: 'is for answers in XML' });
  if (xml === undefined) {
    if (type === 'xml' && sendsBody(action))
      faults.push({ path: `${path}.body`, rule: 'needs the document `xml` that its parameters fill' });
    return faults;
  }
  if (/^(GET|HEAD) /.test(action.request))
    faults.push({ path: `${path}.xml`, rule: 'needs a request with a body' });
  for (const [name, value] of Object.entries({ graphql, wrap })) {
    if (value !== undefined) faults.push({ path: `${path}.${name}`, rule: 'is not used with xml' });
  }
  const places = new Set([...xml.matchAll(/\{([a-zA-Z_][\w.]*)\}/g)].map((match) => match[1] ?? ''));
  const members = membersOf(file, action);
  // With bodyMap the members are those of its result.
  if (action.bodyMap === undefined)
    for (const place of places) {
      if (
        ![...members].some(
          (name) => place === name || place.startsWith(`${name}.`) || name.startsWith(`${place}.`),
        )
      )
        faults.push({
          path: `${path}.xml`,
          rule: `{${place}} is no member of the body; members: ${[...members].join(', ')}`,
        });
    }
  for (const [name, { as = name }] of Object.entries(action.body)) {
    const isShown = [...places].some(
      (place) => place === as || place.startsWith(`${as}.`) || as.startsWith(`${place}.`),
    );
    if (!isShown && action.bodyMap === undefined)
      faults.push({ path: `${path}.body.${name}`, rule: `is not sent: {${as}} is nowhere in xml` });
  }
  return faults;
}

/** Returns the names of members that a body may have: parameters, fixed ones, paging, and those of authentication. */
function membersOf(file: ConnectorFile, action: ActionDefinition): Set<string> {
  const applied = file.authentication.flatMap((scheme) =>
    'apply' in scheme ? Object.keys(scheme.apply?.body ?? {}) : [],
  );
  return new Set([
    ...Object.entries(action.body).map(([name, { as }]) => as ?? name),
    ...Object.keys(action.fixed?.body ?? {}),
    ...pagingParameters(file, action, 'body').map(({ name }) => name),
    ...applied,
  ]);
}
