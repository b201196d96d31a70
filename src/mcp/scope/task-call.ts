import { newId } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import { cancelled } from '../protocol/message.ts';
import { PATIENCE_MS, unanswered } from './elicitation.ts';
import type { Parties } from './grant.ts';
import type { InputAnswers, WireRequest } from './input.ts';
import type { TaskActions } from './task-rows.ts';

/** The stored side of a call that became a task. */
export interface StoredTask {
  noteActions(taskId: string, actions: TaskActions): Promise<void>;
  addQuestions(taskId: string, requests: { [key: string]: WireRequest }): Promise<void>;
  /** Removes questions that the client did not answer in time. */
  dropQuestions(taskId: string, keys: readonly string[]): Promise<void>;
}

/** A tools/call of a client with the extension Tasks. It becomes a task when it takes long. */
export class TaskCall {
  readonly taskId = newId('task');
  readonly owner: Parties;
  /** Resolves to whether the call became a task; undefined while it has not lasted long enough. */
  becoming: Promise<boolean> | undefined;
  /** Whether the request was answered with the task. */
  isTask = false;
  /** Whether the request ends with a question to the client, so that the call does not become a task. */
  isAsking = false;
  /** The version of the stored task whose answers were read last. */
  version = 0;
  readonly #stored: StoredTask;
  readonly #ended = new AbortController();
  readonly #actions = new Set<string>();
  #mayWrite = false;
  /** The questions without an answer, by their key in the task. */
  readonly #waiting = new Map<string, (answer: JsonObject) => void>();
  #asked = 0;

  constructor(owner: Parties, stored: StoredTask) {
    this.owner = owner;
    this.#stored = stored;
  }

  /** Aborts when the call is cancelled. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get actions(): TaskActions {
    return { actions: [...this.#actions], mayWrite: this.#mayWrite };
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  end(): void {
    this.#ended.abort();
  }

  /** Notes work before it is done, because the process may die during it. `action` is undefined for a workflow. */
  async runs(
    action: { connectorId: string; actionId: string } | undefined,
    { mayWrite }: { mayWrite: boolean },
  ): Promise<void> {
    const { size } = this.#actions;
    const isNewWrite = mayWrite && !this.#mayWrite;
    if (action) this.#actions.add(`${action.connectorId}.${action.actionId}`);
    this.#mayWrite ||= mayWrite;
    const isKnown = this.#actions.size === size && !isNewWrite;
    if (!isKnown && (await this.becoming)) await this.#stored.noteActions(this.taskId, this.actions);
  }

  /**
   * Puts questions to the client of a task, and returns the answers by the keys of `requests`. Returns undefined for a
   * call that is no task: its request ends with the questions. Rejects when the call is cancelled.
   */
  async ask(requests: { [key: string]: WireRequest }): Promise<InputAnswers | undefined> {
    if (!this.becoming) this.isAsking = true;
    if (!(await this.becoming)) return undefined;
    // Keys are unique over the lifetime of a task, so that no answer reaches a later question.
    const questions = Object.entries(requests).map(([key, request]) => {
      const answered = Promise.withResolvers<JsonObject>();
      return { key, request, id: `q${++this.#asked}`, answered };
    });
    for (const { id, answered } of questions) this.#waiting.set(id, answered.resolve);
    const ids = questions.map(({ id }) => id);
    try {
      await this.#stored.addQuestions(
        this.taskId,
        Object.fromEntries(questions.map(({ id, request }) => [id, request])),
      );
      await this.#patience(questions.map(({ answered }) => answered.promise));
      const left = ids.filter((id) => this.#waiting.has(id));
      if (left.length > 0) await this.#stored.dropQuestions(this.taskId, left);
      const given = await Promise.all(
        questions.map(async ({ key, id, request, answered }): Promise<[string, JsonObject][]> => {
          const answer = this.#waiting.has(id) ? unanswered(request.method) : await answered.promise;
          return answer ? [[key, answer]] : [];
        }),
      );
      return Object.fromEntries(given.flat());
    } finally {
      for (const id of ids) this.#waiting.delete(id);
    }
  }

  /** Takes answers of the client, by the key of their question. */
  answer(answers: InputAnswers): void {
    for (const [id, answer] of Object.entries(answers)) {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    }
  }

  /** Waits for all answers, or until the client's user has had enough time. */
  async #patience(answers: Promise<JsonObject>[]): Promise<void> {
    const over = AbortSignal.any([this.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const passed = Promise.withResolvers<void>();
    const pass = () => passed.resolve();
    if (over.aborted) pass();
    over.addEventListener('abort', pass, { once: true });
    await Promise.race([Promise.all(answers), passed.promise]);
    over.removeEventListener('abort', pass);
    if (this.signal.aborted) throw cancelled();
  }
}
