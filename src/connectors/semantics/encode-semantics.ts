import { isJsonObject } from '../../lib/json.ts';
import { currencyParameter } from '../format/encode-format.ts';
import type { ActionDefinition, ConnectorFile, Encode, Parameter } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { parametersOf } from '../parameters.ts';

/** Returns the faults of `encode`, `slashes` and `bodyMap`: values that they cannot convert, and missing names. */
export function encodeFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const parameters = parametersOf(action);
  const names = new Set(parameters.map(({ name }) => name));
  const faults = parameters.flatMap(({ place, name, parameter }): SemanticFault[] => {
    if (parameter.slashes && (place !== 'path' || parameter['type'] !== 'string'))
      return [{ path: `${path}.${place}.${name}.slashes`, rule: 'is for a text of the path' }];
    const { encode } = parameter;
    if (encode === undefined) return [];
    const rule =
      place === 'body' || (place === 'query' && encode !== 'base64')
        ? encodeFault(encode, parameter, names)
        : `is for the body${encode === 'base64' ? '' : ' and the query'}`;
    return rule === undefined ? [] : [{ path: `${path}.${place}.${name}.encode`, rule }];
  });
  if (action.bodyMap === undefined) return faults;
  const type = action.bodyType ?? file.bodyType;
  if (action.graphql === undefined && (type === 'text' || type === 'related'))
    faults.push({ path: `${path}.bodyMap`, rule: `is not for a body of type ${type}` });
  const unknown = [...action.bodyMap.matchAll(/\binput\.(\w+)/g)].flatMap(([, name = '']) =>
    names.has(name) ? [] : [name],
  );
  for (const name of new Set(unknown))
    faults.push({ path: `${path}.bodyMap`, rule: `input.${name} is no parameter of this action` });
  return faults;
}

/** Returns the rule that a conversion breaks for the type of its parameter. */
function encodeFault(encode: Encode, parameter: Parameter, names: ReadonlySet<string>): string | undefined {
  const one =
    parameter['type'] === 'array' && isJsonObject(parameter['items']) ? parameter['items'] : parameter;
  const type = String(one['type']);
  if (encode === 'base64') return type === 'string' ? undefined : 'base64 is for a text';
  if (typeof encode === 'string') {
    const isTime = type === 'string' && ['date', 'date-time'].includes(String(one['format']));
    return isTime ? undefined : `${encode} is for a text with format: date-time or date`;
  }
  if ('within' in encode)
    return JSON.stringify(encode.within).includes('{value}') ? undefined : "within must name '{value}'";
  if ('minorUnits' in encode) {
    const named = currencyParameter(encode);
    if (named !== undefined && !names.has(named)) return `{${named}} is no parameter of this action`;
    return ['string', 'number', 'integer'].includes(type) ? undefined : 'minorUnits is for a text or number';
  }
  const { enum: listed } = one;
  const values = type === 'boolean' ? [true, false] : Array.isArray(listed) ? listed : undefined;
  if (values === undefined) return 'values is for a boolean or an enum';
  const missing = values.map(String).filter((value) => !Object.hasOwn(encode.values, value));
  return missing.length === 0 ? undefined : `values lacks ${missing.join(', ')}`;
}
