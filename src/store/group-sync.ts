import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnavailable } from '../lib/errors.ts';
import { syncFolder } from '../lib/folders.ts';

/**
 * A fast disk is synced on the event loop, because the way through a thread and back costs about as much as the sync.
 * Measured: 10 % of an event's latency in an idle process, and 10 % of its processor time under load. A disk whose
 * average exceeds this is left to the thread for a while, because the event loop does up to a third more work at the same time.
 */
const FAST_MS = 0.6;
const LEFT_ALONE_MS = 5000;
/**
 * Weight of the last sync in the average, and the cap on its time, so that a few slow syncs among many count little.
 */
const LAST_SHARE = 0.05;
const COUNTS_AT_MOST_MS = 10;

/** The way to put written data on the disk. */
export interface Disk {
  /** Absent where a sync must never block the event loop. */
  syncNow?(): void;
  sync(done: (error: Error | null) => void): void;
  close(): void;
}

/** Used where the database syncs on its own. */
export const NO_DISK: Disk = { syncNow: () => {}, sync: (done) => done(null), close: () => {} };

/** Returns the disk of a file, which need not exist before the first sync. */
export function diskOf(path: string): Disk {
  let fd: number | undefined;
  const open = (): number => {
    if (fd !== undefined) return fd;
    fd = openSync(path, 'r+');
    // The file may be new, and its folder stores its name.
    syncFolder(dirname(path));
    return fd;
  };
  return {
    syncNow: () => fdatasyncSync(open()),
    sync: (done) => fdatasync(open(), done),
    close: () => {
      if (fd !== undefined) closeSync(fd);
    },
  };
}

/** Shares one sync among several commits. */
export interface GroupSync {
  /** Notes a commit that is not on the disk yet. */
  committed(): void;
  /**
   * Resolves when all commits until now are on the disk; returns undefined when they already are. `others`: more
   * commits are about to come, so one sync may serve all of them.
   * @throws the error of the disk.
   */
  durable(others?: boolean): Promise<void> | undefined;
  close(): Promise<void>;
}

interface Waiting {
  upTo: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Creates a group of syncs. One sync serves every commit made before it began, and the process goes on while the disk
 * works. After a failed sync a second try cannot prove that the data is on the disk. So every later call fails, and
 * `onFailure` is called before the waiting callers are rejected.
 */
export function createGroupSync(disk: Disk, onFailure: (failure: Error) => void): GroupSync {
  let written = 0;
  let onDisk = 0;
  let waiting: Waiting[] = [];
  let planned = false;
  /** Whether a sync runs in the thread. */
  let running = false;
  let averageMs = 0;
  let leftAloneUntil = 0;
  let failure: Error | undefined;

  const finish = (upTo: number, error: Error | null): void => {
    if (error) {
      failure = new StoreUnavailable(`The disk did not keep what was written: ${error.message}`, {
        cause: error,
      });
      onFailure(failure);
    } else onDisk = upTo;
    const all = waiting;
    waiting = [];
    for (const one of all) {
      if (failure) one.reject(failure);
      else if (one.upTo <= onDisk) one.resolve();
      else waiting.push(one);
    }
    if (waiting.length > 0) plan();
  };

  const syncInThread = (): void => {
    const upTo = written;
    running = true;
    const done = (error: Error | null): void => {
      running = false;
      finish(upTo, error);
    };
    try {
      disk.sync(done);
    } catch (error) {
      done(toError(error));
    }
  };

  const syncNow = (): void => {
    const startedAt = performance.now();
    let error: Error | null = null;
    try {
      disk.syncNow?.();
    } catch (caught) {
      error = toError(caught);
    }
    const endedAt = performance.now();
    averageMs += (Math.min(endedAt - startedAt, COUNTS_AT_MOST_MS) - averageMs) * LAST_SHARE;
    if (averageMs >= FAST_MS) {
      leftAloneUntil = endedAt + LEFT_ALONE_MS;
      // The disk is on trial after that: one or two slow syncs are enough.
      averageMs = FAST_MS * 0.8;
    }
    finish(written, error);
  };

  const isFast = (): boolean => !running && disk.syncNow !== undefined && performance.now() > leftAloneUntil;

  /** Plans a sync after this turn of the event loop, so that the turn's other commits share it. */
  const plan = (): void => {
    if (planned || running) return;
    planned = true;
    setImmediate(() =>
      setImmediate(() => {
        planned = false;
        if (waiting.length === 0 || running) return;
        if (isFast()) syncNow();
        else syncInThread();
      }),
    );
  };

  const durable = (others = false): Promise<void> | undefined => {
    if (!failure && onDisk < written && !others && isFast()) syncNow();
    if (failure) return Promise.reject(failure);
    if (onDisk === written) return undefined;
    return new Promise((resolve, reject) => {
      waiting.push({ upTo: written, resolve, reject });
      plan();
    });
  };

  return {
    committed() {
      written++;
    },
    durable,
    async close() {
      await durable();
      disk.close();
    },
  };
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
