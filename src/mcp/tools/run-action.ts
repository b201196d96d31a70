import { correctedParameters } from '../../actions/call-corrections.ts';
import { executeAction, type ExecuteResult } from '../../actions/execute.ts';
import type { ProgramCall } from '../../actions/program-call.ts';
import type { Undo } from '../../actions/undo.ts';
import type { Action } from '../../connectors/catalog.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import { checkInput } from '../../connectors/schemas/validate.ts';
import { listCredentials } from '../../credentials/credential-lists.ts';
import type { Credential } from '../../credentials/credential.ts';
import { GatehouseError, withDetails } from '../../lib/errors.ts';
import { withoutHidden, writtenOut } from '../../lib/hidden-characters.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Following, LogMessage, Progress } from '../../upstream/upstream-call.ts';
import { tasksMissing } from '../protocol/task-extension.ts';
import { accountIdFor, shownAccount, withChoices } from './account-names.ts';
import { askBetween } from './ask-between.ts';
import { confirmCall } from './confirm.ts';
import { refusalWithLink } from './account-links.ts';
import { askClient, runContent, withAccount } from '../answers/content.ts';
import { InputRequired } from '../scope/input.ts';
import type { ToolScope } from '../scope/tool.ts';
import { namingOf } from './visible-names.ts';
import type { Around } from '../scope/waiting-calls.ts';

const MAX_CREDENTIALS = 50;

/** A call of an action as a model requests it. */
interface ActionCall {
  connectorId: string;
  actionId: string;
  input: JsonObject;
  /** The place of the input in the arguments; empty when the input is all of them. */
  path?: string;
  credentialId?: string | undefined;
  confirmationToken?: string | undefined;
  /** Whether an equal write may run once more; see actions/duplicate-guard.ts. */
  again?: boolean | undefined;
  fields?: readonly string[] | undefined;
  /** Subscribes to the resource in place of reading it. */
  following?: Following | undefined;
  /** The program that makes the call. */
  program?: ProgramCall | undefined;
  /** The call that this one undoes. */
  undo?: Undo | undefined;
}

/** Runs an action for a grant. @throws GatehouseError as executeAction; `invalid_request` holds the input schema. */
export async function runAction(scope: ToolScope, given: ActionCall): Promise<JsonObject> {
  const { connectorId, actionId, credentialId: named } = given;
  const action = scope.context.catalog.action(scope.grant.environment, connectorId, actionId);
  const call = action ? { ...given, input: correctedParameters(namingOf(scope), action, given) } : given;
  if (named === undefined) return runParsed(scope, call);
  const credentialId = await accountIdFor(scope, connectorId, named);
  try {
    return await runParsed(scope, { ...call, credentialId });
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'credential_not_found') throw error;
    throw await withChoices(scope, connectorId, { error, named });
  }
}

async function runParsed(scope: ToolScope, call: ActionCall): Promise<JsonObject> {
  const { context, grant } = scope;
  const { credentialId } = call;
  if (
    credentialId !== undefined &&
    grant.credentialHeader !== undefined &&
    credentialId !== grant.credentialHeader
  ) {
    await assertOtherConnector(scope, call.connectorId);
  }
  const action = context.catalog.action(grant.environment, call.connectorId, call.actionId);
  if (action) await noteInTask(scope, action);
  // An app that asks questions is called several times for one call of the tool, but the user agrees only once.
  let agreed = false;
  let used: Credential | undefined;
  try {
    const { onProgress, onLog } = scope;
    const appName = nameOf(context, grant, call);
    const atOnce: Around = {
      signal: scope.signal,
      onProgress: onProgress && ((progress) => onProgress(shownProgress(progress))),
      onLog: onLog && ((message) => onLog(shownLog(message))),
      onChanged: scope.onChanged,
      onWait: scope.onWait,
      onQuestion: scope.inputs?.live ? (question) => askClient(scope, appName, question) : undefined,
    };
    const runAround = async (around: Around, answers?: JsonObject) => {
      // Answering an app's question is also an agreement, and it is valid once.
      if (answers && action?.effect !== 'read') await scope.inputs?.take();
      return executeAction(context, {
        environment: grant.environment,
        caller: grant.caller,
        requestId: scope.requestId,
        userId: grant.userId,
        server: {
          serverId: grant.live.server.serverId,
          decision: grant.live.decision,
          limits: grant.live.server,
          guard:
            grant.live.server.duplicateGuard === 'off'
              ? undefined
              : { again: call.again === true, programId: call.program?.programId },
          async confirm(question) {
            if (!agreed) await confirmCall(scope, question, call.confirmationToken);
            agreed = true;
          },
        },
        connectorId: call.connectorId,
        actionId: call.actionId,
        input: call.input,
        fields: call.fields,
        credentialHeader: grant.credentialHeader,
        credentialId,
        onCredential: (credential) => (used = credential),
        ...around,
        trace: scope.trace,
        answers,
        following: call.following,
        program: call.program,
        undo: call.undo,
      });
    };
    const { inputs } = scope;
    const isAskedBetween = inputs && !inputs.live && (inputs.abilities.form || inputs.abilities.url);
    const run = (answers?: JsonObject) =>
      action?.definition.mcp && isAskedBetween
        ? askBetween({ ...scope, ...atOnce }, inputs, {
            action,
            appName,
            run: (around) => runAround(around, answers),
          })
        : runAround(atOnce, answers);
    if (action?.definition.response.body === 'content') {
      const answer = { ...(await runContent(scope, appName, run)) };
      return withAccount(answer, await shownAccount(scope, used));
    }
    const structured = toStructured(await run());
    const account = await shownAccount(scope, used);
    return account ? { ...structured, account } : structured;
  } catch (error) {
    if (error instanceof GatehouseError && error.cause instanceof InputRequired) throw error.cause;
    if (error instanceof GatehouseError && error.code === 'invalid_request' && action) {
      if (checkInput(action, call.input).length > 0) {
        throw withSchema(error, action, call.input);
      }
    }
    const refused = await refusalWithLink(scope, call.connectorId, error);
    if (!refused) return runParsed(scope, call);
    const { refusal } = refused;
    const account = await shownAccount(scope, used);
    throw account && refusal instanceof GatehouseError ? withDetails(refusal, { account }) : refusal;
  }
}

