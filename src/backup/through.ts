import { pipeline, type Duplex } from 'node:stream';

/** Yields the output of a transformation of a source. An error of either is thrown to the reader. */
export async function* through(
  source: AsyncIterable<Uint8Array>,
  transform: Duplex,
): AsyncGenerator<Uint8Array> {
  // The pipeline destroys `transform` with an error of the source, so the loop below throws it.
  pipeline(source, transform, () => {});
  yield* transform;
}
