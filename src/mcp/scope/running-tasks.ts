import { setTimeout as sleep } from 'node:timers/promises';
import type { Base } from '../../base.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { keepRenewing } from '../../runtime/lease.ts';
import type { RpcResponse } from '../protocol/message.ts';
import { ownerOf, type Grant, type Parties } from './grant.ts';
import { TaskCall, type StoredTask } from './task-call.ts';
import {
  activeVersions,
  changeTask,
  createTask,
  ended,
  questionsOf,
  renewTasks,
  storedTasks,
  type TaskChange,
  type TaskRow,
} from './task-rows.ts';

/** How long a call runs before its request is answered with a task. */
const TASK_AFTER_MS = 500;
/** Tasks that run in this process, and those of one caller. A call beyond them is answered when it ends. */
const MAX_RUNNING = 500;
const MAX_OF_ONE_CALLER = 20;
/** Tasks of one caller that are stored, and the bytes of their results. */
const MAX_STORED = 500;
const MAX_STORED_BYTES = 32 * MIB;
/** How often the end of a call is stored while the store fails. */
const MAX_ATTEMPTS = 5;

type TaskContext = Pick<Base, 'db' | 'clock' | 'keys' | 'log' | 'intervals'>;

/** The calls of this process that may become tasks, and those that did. */
export interface RunningTasks {
  /**
   * Runs a call. Returns its answer, or the new task when the call takes long. Its client can leave then. Rejects when
   * the signal aborts before.
   */
  run(
    grant: Grant,
    signal: AbortSignal,
    work: (call: TaskCall) => Promise<RpcResponse>,
  ): Promise<{ answer: RpcResponse } | { task: TaskRow }>;
  /** Reads a task again after a request changed it. */
  wake(taskId: string): void;
  /** Lets running tasks end, for `patienceMs` at most. No further call becomes a task. */
  drain(patienceMs: number): Promise<void>;
  /** Ends the running tasks. They fail, and say whether their call may have had its effect. */
  close(): Promise<void>;
}

