import { filesOf } from '../connectors/file-values.ts';
import type { CallStep, DownloadStep, UploadStep } from '../connectors/format/steps-format.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { valueAt, type Json, type JsonObject } from '../lib/json.ts';
import type { UpstreamContext } from '../upstream/call.ts';
import { download } from '../upstream/download.ts';
import { mapValue } from '../upstream/expression.ts';
import { pause } from '../upstream/pause.ts';
import { filesIn, openFile } from '../upstream/sent-files.ts';
import { assertOrigin, upload } from '../upstream/upload.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { readValue } from './read-results.ts';
import { allowedAction, applies, readCall, type Denies } from './reads.ts';

interface Following {
  call: UpstreamCall;
  /** Values by name: `input`, `value` and the steps so far. */
  names: JsonObject;
  denies: Denies;
  /** End of the action's time, epoch ms. */
  deadline: number;
}

/**
 * Runs the steps of an action's `after`, and returns the result. Without `after` it returns the value of the request.
 * @throws GatehouseError those of readValue(); for an action that writes, `upstream_failed` or `upstream_timeout` with
 * the step (`details.step`), because the action's own request took effect.
 */
export async function afterSteps(
  context: UpstreamContext,
  call: UpstreamCall,
  { value, denies, startedAt }: { value: Json; denies: Denies; startedAt: number },
): Promise<Json> {
  const { after } = call.action.definition;
  if (!after) return value;
  const seconds = call.action.definition.timeoutSeconds ?? call.connector.definition.timeoutSeconds;
  const names: JsonObject = { input: call.input, value, files: await filesIn(call) };
  const following: Following = { call, names, denies, deadline: startedAt + seconds * SECOND };
  let last = value;
  for (const [name, step] of Object.entries(after.steps)) {
    if ('action' in step && !applies(step, call.input)) continue;
    if ('upload' in step && (call.input[step.file] ?? null) === null) continue;
    try {
      last = names[name] = await made(context, following, { name, step });
    } catch (error) {
      throw failedStep(following, name, error);
    }
  }
  return after.give === undefined ? last : mapValue(after.give, names, { author: call.connector });
}

function made(
  context: UpstreamContext,
  following: Following,
  { name, step }: { name: string; step: CallStep | DownloadStep | UploadStep },
): Promise<Json> {
  if ('download' in step) return downloaded(context, following, step);
  if ('upload' in step) return uploaded(context, following, step);
  return called(context, following, { name, step });
}

async function called(
  context: UpstreamContext,
  { call, names, denies, deadline }: Following,
  { name, step }: { name: string; step: CallStep },
): Promise<Json> {
  const action = allowedAction(call.connector, step, denies);
  const one = readCall(call, action, { read: step, names });
  if (call.idempotencyKey !== undefined && action.effect !== 'read')
    one.idempotencyKey = `${call.idempotencyKey}-${name}`;
  const { until } = step;
  for (let tries = 1; ; tries++) {
    const value = await readValue(context, one, () => {});
    if (!until) return value;
    const state = valueAt(value, until.path);
    if (until.in.some((wanted) => wanted === state)) return value;
    if (until.failed.some((wanted) => wanted === state)) throw jobFailed(call, value, until);
    const waitMs = step.everySeconds * SECOND;
    if (context.clock.now() + waitMs >= deadline) throw stillRunning(call, state);
    call.onProgress?.({ progress: tries, message: `${call.connector.name}: ${String(state ?? 'waiting')}` });
    await pause(call, waitMs);
  }
}

function downloaded(
  context: UpstreamContext,
  { call, names, deadline }: Following,
  step: DownloadStep,
): Promise<Json> {
  const url = valueAt(names, step.download);
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url))
    throw new GatehouseError(
      'upstream_failed',
      `${call.connector.name} answered without an address at ${step.download}.`,
    );
  if (step.origins) assertOrigin(call, step.origins, url);
  const timeoutMs = Math.max(1, deadline - context.clock.now());
  return download(context, call, { url, body: step.body, timeoutMs });
}

async function uploaded(
  context: UpstreamContext,
  { call, names, deadline }: Following,
  step: UploadStep,
): Promise<Json> {
  const parameter = filesOf(call.action.definition).find(({ name }) => name === step.file)?.parameter;
  if (!parameter) throw new Error(`${step.file} is no file of ${call.action.actionId}.`);
  const { connector, input } = call;
  const file = await openFile(call, {
    field: `input.${step.file}`,
    value: input[step.file] ?? null,
    parameter,
  });
  const { partBytes: size } = step;
  const partBytes = typeof size === 'string' ? Number(valueAt(names, size)) : size;
  if (partBytes !== undefined && !(Number.isInteger(partBytes) && partBytes > 0))
    throw new GatehouseError(
      'upstream_failed',
      `${connector.name} answered without a size of parts at ${size}.`,
    );
  return upload(context, call, { address: valueAt(names, step.upload), step, file, partBytes, deadline });
}

function jobFailed(
  { connector }: UpstreamCall,
  value: Json,
  { path, message }: NonNullable<CallStep['until']>,
): GatehouseError {
  const said = message === undefined ? undefined : valueAt(value, message);
  const words = typeof said === 'string' && said !== '' ? `: ${said.slice(0, 500)}` : '';
  return new GatehouseError(
    'upstream_failed',
    `${connector.name} could not finish this (${String(valueAt(value, path))}${words}).`,
    { details: { reason: 'job_failed', ...(words === '' ? {} : { message: words.slice(2) }) } },
  );
}

function stillRunning({ connector }: UpstreamCall, state: Json | undefined): GatehouseError {
  return new GatehouseError(
    'upstream_timeout',
    `${connector.name} still works on this (${String(state ?? 'no state')}), and the time of the action is over.`,
    { details: { reason: 'job_running' } },
  );
}

/**
 * Returns the error of a step. After a write no error may mean that nothing happened, because a caller would repeat the
 * write.
 */
function failedStep({ call }: Following, step: string, error: unknown): unknown {
  if (!(error instanceof GatehouseError) || call.action.effect === 'read') return error;
  const { status, message, reason } = error.details ?? {};
  const isOfJob = reason === 'job_failed' || reason === 'job_running';
  return new GatehouseError(
    error.code === 'upstream_timeout' ? error.code : 'upstream_failed',
    `${call.connector.name} accepted the call, and its step ${step} failed. ${error.message}`,
    {
      details: {
        connectorId: call.connector.connectorId,
        step,
        cause: error.code,
        ...(status === undefined ? {} : { status }),
        ...(message === undefined ? {} : { message }),
        ...(isOfJob ? { reason } : {}),
      },
      cause: error,
    },
  );
}
