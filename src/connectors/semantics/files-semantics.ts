import { filesOf, isFile, isFileList } from '../file-values.ts';
import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import { parametersOf } from '../parameters.ts';
import type { SemanticFault } from './semantic-fault.ts';

/** Returns the faults of files: places that cannot hold one, and keywords of parts in other bodies. */
export function fileFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const type = action.bodyType ?? file.bodyType;
  const faults = filesOf(action).flatMap(({ place, name, parameter }): SemanticFault[] => {
    const at = `${path}.${place}.${name}`;
    if (place !== 'body' && place !== 'parts')
      return [{ path: at, rule: 'is a file, which only a body can hold' }];
    if (isFileList(parameter) && (type !== 'multipart' || place !== 'body'))
      return [{ path: at, rule: 'is a list of files, which only a multipart body can hold' }];
    const isMember = place === 'body' && !['binary', 'multipart', 'json', 'xml'].includes(type);
    const rule = `is a file, which a ${type} body cannot hold; set bodyType to binary or multipart`;
    return isMember ? [{ path: at, rule }] : [];
  });
  return [...faults, ...binaryFaults(action, { type, path }), ...partFaults(action, { type, path })];
}

interface Checked {
  /** The type of the action's body. */
  type: string;
  path: string;
}

/** Returns the fault of a binary body with more than its one file. */
function binaryFaults(action: ActionDefinition, { type, path }: Checked): SemanticFault[] {
  if (type !== 'binary' || action.request.startsWith('GET ') || action.request.startsWith('HEAD ')) return [];
  const members = Object.values(action.body);
  const others = [action.wrap, action.bodyMap, action.graphql, action.email, action.idempotencyParam];
  const alone =
    others.every((one) => one === undefined) && Object.keys(action.fixed?.body ?? {}).length === 0;
  if (alone && members.length === 0) return [];
  if (alone && members.length === 1 && members.every((one) => isFile(one) && !isFileList(one))) return [];
  const rule = 'of the type binary is one parameter of the format binary, without other members';
  return [{ path: `${path}.body`, rule }];
}

/** Returns the faults of `contentType` and `filename` outside of files and parts. */
function partFaults(action: ActionDefinition, { type, path }: Checked): SemanticFault[] {
  return parametersOf(action).flatMap(({ place, name, parameter }): SemanticFault[] => {
    const at = `${path}.${place}.${name}`;
    const isPart = place === 'body' && type === 'multipart';
    const faults: SemanticFault[] = [];
    if (parameter.contentType !== undefined && !isPart && !isFile(parameter))
      faults.push({ path: `${at}.contentType`, rule: 'is for a file, or a part of a multipart body' });
    if (parameter.filename !== undefined && !isFile(parameter))
      faults.push({ path: `${at}.filename`, rule: 'is for a file' });
    return faults;
  });
}
