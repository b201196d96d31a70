/**
 * A set whose members change all day. A Map or a Set leaves its outgrown tables behind, and each of them points to the
 * next. V8 then carries their members over into its old generation. A member is in one set at a time, at its `place`.
 */
export class Crowd<T extends { place: number }> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    member.place = this.#members.push(member) - 1;
  }

  /** Removes a member. Returns whether it was in the set. */
  delete(member: T): boolean {
    if (this.#members[member.place] !== member) return false;
    const last = this.#members.pop();
    if (last && last !== member) {
      this.#members[member.place] = last;
      last.place = member.place;
    }
    member.place = -1;
    return true;
  }

  /** Iterates over a copy, so that the loop may change the set. */
  [Symbol.iterator](): Iterator<T> {
    return this.#members.slice()[Symbol.iterator]();
  }
}
