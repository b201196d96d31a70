import { closeSync, fdatasync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreUnavailable } from '../lib/errors.ts';

/**
 * A fast disk is waited for on the spot: the way through a thread and back costs about as much as the sync (measured: a
 * tenth of an event's latency in quiet, and of its processor time under load). One that takes longer than this on average is
 * left to the thread for a while, and each time that it was not better after that for twice as long.
 */
const FAST_MS = 2;
const LEFT_ALONE_MS = 1000;
const LEFT_ALONE_AT_MOST_MS = 60_000;
/** How much of the average the last one is, and as what it counts at most: a few slow ones among many say little. */
const LAST_SHARE = 0.05;
const COUNTS_AT_MOST_MS = 10;

/** How what was written to a file reaches the disk. */
export interface Disk {
  /** Left out where it must never be waited for on the spot. */
  syncNow?(): void;
  sync(done: (error: Error | null) => void): void;
  close(): void;
}

/** For who syncs by itself. */
export const NO_DISK: Disk = { syncNow: () => {}, sync: (done) => done(null), close: () => {} };

/** A file, which need not be there before the first sync. */
export function diskOf(path: string): Disk {
  let fd: number | undefined;
  const open = (): number => {
    if (fd !== undefined) return fd;
    fd = openSync(path, 'r+');
    // It may be new: its name is kept by its folder.
    if (process.platform !== 'win32') syncFolder(dirname(path));
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

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Commits that reach the disk together. */
export interface GroupSync {
  /** Something was committed, and is not on the disk yet. */
  committed(): void;
  /**
   * Resolves when all that was committed until now is on the disk; undefined when it is. Where `others` are about to commit
   * as well, their sync may be this one's. @throws what the disk said.
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
 * One sync serves every commit that was made before it began, and the process goes on while the disk works. What a disk
 * failed to keep once cannot be known to be kept by a second try: after a failure nothing is durable any more, and `onFailure`
 * is told of it, before anybody who waits.
 */
export function createGroupSync(disk: Disk, onFailure: (failure: Error) => void): GroupSync {
  let written = 0;
  let onDisk = 0;
  let waiting: Waiting[] = [];
  let planned = false;
  /** In the thread. */
  let running = false;
  let averageMs = 0;
  let leftAloneUntil = 0;
  let leftAloneMs = LEFT_ALONE_MS;
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
      leftAloneUntil = endedAt + leftAloneMs;
      leftAloneMs = Math.min(leftAloneMs * 2, LEFT_ALONE_AT_MOST_MS);
      // On trial then: one or two slow ones are enough.
      averageMs = FAST_MS * 0.8;
    } else if (averageMs < FAST_MS / 2) leftAloneMs = LEFT_ALONE_MS;
    finish(written, error);
  };

  const isFast = (): boolean => !running && disk.syncNow !== undefined && performance.now() > leftAloneUntil;

  /** What else is done in this turn of the event loop comes along. */
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