/** @throws GatehouseError `client_capability_missing` for a client that does not take the tasks which an action needs. */
async function noteInTask({ task }: ToolScope, action: Action): Promise<void> {
  if (action.definition.onlyAsTask && !task) throw tasksMissing(`"${action.name}"`);
  await task?.runs(action, { mayWrite: action.effects.some((effect) => effect !== 'read') });
}

function nameOf(
  { catalog }: ToolScope['context'],
  { environment }: ToolScope['grant'],
  { connectorId }: ActionCall,
): string {
  return catalog.connector(environment, connectorId)?.name ?? connectorId;
}

/** Writes out the hidden characters in an app's progress message. */
function shownProgress(progress: Progress): Progress {
  return progress.message === undefined
    ? progress
    : { ...progress, message: withoutHidden(progress.message) };
}

function shownLog(message: LogMessage): LogMessage {
  return { ...message, data: writtenOut(message.data) };
}

/** Members in which some models put all parameters. */
const WRAPPERS = ['parameters', 'params', 'arguments', 'args', 'input'];

/** Returns the error of an invalid input with the schema, both in the names that the model knows. */
function withSchema(error: GatehouseError, action: Action, input: JsonObject): GatehouseError {
  const known = (text: string) =>
    action.aliases.reduce((known, [name, alias]) => known.replaceAll(name, alias), text);
  const faults: unknown = error.details?.['faults'];
  const renamed = Array.isArray(faults)
    ? faults.map((fault) =>
        isJsonObject(fault)
          ? { ...fault, field: known(String(fault['field'])), rule: known(String(fault['rule'])) }
          : fault,
      )
    : [];
  const properties = asSchema(action.inputSchema['properties']);
  const wrapper = WRAPPERS.find((name) => isJsonObject(input[name]) && !Object.hasOwn(properties, name));
  const hint = wrapper === undefined ? '' : ` Give the members of "${wrapper}" in its place.`;
  return new GatehouseError(error.code, `${known(error.message)}${hint}`, {
    details: { ...error.details, faults: renamed, inputSchema: action.modelInput },
    cause: error,
  });
}

/** Rejects an argument that contradicts the header. The header applies only to the connector of its credential. */
async function assertOtherConnector(scope: ToolScope, connectorId: string): Promise<void> {
  const isHeaderCredential = (await credentialsOf(scope, connectorId)).some(
    (one) => one.credentialId === scope.grant.credentialHeader,
  );
  if (!isHeaderCredential) return;
  throw new GatehouseError(
    'credential_conflict',
    'The argument credentialId names another credential than the header x-credential-id. Leave the argument out.',
  );
}

function toStructured({ data, pagination, unmatchedFields, undo }: ExecuteResult): JsonObject {
  const structured: JsonObject =
    pagination === undefined ? { data } : { data, pagination: { ...pagination } };
  if (unmatchedFields) structured['unmatchedFields'] = unmatchedFields;
  if (undo) structured['undo'] = undo;
  return structured;
}

/** Returns the credentials of the grant's user, for one connector or all. */
export async function credentialsOf({ context, grant }: ToolScope, connectorId?: string) {
  if (grant.userId === undefined) return [];
  const { credentials } = await listCredentials(context.db, {
    environment: grant.environment,
    userId: grant.userId,
    connectorId,
    limit: MAX_CREDENTIALS,
    offset: 0,
  });
  return credentials;
}
