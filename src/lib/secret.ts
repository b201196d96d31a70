import { inspect } from 'node:util';

const opened = new WeakMap<Secret, string>();

/** A string that prints as `[secret]` wherever it is logged, serialised or interpolated. */
export class Secret {
  constructor(value: string) {
    opened.set(this, value);
  }

  /** Returns the text itself. Call it only where a request is built or a box is sealed. */
  open(): string {
    return opened.get(this) ?? '';
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
