import { correctedCall, type CallForm } from '../../actions/call-corrections.ts';
import type { Action } from '../../connectors/catalog.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import { withOwnNumbersOf } from '../../lib/exact-numbers.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { nameKey } from '../../lib/words.ts';
import type { ToolScope } from '../scope/tool.ts';
import { namingOf } from './visible-names.ts';

/* Reads the arguments of tools that run actions. Corrections are recorded in the scope. */

const FORM: CallForm = {
  holder: 'parameters',
  members: new Set([
    'connectorId',
    'actionId',
    'parameters',
    'credentialId',
    'fields',
    'maxBytes',
    'confirmationToken',
    'again',
  ]),
};
/** Arguments that a direct tool takes next to the parameters of its action. */
const DIRECT_MEMBERS = ['confirmationToken', 'credentialId', 'again'] as const;

interface OwnMembers {
  confirmationToken?: string;
  credentialId?: string;
  again?: boolean;
}

/** Returns a call of execute_action_svc with its ids in two members and its parameters in `parameters`. */
export function repairedCall(scope: ToolScope, given: Json, at = ''): Json {
  return correctedCall(namingOf(scope), given, { form: FORM, at });
}

/**
 * Splits the arguments of a direct tool into the action's input and our own members. A member that the action also has
 * as a parameter belongs to the input.
 */
export function directArguments(
  scope: ToolScope,
  action: Action,
  args: JsonObject,
): { input: JsonObject } & OwnMembers {
  const known = asSchema(action.inputSchema['properties']);
  const others = Object.keys(args).filter((name) => !Object.hasOwn(known, name));
  if (others.length === 0) return { input: args };
  const input = withOwnNumbersOf(args, { ...args });
  const own: OwnMembers = {};
  for (const member of DIRECT_MEMBERS) {
    if (Object.hasOwn(known, member)) continue;
    const given = others.find((name) => nameKey(name) === nameKey(member));
    if (given === undefined) continue;
    const value = args[given];
    const read = member === 'again' ? flagOf(value) : value;
    if (typeof read !== (member === 'again' ? 'boolean' : 'string') && read !== null) continue;
    delete input[given];
    if (given !== member) scope.corrections.push({ path: given, from: given, to: member });
    Object.assign(own, read === null ? {} : { [member]: read });
  }
  return { input, ...own };
}

/** Converts `"true"` and `"false"` to a boolean. Returns any other value unchanged. */
function flagOf(value: Json | undefined): Json | undefined {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}