export function createRunningTasks(context: TaskContext): RunningTasks {
  /** By task id, with the end of their work. */
  const running = new Map<string, { call: TaskCall; done: Promise<void> }>();
  let draining = false;
  let stopLoop: (() => void) | undefined;

  const stored = storedTask(context);
  const tasks = () => [...running.values()].map(({ call }) => call).filter(({ isTask }) => isTask);
  const hasRoom = ({ owner }: TaskCall): boolean => {
    const own = [...running.values()].filter(({ call }) => isSame(call.owner, owner));
    return running.size < MAX_RUNNING && own.length < MAX_OF_ONE_CALLER;
  };
  /** Runs a task to its end. Never rejects. */
  const follow = async (call: TaskCall, work: Promise<RpcResponse>): Promise<void> => {
    if (await call.becoming) await storeEnd(context, call, await changeOf(work));
    running.delete(call.taskId);
    if (running.size > 0) return;
    stopLoop?.();
    stopLoop = undefined;
  };

  return {
    async run(grant, signal, begin) {
      const call = new TaskCall(ownerOf(grant), stored);
      const leave = () => call.end();
      if (signal.aborted) leave();
      signal.addEventListener('abort', leave, { once: true });
      try {
        const work = begin(call);
        const isLong = await lasts(work);
        if (isLong && !call.isAsking && !draining && hasRoom(call)) {
          const becoming = become(context, call);
          call.becoming = becoming.then((row) => row !== undefined);
          stopLoop ??= startLoop(context, tasks);
          running.set(call.taskId, { call, done: follow(call, work) });
          const task = await becoming;
          if (task && !signal.aborted) return { task };
        }
        return { answer: await work };
      } finally {
        signal.removeEventListener('abort', leave);
      }
    },
    wake(taskId) {
      if (running.has(taskId)) void readChanges(context, tasks());
    },
    async drain(patienceMs) {
      draining = true;
      // A call that waits for its client would wait in vain.
      const working = [...running.values()].filter(({ call }) => !call.isWaiting);
      const over = new AbortController();
      const patience = sleep(patienceMs, undefined, { signal: over.signal, ref: false }).catch(() => {});
      await Promise.race([Promise.all(working.map(({ done }) => done)), patience]);
      over.abort();
    },
    async close() {
      draining = true;
      for (const { call } of running.values()) call.end();
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

/** Stores the task of a call. Returns undefined where the call is answered when it ends. */
async function become(context: TaskContext, call: TaskCall): Promise<TaskRow | undefined> {
  try {
    const { count, bytes } = await storedTasks(context, call.owner);
    if (count >= MAX_STORED || bytes >= MAX_STORED_BYTES) return undefined;
    const row = await createTask(context, call.owner, call);
    call.version = row.version;
    call.isTask = true;
    return row;
  } catch (err) {
    context.log.warn({ err }, 'task not stored, its call is answered when it ends');
    return undefined;
  }
}

/** Renews the leases of tasks, and reads what other processes stored, until the returned function is called. */
function startLoop(context: TaskContext, tasks: () => TaskCall[]): () => void {
  const timer = setInterval(() => void readChanges(context, tasks()), context.intervals.workMs);
  timer.unref();
  const endRenewal = keepRenewing({
    renew: () => renewTasks(context, tasks().map(idOf)),
    onError: (err) => context.log.warn({ err }, 'leases of tasks not renewed, will retry'),
  });
  return () => {
    clearInterval(timer);
    endRenewal();
  };
}

/** Notices answers and cancellations that requests stored. Never rejects. */
async function readChanges(context: TaskContext, tasks: TaskCall[]): Promise<void> {
  try {
    const versions = await activeVersions(context, tasks.map(idOf));
    for (const call of tasks) {
      const version = versions.get(call.taskId);
      if (version === undefined) call.end();
      else if (version !== call.version && call.isWaiting) await readAnswers(context, call);
    }
  } catch (err) {
    context.log.warn({ err }, 'running tasks not read, will retry');
  }
}

function idOf({ taskId }: TaskCall): string {
  return taskId;
}

/** Returns whether work lasts longer than a request is kept waiting. Its failure is not reported here. */
async function lasts(work: Promise<unknown>): Promise<boolean> {
  const long = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => long.resolve(true), TASK_AFTER_MS);
  const isOver = () => false;
  try {
    return await Promise.race([long.promise, work.then(isOver, isOver)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the change at the end of a call. A call that was ended by this process has no answer. */
async function changeOf(work: Promise<RpcResponse>): Promise<(row: TaskRow) => TaskChange> {
  try {
    const answer = await work;
    if ('error' in answer) return () => ({ status: 'failed', outcome: JSON.stringify(answer.error) });
    const members = answer.result.toString().slice(1);
    return () => ({ status: 'completed', outcome: `{"resultType":"complete",${members}` });
  } catch {
    return ended;
  }
}

/** Stores the end of a call, unless its task was cancelled before. Tries again while the store fails. */
async function storeEnd(
  context: TaskContext,
  { taskId }: TaskCall,
  change: (row: TaskRow) => TaskChange,
): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    try {
      await changeTask(context, taskId, change);
      return;
    } catch (err) {
      context.log.warn({ err, taskId }, 'end of task not stored, will retry');
      await sleep(context.intervals.workMs, undefined, { ref: false });
    }
  }
}

async function readAnswers(context: TaskContext, call: TaskCall): Promise<void> {
  await changeTask(context, call.taskId, (row) => {
    call.answer(questionsOf(context, row).answers);
    call.version = row.version;
    return undefined;
  });
}

function storedTask(context: TaskContext): StoredTask {
  return {
    async noteActions(taskId, actions) {
      await changeTask(context, taskId, () => ({ actions }));
    },
    async addQuestions(taskId, added) {
      await changeTask(context, taskId, (row) => {
        const { requests, answers } = questionsOf(context, row);
        return { questions: { requests: { ...requests, ...added }, answers } };
      });
    },
    async dropQuestions(taskId, keys) {
      await changeTask(context, taskId, (row) => {
        const { requests, answers } = questionsOf(context, row);
        const left = Object.entries(requests).filter(([key]) => !keys.includes(key));
        return { questions: { requests: Object.fromEntries(left), answers } };
      });
    },
  };
}

function isSame(one: Parties, other: Parties): boolean {
  return (
    one.environment === other.environment &&
    one.serverId === other.serverId &&
    one.userId === other.userId &&
    one.caller === other.caller
  );
}
