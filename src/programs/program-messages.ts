import { z } from 'zod';

/* Messages between this process and the processes that run programs. */

/** A program to run. */
export interface Task {
  type: 'run';
  /** The code with its frame; see program-source.ts. */
  source: string;
  /** The time of Gatehouse's clock, epoch ms, which the program gets from `Date`. */
  now: number;
  /** JSON text of the state of a resumed program; undefined for a new one. */
  state: string | undefined;
  /** Ids of the questions that were answered, for a resumed program. */
  answered: string[];
  /** Limit of processor time. */
  cpuSeconds: number;
}

/** The answer to a request of the program: JSON text, or `waits` when its user has to agree first. */
export type Reply = { text: string } | { waits: true };

/** A message to a process that runs programs. */
export type ToProcess = Task | ({ type: 'reply'; id: number } & Reply);

const request = z.strictObject({
  type: z.literal('request'),
  id: z.int(),
  name: z.string(),
  /** JSON text of the arguments. */
  argument: z.string(),
  /** Id of the question that was answered, when the request is repeated after it. */
  answered: z.string().optional(),
});
const ended = z.strictObject({ type: z.literal('ended'), text: z.string() });
const waiting = z.strictObject({
  type: z.literal('waiting'),
  /** JSON text, for a later Task. */
  state: z.string(),
  questions: z.array(z.strictObject({ id: z.string(), argument: z.string() })),
});
const failed = z.strictObject({ type: z.literal('failed'), code: z.string(), message: z.string() });
const limit = z.strictObject({ type: z.literal('limit'), reason: z.string() });

/** A message from a process that runs programs. */
export const fromProcess = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready') }),
  request,
  ended,
  waiting,
  failed,
  limit,
]);
export type FromProcess = z.infer<typeof fromProcess>;
export type Request = z.infer<typeof request>;
export type Ended = z.infer<typeof ended>;
export type Waiting = z.infer<typeof waiting>;
