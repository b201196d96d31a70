interface Closable {
  close(): unknown;
}

/** Parts that one owner closes. */
export interface CloseStack {
  /** Adds a part, and returns it. */
  use<Part extends Closable>(part: Part): Part;
  /** Closes all parts one after the other, the newest first. Throws the first fault at the end. */
  close(): Promise<void>;
}

/** Returns an AsyncDisposableStack for objects with `close()`. Node 22 has no such class. */
export function createCloseStack(): CloseStack {
  const parts: Closable[] = [];
  return {
    use(part) {
      parts.push(part);
      return part;
    },
    async close() {
      const faults: unknown[] = [];
      for (let part = parts.pop(); part; part = parts.pop()) {
        try {
          await part.close();
        } catch (error) {
          faults.push(error);
        }
      }
      if (faults.length > 0) throw faults[0];
    },
  };
}
