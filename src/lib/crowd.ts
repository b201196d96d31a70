/**
 * A set whose members come and go all day. A Map or a Set leaves its outgrown tables behind, each of which points to the next,
 * and what they hold is carried over among V8's long-lived objects. A member is in one crowd at a time: its place says where.
 */
export class Crowd<T extends { place: number }> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    member.place = this.#members.push(member) - 1;
  }

  /** Whether it was among them. */
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

  /** As they are now: whoever goes through them may change them. */
  [Symbol.iterator](): Iterator<T> {
    return this.#members.slice()[Symbol.iterator]();
  }
}
