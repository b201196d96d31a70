import type { Json, JsonObject } from '../../src/lib/json.ts';
import { until } from './until.ts';
import { startService, type Answer, type Service, type ServiceOptions } from './service.ts';

/** A service with a user who is connected to the sandbox. */
export interface WorkflowService extends Service {
  userId: string;
  credentialId: string;
  /** Creates a further user, connected to the sandbox with a separate key. */
  newUser(username: string): Promise<{ userId: string; credentialId: string }>;
  /**
   * Creates a workflow with this definition.
   * @returns its workflowId
   */
  define(definition: unknown, name?: string): Promise<string>;
  /**
   * Publishes another version.
   * @returns its number
   */
  publish(workflowId: string, definition: unknown): Promise<number>;
  install(workflowId: string, config?: JsonObject, userId?: string): Promise<Answer>;
  /** Runs it by hand, and waits for the end. */
  run(workflowId: string, input?: Json, userId?: string): Promise<Answer>;
  /** Waits until a run has ended, or has one of the given states. */
  ended(workflowId: string, runId: string, wished?: string[]): Promise<Answer>;
  /** Calls an action of the sandbox without a workflow. */
  act(actionId: string, input?: JsonObject): Promise<Json>;
}

const ENDS = ['succeeded', 'failed', 'cancelled'];
let named = 0;

export async function startWorkflows(options: ServiceOptions = {}): Promise<WorkflowService> {
  const service = await startService(options);
  const newUser = async (username: string) => {
    const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
    const connected = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'sandbox', type: 'api_key', data: { apiKey: `sandbox_${username}` } },
    });
    return { userId, credentialId: connected.text('credentialId') };
  };
  const ada = await newUser('ada');

  const ended: WorkflowService['ended'] = async (workflowId, runId, wished = ENDS) => {
    let answer: Answer | undefined;
    await until(async () => {
      answer = await service.call('GET', `/workflows/${workflowId}/runs/${runId}`);
      return wished.includes(String(answer.at('status')));
    });
    if (!answer) throw new Error('there is no answer');
    return answer;
  };
  return {
    ...service,
    ...ada,
    newUser,
    ended,
    async define(definition, name = `workflow ${++named}`) {
      const made = await service.call('POST', '/workflows', { body: { name, definition } });
      if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
      return made.text('workflowId');
    },
    async publish(workflowId, definition) {
      const made = await service.call('POST', `/workflows/${workflowId}/versions`, { body: { definition } });
      if (made.status !== 201) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
      return Number(made.at('version'));
    },
    install: (workflowId, config = {}, userId = ada.userId) =>
      service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: { config } }),
    async run(workflowId, input, userId = ada.userId) {
      const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`, {
        body: input === undefined ? {} : { input },
      });
      if (started.status !== 202) throw new Error(`${started.status} ${JSON.stringify(started.body)}`);
      return ended(workflowId, started.text('runId'));
    },
    async act(actionId, input = {}) {
      const answer = await service.call('POST', `/connectors/sandbox/actions/${actionId}/execute`, {
        headers: { 'x-svc-userid': ada.userId },
        body: { input },
      });
      return answer.at('data') ?? null;
    },
  };
}

/** Returns a definition with a manual trigger. */
export function manual(steps: unknown[], more: JsonObject = {}) {
  return { trigger: { type: 'manual' }, steps, ...more };
}

/** Returns a step that sends a message in the sandbox. */
export function message(stepId: string, text: string, more: JsonObject = {}) {
  return {
    stepId,
    connectorId: 'sandbox',
    actionId: 'send_message',
    input: { to: 'bob@example.com', text },
    ...more,
  };
}
